"""Reading traces beside jq counting in them: `bazel run //tests/bench:traces`.

`mur trace report` over ten thousand sessions and `mur trace show` over one trace of a gigabyte,
each beside `jq` counting the like in the same files in the same run, and the most memory that `mur`
used. Prints and asserts nothing. Options: --sessions N, --megabytes N, --times N, --mur PROGRAM.
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import murmur
from murmur.core.home import Home
from murmur.core.ids import new_id
from tests.bench.timing import Row, Timing, repeat, show, timed

# Lines by kind, tokens, calls with their latency and failures: what both commands print.
_COUNT = """
reduce inputs as $e ({}; .kinds[$e.event_type] += 1
  | .tokens += ($e.input_tokens // 0) + ($e.output_tokens // 0)
  | if $e.event_type == "tool_call"
    then .ms += $e.duration_ms | .failed += (if $e.status == "ok" then 0 else 1 end)
    else . end
  | .end = (if $e.event_type == "session_end" then $e else .end end))
"""


def main() -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--sessions", type=int, default=10_000)
    parser.add_argument("--megabytes", type=int, default=1024)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--mur", default=None)
    options = parser.parse_args()
    mur = [options.mur] if options.mur else [sys.executable, "-m", "murmur.cli"]
    root = Path(murmur.__file__ or "").parents[1]
    with tempfile.TemporaryDirectory() as folder:
        ground = Path(folder)
        home = ground / "home"
        environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "PYTHONPATH": os.pathsep.join([str(root), *sys.path]),
        }
        paths = _sessions(home, ground / "workdir", options.sessions)
        long = _long_trace(ground / "long.jsonl", options.megabytes)
        rows = [
            _row(
                f"mur trace report, {options.sessions} sessions",
                [*mur, "trace", "report", "--workdir", str(ground / "workdir")],
                ["jq", "-n", _COUNT],
                paths,
                environ,
                options.times,
            ),
            _row(
                f"mur trace show, {options.megabytes} MB",
                [*mur, "trace", "show", str(long)],
                ["jq", "-n", _COUNT],
                [long],
                environ,
                options.times,
            ),
        ]
        print(show(rows))
        used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        print(f"most memory of any process that was run: {used / 1024:.0f} MB")
    return 0


def _row(
    name: str,
    ours: list[str],
    jq: list[str],
    files: list[Path],
    environ: dict[str, str],
    times: int,
) -> Row:
    measured = repeat(name, times, timed(lambda: _run(ours, environ)), warm_up=0)
    if shutil.which("jq") is None:
        return Row(measured, missing=("jq is not installed (Debian: jq)",))
    read = ["xargs", "-0", "cat"]

    def count() -> None:
        with tempfile.TemporaryFile() as names:
            names.write(b"\0".join(os.fsencode(file) for file in files))
            names.seek(0)
            whole = subprocess.Popen(read, stdin=names, stdout=subprocess.PIPE)
            subprocess.run(jq, stdin=whole.stdout, stdout=subprocess.DEVNULL, check=True)
            whole.wait()

    beside: Timing = repeat("jq counting the same lines", times, timed(count), warm_up=0)
    return Row(measured, (beside,))


def _run(command: list[str], environ: dict[str, str]) -> None:
    subprocess.run(command, env=environ, stdout=subprocess.DEVNULL, check=True)


def _line(event_type: str, session: str, at: int, **fields: Any) -> bytes:
    head = {"event_type": event_type, "event_id": new_id("evt"), "parent_id": None}
    whole = {**head, "session_id": session, "timestamp": 1_790_000_000_000 + at, **fields}
    return json.dumps(whole, separators=(",", ":")).encode() + b"\n"


def _trace(session: str, turns: int) -> bytes:
    rows = [_line("session_start", session, 0, capsule_name="c", capsule_version="1")]
    for turn in range(turns):
        rows.append(
            _line(
                "inference",
                session,
                turn,
                turn=turn,
                decision="tool_call",
                input_tokens=100,
                output_tokens=10,
            )
        )
        rows.append(
            _line(
                "tool_call",
                session,
                turn,
                turn=turn,
                tool_name="editor",
                input={"path": f"f{turn % 50}", "text": "x" * 600},
                duration_ms=3,
                status="ok",
                state_effect="read",
            )
        )
    totals = {"total_turns": turns, "total_input_tokens": 100 * turns, "duration_ms": turns}
    rows.append(_line("session_end", session, turns, exit_status="ok", **totals))
    return b"".join(rows)


def _sessions(home: Path, workdir: Path, count: int) -> list[Path]:
    group = Home(home / ".murmur").records_group(workdir)
    group.mkdir(parents=True)
    paths = []
    for _ in range(count):
        session = new_id("ses")
        path = group / session / "trace.jsonl"
        path.parent.mkdir()
        path.write_bytes(_trace(session, 5))
        paths.append(path)
    return paths


def _long_trace(path: Path, megabytes: int) -> Path:
    piece = _trace("ses_" + "0" * 32, 1000)
    start, _, rest = piece.partition(b"\n")
    body = rest.rsplit(b"\n", 2)[0] + b"\n"
    with open(path, "wb") as file:
        file.write(start + b"\n")
        while file.tell() < megabytes << 20:
            file.write(body)
        file.write(piece.splitlines(keepends=True)[-1])
    return path


if __name__ == "__main__":
    sys.exit(main())
