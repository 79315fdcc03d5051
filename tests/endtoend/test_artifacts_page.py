"""docs/artifacts.md, followed to the letter: its commands are run as they stand there."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.endtoend.capsule import Place, mur_command

WHEEL = os.environ.get("MURMUR_TEST_COMPONENTIZE_PY", "")
BLOCK = re.compile(r"^```(\S+)(?: (\S+))?\n(.*?)^```", re.MULTILINE | re.DOTALL)
SECONDS = 600


@pytest.mark.skipif(not WHEEL, reason="MURMUR_TEST_COMPONENTIZE_PY names no wheel")
def test_a_tool_a_hook_and_a_skill_are_written_and_tried_as_the_page_says(
    place: Place, tmp_path: Path
) -> None:
    blocks = BLOCK.findall(Path("docs/artifacts.md").read_text("utf-8"))
    checkout(tmp_path / "murmur")
    commands = "".join(text for language, _, text in blocks if language == "sh")
    done = subprocess.run(
        ["bash", "-eu", "-c", commands],
        cwd=tmp_path,
        env=surroundings(place, tmp_path / "surroundings"),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    shown = [(name, text) for _, name, text in blocks if name]
    assert len(shown) == 7
    for name, text in shown:
        assert (tmp_path / name).read_text("utf-8") == text, name
    steps = done.stdout[done.stdout.rindex("status:  ok") :]
    for line in (
        r"skill_call house-style .* ✓",
        r"tool_call  word-count .* ✓",
        r"shell      \S+/bash  exit 0 ",
        r"call_denied on-shell  \S+/bash  denied by command-budget",
    ):
        assert re.search(line, steps), steps
    assert (tmp_path / "trial" / "work" / "draft.txt").exists()


def checkout(folder: Path) -> None:
    """What the page copies from, with files where Bazel has links."""
    for name in ("docs/artifact-template", "wit", "py/artifacts/hooking"):
        shutil.copytree(name, folder / name)
    built = folder / "bazel-bin" / "artifacts"
    built.mkdir(parents=True)
    [driver] = Path(os.environ["MURMUR_TEST_ARTIFACTS"]).glob("driver-replay-*.mur.zip")
    shutil.copy(driver, built)


def surroundings(place: Place, folder: Path) -> dict[str, str]:
    """`mur` on the PATH and an activated environment, into which pip installs the locked wheel."""
    packages = folder / "lib" / "python3" / "site-packages"
    programs = {
        "mur": f"PYTHONPATH={shlex.quote(place.environ.get('PYTHONPATH', ''))} "
        f'exec {shlex.join(mur_command())} "$@"',
        "pip": f'exec {shlex.quote(sys.executable)} -I -m pip "$@"',
    }
    (folder / "bin").mkdir(parents=True)
    for name, line in programs.items():
        path = folder / "bin" / name
        path.write_text(f"#!/bin/sh\n{line}\n")
        path.chmod(0o755)
    return {
        **place.environ,
        "PATH": os.pathsep.join(
            [str(folder / "bin"), str(packages / "bin"), place.environ["PATH"]]
        ),
        "PYTHONPATH": str(packages),
        "VIRTUAL_ENV": str(folder),
        "PIP_TARGET": str(packages),
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(Path(WHEEL).absolute().parent),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }
