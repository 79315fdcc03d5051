"""What the way out costs a command: `bazel run //tests/bench:egress`.

One GiB from a server on this machine, to a contained command through the egress proxy and to the
same program uncontained over loopback. Nothing is asserted: the numbers are the machine's. Options:
--times N, --mib N.
"""

import argparse
import asyncio
import contextlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

from murmur.core.ids import new_id
from murmur.manifest.network import parse_rules
from murmur.sandbox.cgroup import Scope, try_scope
from murmur.sandbox.egress.service import Egress
from murmur.sandbox.environment import command_environment
from murmur.sandbox.hierarchy import Blocked
from murmur.sandbox.mur_sandbox import find_helper
from murmur.sandbox.policy import Demands, Folders, derive
from murmur.sandbox.probe import read_host
from murmur.sandbox.session import CommandSession
from tests.bench.timing import Row, Timing, Unmeasurable, show

GOAL = 0.5

SERVER = """
import os, socket, sys
piece, count = os.memfd_create("piece"), int(sys.argv[1])
os.ftruncate(piece, 1 << 20)
os.pwrite(piece, os.urandom(1 << 20), 0)
with socket.create_server(("127.0.0.1", 0)) as listener:
    print(listener.getsockname()[1], flush=True)
    while True:
        with listener.accept()[0] as connection:
            for _ in range(count):
                sent = 0
                while sent < 1 << 20:
                    sent += os.sendfile(connection.fileno(), piece, sent, (1 << 20) - sent)
"""

CLIENT = """
import socket, sys, time
with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as server:
    room, got, begun = bytearray(1 << 20), 0, time.perf_counter()
    while count := server.recv_into(room):
        got += count
    print(time.perf_counter() - begun, got)
"""


def main() -> int:
    """Measures and prints. 1 when something that should run did not."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--mib", type=int, default=1024)
    options = parser.parse_args()
    built = Path("c/sandbox/mur-sandbox")  # among the runfiles, below `bazel run`
    if built.exists():
        os.environ.setdefault("MURMUR_SANDBOX_HELPER", str(built.absolute()))
    print(f"Python {platform.python_version()}, Linux {platform.release()}, ", end="")
    print(f"{os.cpu_count()} processors; {options.mib} MiB", flush=True)
    try:
        row = _measure(options.mib, options.times)
    except Unmeasurable as failure:
        print(f"cannot be measured: {failure}", file=sys.stderr)
        return 1
    print(show([row]))
    ratio = row.beside[0].median / row.ours.median
    print(f"{ratio:.2f} of a direct transfer's throughput (goal: at least {GOAL})")
    return 0


def _measure(mib: int, times: int) -> Row:
    python = shutil.which("python3", path="/usr/bin:/bin")
    if python is None:
        raise Unmeasurable("there is no system python3 to download with")
    with _server(mib) as port, tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        direct: list[float] = []
        proxied: list[float] = []
        with _session(Path(folder), port) as (session, env):
            for _ in range(times):  # by turns, so that what else the machine does meets both
                done = subprocess.run(
                    [python, "-I", "-S", "-c", CLIENT, str(port)],
                    capture_output=True,
                    text=True,
                    check=True,
                )
                direct.append(_seconds(done.stdout, mib))
                ours = session.run(["python3", "-I", "-S", "-c", CLIENT, str(port)], env)
                if ours.exit_code or ours.set_up_failure:
                    raise Unmeasurable(ours.set_up_failure or ours.stderr.decode())
                proxied.append(_seconds(ours.stdout.decode(), mib))
    return Row(
        Timing("download through the egress proxy", tuple(each * 1000 for each in proxied)),
        (Timing("the same, uncontained over loopback", tuple(each * 1000 for each in direct)),),
    )


def _seconds(said: str, mib: int) -> float:
    seconds, got = said.split()
    if int(got) != mib << 20:
        raise Unmeasurable(f"{got} bytes arrived of {mib << 20}")
    return float(seconds)


@contextlib.contextmanager
def _server(mib: int) -> Iterator[int]:
    """The port of a server in a process of its own: the proxy's interpreter is not slowed by it."""
    with subprocess.Popen(
        [sys.executable, "-c", SERVER, str(mib)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.terminate()


@contextlib.contextmanager
def _session(root: Path, port: int) -> Iterator[tuple[CommandSession, dict[str, str]]]:
    """A session that reaches this port of the host, its egress on a loop in another thread."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    async def make() -> Egress:
        return Egress(parse_rules([f"127.0.0.1:{port}"]), warn=print)

    try:
        egress = asyncio.run_coroutine_threadsafe(make(), loop).result(10)
        names = ("work", "runtime", "records", "temp", "home")
        for name in names:
            (root / name).mkdir(mode=0o700)
        folders = Folders(*(str(root / name) for name in names))
        helper = find_helper()
        demands = Demands(("python3",), network=True)
        policy = derive(read_host(helper), folders, demands, "/usr/bin:/bin")
        scope: Scope | None = None
        with contextlib.suppress(Blocked):
            scope = try_scope(new_id("ses"), demands.resources, folders.workdir)
        env = command_environment(
            os.environ, {}, home=folders.home, tmpdir=policy.tmpdir, runtime_dir=folders.runtime
        )
        session = CommandSession(policy, scope, helper, egress)
        try:
            yield session, env
        finally:
            session.close()
            if scope is not None:
                scope.remove()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


if __name__ == "__main__":
    sys.exit(main())
