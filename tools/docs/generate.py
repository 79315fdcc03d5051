"""Writes the reference pages: `./bazelw run //tools/docs:generate`, or from a checkout's root
`PYTHONPATH=py python -m tools.docs.generate`.
"""

import os
from pathlib import Path

from tools.docs.pages import pages


def main() -> None:
    """Writes each page that differs, and says so."""
    root = Path(os.environ.get("BUILD_WORKSPACE_DIRECTORY", "."))
    for name, text in pages(root).items():
        path = root / name
        if not path.exists() or path.read_text("utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
            print(f"wrote {name}")


if __name__ == "__main__":
    main()
