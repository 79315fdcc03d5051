"""The programs as files that can be executed, with all they import beside them."""

from __future__ import annotations

import shutil
from pathlib import Path

PROGRAMS = ("claude", "codex")
LAUNCHER = """\
#!/usr/bin/env python3
from tests.harnesses.{name} import main

main()
"""


def install(folder: Path) -> None:
    """Put `claude` and `codex` into a folder."""
    package = folder / "tests" / "harnesses"
    package.mkdir(parents=True)
    for source in Path(__file__).parent.glob("*.py"):
        shutil.copy(source, package)
    for name in PROGRAMS:
        program = folder / name
        program.write_text(LAUNCHER.format(name=name))
        program.chmod(0o755)
