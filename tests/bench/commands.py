"""What a contained command costs: `bazel run //tests/bench:commands`.

Prints medians of /bin/true at Full and in a composed root beside bubblewrap unsharing everything
and beside bare vfork and exec, and of 200 commands at once. The goals are 0.6 and 1.0 of
bubblewrap; nothing is asserted. Options: --times N.
"""

import argparse
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from murmur.core.diagnostics import MurmurError
from murmur.core.ids import new_id
from murmur.sandbox import identity
from murmur.sandbox.cgroup import Scope, create_scope
from murmur.sandbox.environment import command_environment
from murmur.sandbox.mur_sandbox import find_helper
from murmur.sandbox.policy import Demands, Folders, derive
from murmur.sandbox.probe import read_host
from murmur.sandbox.session import CommandSession
from tests.bench.timing import Row, Timing, Unmeasurable, repeat, show, timed

AT_ONCE: Final = 200
BUBBLEWRAP: Final = ("--unshare-all", "--ro-bind", "/", "/", "/bin/true")
Env = dict[str, str]


def main() -> int:
    """Measures and prints. 1 when something that should run did not."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=300)
    times = parser.parse_args().times
    built = Path("c/sandbox/mur-sandbox")  # among the runfiles, below `bazel run`
    if built.exists():
        os.environ.setdefault("MURMUR_SANDBOX_HELPER", str(built.absolute()))
    print(f"Python {platform.python_version()}, Linux {platform.release()}, ", end="")
    print(f"{os.cpu_count()} processors", flush=True)
    with tempfile.TemporaryDirectory(prefix="murmur-bench-", dir="/var/tmp") as name:
        root = Path(name)
        try:
            rows = [
                measure_full(root, times),
                measure_sealed(root, times),
                measure_many(root, max(times // 30, 3)),
            ]
        except Unmeasurable as failure:
            print(f"cannot be measured: {failure}", file=sys.stderr)
            return 1
    print(show(rows))
    return 0


def measure_full(root: Path, times: int) -> Row:
    """`/bin/true` at the Full tier."""
    return _beside(_contained(root / "full", times, sealed=False), times)


def measure_sealed(root: Path, times: int) -> Row:
    """`/bin/true` in a composed root."""
    return _beside(_contained(root / "sealed", times, sealed=True), times)


def _beside(ours: Timing, times: int) -> Row:
    """The same through bubblewrap and through nothing, started and awaited by two calls."""
    bare = repeat("bare vfork and exec", times, timed(lambda: _started(["/bin/true"])))
    bubblewrap = shutil.which("bwrap")
    if bubblewrap is None:
        return Row(ours, (bare,), ("bwrap is not installed: nothing to compare with",))
    argv = [bubblewrap, *BUBBLEWRAP]
    theirs = repeat("bwrap --unshare-all", times, timed(lambda: _started(argv)))
    return Row(ours, (theirs, bare))


def measure_many(root: Path, times: int) -> Row:
    """200 commands started one after the other and then awaited."""
    with opened(root / "many", sealed=False) as (session, env, how):

        def ours() -> None:
            running = [session.start(["true"], env) for _ in range(AT_ONCE)]
            for each in running:
                result = each.wait(60)
                if result is None or result.exit_code or result.set_up_failure:
                    raise Unmeasurable(f"one of {AT_ONCE}: {result}")

        mine = repeat(f"{AT_ONCE} contained at once ({how})", times, timed(ours))
    argvs = [("bare vfork and exec", ["/bin/true"])]
    if bubblewrap := shutil.which("bwrap"):
        argvs.insert(0, ("bwrap --unshare-all", [bubblewrap, *BUBBLEWRAP]))
    beside = [
        repeat(f"{AT_ONCE} of {name}", times, timed(lambda argv=argv: _started(argv, AT_ONCE)))  # type: ignore[misc]
        for name, argv in argvs
    ]
    return Row(mine, tuple(beside))


def _started(argv: list[str], count: int = 1) -> None:
    """Starts a program `count` times and waits for all. Raises Unmeasurable when one fails."""
    pids = [os.posix_spawn(argv[0], argv, {}) for _ in range(count)]
    codes = {os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids}
    if codes != {0}:
        raise Unmeasurable(f"{argv[0]} ended with {codes}")


def _contained(root: Path, times: int, *, sealed: bool) -> Timing:
    with opened(root, sealed=sealed) as (session, env, how):

        def once() -> None:
            done = session.run(["true"], env)
            if done.exit_code or done.set_up_failure:
                raise Unmeasurable(f"contained /bin/true: {done.set_up_failure or done.exit_code}")

        return repeat(f"contained true ({how})", times, timed(once))


@contextmanager
def opened(root: Path, *, sealed: bool) -> Iterator[tuple[CommandSession, Env, str]]:
    """A session that may run `true`, its environment, and in words what holds it.

    Raises Unmeasurable where the host does not reach its tier.
    """
    helper = find_helper()
    work, runtime, records, temp, home, own = (
        root / name
        for name in ("work", "runtime", "records", "records/tmp", "records/home", identity.FOLDER)
    )
    for folder in (work, runtime, records, temp, home, own):
        folder.mkdir(parents=True, mode=0o700)
    (own / identity.PASSWD).write_text(
        identity.passwd_text(os.getuid(), os.getgid(), str(home)), encoding="utf-8"
    )
    (own / identity.GROUP).write_text(identity.group_text(os.getgid()), encoding="utf-8")
    folders = Folders(*map(str, (work, runtime, records, temp, home, own)))
    demands = Demands(("true",), sealed=sealed)
    policy = derive(read_host(helper), folders, demands, "/usr/bin:/bin")
    if policy.tier != ("Sealed" if sealed else "Full"):
        raise Unmeasurable(f"this host gives commands the tier {policy.tier}")
    scope: Scope | None = None
    limits = "in a cgroup scope"
    try:
        scope = create_scope(new_id("ses"), demands.resources, str(work))
    except MurmurError:
        limits = "no cgroup"
    env = command_environment(
        os.environ, {}, home=str(home), tmpdir=policy.tmpdir, runtime_dir=str(runtime)
    )
    session = CommandSession(policy, scope, helper)
    try:
        yield session, env, f"{policy.tier}, {limits}"
    finally:
        session.close()
        if scope is not None:
            scope.remove()


if __name__ == "__main__":
    sys.exit(main())
