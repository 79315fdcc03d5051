"""`bazel run //:quickstart`: the built product doing a small job in a throw-away home.

Publishes the default artifacts that the example names, runs examples/quickstart, and prints the
answer, the status and where the trace is. Where the host cannot contain commands it says why and
runs the same capsule without its shell step.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).absolute().parent.parent
MUR: Final = ROOT / "dist" / "mur"
ARTIFACTS: Final = ROOT / "artifacts"
EXAMPLE: Final = ROOT / "examples" / "quickstart"
WITHOUT_SHELL: Final = "murmur-without-shell.yaml"
CANNOT_CONTAIN: Final = ("error[E-CAP-005]", "error[E-RUN-012]")


def main() -> int:
    """Runs the quickstart; its exit status is the capsule's."""
    place = Path(tempfile.mkdtemp(prefix="mur-quickstart-"))
    home, project = place / "home", place / "quickstart"
    home.mkdir()
    shutil.copytree(EXAMPLE, project)
    for path in (project, *project.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    say(f"a throw-away home and project: {place}")
    for name in ("driver-replay", "tool-editor"):
        archive = next(ARTIFACTS.glob(f"{name}-*.mur.zip"))
        if mur(home, project, "publish", str(archive)).returncode != 0:
            return 1
    say("mur install  (compiles each component once for this machine)")
    if mur(home, project, "install", shown=True).returncode != 0:
        return 1
    done = run(home, project, "murmur.yaml")
    if done.returncode != 0 and any(code in done.stderr for code in CANNOT_CONTAIN):
        say("this host cannot contain commands, as said above; without the shell step:")
        done = run(home, project, WITHOUT_SHELL)
    records = next(
        (Path(line[9:]) for line in done.stdout.splitlines() if line.startswith("records: ")), None
    )
    if records is None:
        return done.returncode or 1
    say("the answer:")
    print((records / "out" / "result.txt").read_text())
    say("the report it wrote (work/report.md):")
    print((project / "work" / "report.md").read_text())
    print(f"trace: {records / 'trace.jsonl'}")
    print(done.stdout.splitlines()[-1], flush=True)
    return done.returncode


def say(line: str) -> None:
    """One line of ours between the program's own."""
    print(f"-- {line}", flush=True)


def run(home: Path, project: Path, manifest: str) -> subprocess.CompletedProcess[str]:
    """`mur run` on the example, its output shown and kept."""
    say(f"mur run --manifest {manifest} --workdir work --task ...")
    done = mur(
        home,
        project,
        "run",
        "--verbose",
        "--manifest",
        manifest,
        "--workdir",
        "work",
        "--task",
        "Find out what went wrong in app.log and write report.md.",
    )
    return done


def mur(
    home: Path, project: Path, *arguments: str, shown: bool = False
) -> subprocess.CompletedProcess[str]:
    """One command of the built program. With `shown` it has our streams, so a terminal is told
    how far it is; otherwise what it prints is kept as well.
    """
    environ = {name: os.environ[name] for name in ("PATH", "LANG", "TERM") if name in os.environ}
    done = subprocess.run(
        [sys.executable, str(MUR), *arguments],
        cwd=project,
        env={**environ, "HOME": str(home)},
        stdin=subprocess.DEVNULL,
        capture_output=not shown,
        text=True,
        check=False,
    )
    if not shown:
        print(done.stdout, end="")
        print(done.stderr, end="", file=sys.stderr, flush=True)
    return done


if __name__ == "__main__":
    sys.exit(main())
