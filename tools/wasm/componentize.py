"""Builds a WASM component from Python sources, with the same bytes each time.

componentize-py does the work; around it this module lays a fresh tree of exactly the given
sources and WIT files, hides the host's site-packages, and holds randomness, clock and file
metadata still (`still.c` beside this file says why).

    python tools/wasm/componentize.py --still libstill.so --world-file worlds.wit --world tool \
        --wit wit/tool/tool.wit --source app/main.py=main.py --app main --output out.wasm

`--wit` files are grouped into packages by the folder they stand in. `--source` is FILE=PATH, the
path inside the component's import root.
"""

import argparse
import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

INNER = "--held-still"


def build(
    *,
    still: Path,
    world_file: Path,
    world: str,
    wit: Sequence[Path],
    sources: Sequence[tuple[Path, str]],
    app: str,
    output: Path,
) -> None:
    """Write the component to `output`. Raises CalledProcessError when componentize-py fails."""
    with tempfile.TemporaryDirectory(prefix="componentize-") as name:
        stage = Path(name)
        _stage_wit(stage / "wit", world_file, wit)
        for source, inside in sources:
            _copy(source, stage / "app" / inside)
        for empty in ("venv/lib/python3/site-packages", "tmp", "cwd"):
            (stage / empty).mkdir(parents=True)
        arguments = ["-q", "-d", str(stage / "wit"), "-w", world, "componentize", app]
        arguments += ["-p", str(stage / "app"), "-o", str(stage / "component.wasm")]
        environment = {
            "LD_PRELOAD": str(still.resolve()),
            "PATH": "/nonexistent",
            "HOME": "/nonexistent",
            "TMPDIR": str(stage / "tmp"),
            "VIRTUAL_ENV": str(stage / "venv"),
            "PYTHONPATH": os.pathsep.join(os.path.abspath(entry) for entry in sys.path if entry),
            "PYTHONDONTWRITEBYTECODE": "1",
            # A guest's random numbers come from its thread's generator: one thread, one sequence.
            "TOKIO_WORKER_THREADS": "1",
            "RAYON_NUM_THREADS": "1",
        }
        command = [sys.executable, str(Path(__file__).resolve()), INNER, *arguments]
        subprocess.run(command, check=True, cwd=stage / "cwd", env=environment)
        output.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(stage / "component.wasm", output)


def _stage_wit(target: Path, world_file: Path, wit: Sequence[Path]) -> None:
    _copy(world_file, target / world_file.name)
    for path in wit:
        _copy(path, target / "deps" / path.absolute().parent.name / path.name)


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def _run_held_still(arguments: Sequence[str]) -> None:
    import componentize_py

    # After the import: the loader tells libraries apart by the inodes that still() hides.
    library = ctypes.CDLL(None, use_errno=True)
    if library.still() != 0:
        raise OSError(ctypes.get_errno(), "cannot hold file metadata still")
    sys.argv = ["componentize-py", *arguments]
    componentize_py.script()


def _source(text: str) -> tuple[Path, str]:
    path, _, inside = text.partition("=")
    if not path or not inside or inside.startswith("/") or ".." in Path(inside).parts:
        raise argparse.ArgumentTypeError(f"not FILE=PATH: {text}")
    return Path(path), inside


def main() -> None:
    """Parse the command line and build."""
    if sys.argv[1:2] == [INNER]:
        _run_held_still(sys.argv[2:])
        return
    parser = argparse.ArgumentParser(description="Build a component from Python sources.")
    parser.add_argument("--still", type=Path, required=True)
    parser.add_argument("--world-file", type=Path, required=True)
    parser.add_argument("--world", required=True)
    parser.add_argument("--wit", type=Path, nargs="+", default=[])
    parser.add_argument("--source", type=_source, nargs="+", required=True)
    parser.add_argument("--app", required=True)
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    try:
        build(
            still=options.still,
            world_file=options.world_file,
            world=options.world,
            wit=options.wit,
            sources=options.source,
            app=options.app,
            output=options.output,
        )
    except subprocess.CalledProcessError as failure:
        sys.exit(f"componentize-py ended with status {failure.returncode}")


if __name__ == "__main__":
    main()
