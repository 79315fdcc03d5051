"""A contained command, and one call of a WASM tool, as the runtime makes them."""

import functools
import json
import os
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from murmur.core.diagnostics import MurmurError
from murmur.core.ids import new_id
from murmur.guest.calls import GuestCall, Preopen, ToolInput, ToolResult
from murmur.guest.client import Guests
from murmur.sandbox.cgroup import Scope, create_scope
from murmur.sandbox.environment import command_environment
from murmur.sandbox.guests import start_zygote
from murmur.sandbox.mur_sandbox import find_helper
from murmur.sandbox.policy import Demands, Folders, derive
from murmur.sandbox.probe import read_host
from murmur.sandbox.session import CommandSession
from murmur.session.guest_lockdown import find_guest_lockdown
from tests.bench.timing import Row, Timing, Unmeasurable, program, repeat, timed


def measure_command(root: Path, times: int) -> Row:
    """`/bin/true` through a CommandSession beside bubblewrap's and beside no containment."""
    beside = [repeat("/bin/true uncontained", times, program(["/bin/true"]))]
    missing = []
    if bubblewrap := shutil.which("bwrap"):
        argv = [bubblewrap, "--unshare-all", "--ro-bind", "/", "/", "/bin/true"]
        beside.insert(0, repeat("bwrap --unshare-all /bin/true", times, program(argv)))
    else:
        missing.append("bwrap is not installed: nothing to compare with")
    return Row(_contained(root, times), tuple(beside), tuple(missing))


def _contained(root: Path, times: int) -> Timing:
    helper = find_helper()
    reading = read_host(helper)
    folders = [root / "command" / name for name in ("work", "runtime", "records", "temp", "home")]
    for folder in folders:
        folder.mkdir(parents=True, mode=0o700)
    demands = Demands(shell_allow=("true",))
    scope: Scope | None = None
    limits = "cgroup scope"
    try:
        scope = create_scope(new_id("ses"), demands.resources, str(folders[0]))
    except MurmurError:
        limits = "no cgroup hierarchy: rlimits alone"
    policy = derive(
        reading, Folders(*(str(folder) for folder in folders)), demands, "/usr/bin:/bin"
    )
    env = command_environment(
        os.environ,
        {},
        home=policy.folders.home,
        tmpdir=policy.tmpdir,
        runtime_dir=policy.folders.runtime,
    )
    session = CommandSession(policy, scope, helper)

    def once() -> None:
        done = session.run(["true"], env)
        if done.exit_code or done.set_up_failure:
            raise Unmeasurable(f"contained /bin/true: {done.set_up_failure or done.exit_code}")

    try:
        return repeat(f"contained true ({policy.tier}, {limits})", times, timed(once))
    finally:
        session.close()
        if scope is not None:
            scope.remove()


def measure_tool(root: Path, compiled: Path, times: int) -> Row:
    """A `list_files` of tool-editor in a locked-down host, beside starting a native program."""
    folder = root / "tool"
    folder.mkdir()
    (folder / "a.txt").write_text("a\n")
    held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    question = ToolInput(json.dumps({"operation": "list_files"}))
    call = GuestCall(
        "tool-editor", "tool", compiled, compiled.name, question, preopens=(Preopen(held, "."),)
    )

    with _guests(folder, held, compiled) as (guests, how):

        def once() -> None:
            result = guests.call(call)
            if not isinstance(result, ToolResult) or result.status != "passed":
                raise Unmeasurable(f"the tool call failed: {result}")

        begun = time.perf_counter()
        once()
        first = Timing("first call: host up, form loaded", ((time.perf_counter() - begun) * 1000,))
        ours = repeat(f"one WASM tool call ({how})", times, timed(once))
    os.close(held)
    bare = [sys.executable, "-I", "-S", "-c", "pass"]
    python = repeat("python3 -I -S -c pass", times, program(bare))
    return Row(ours, (first, python, repeat("/bin/true", times, program(["/bin/true"]))))


@contextmanager
def _guests(folder: Path, held: int, compiled: Path) -> Iterator[tuple[Guests, str]]:
    helper = find_helper()
    lockdown = find_guest_lockdown(helper)
    if lockdown is not None:
        landlock = read_host(helper).landlock.ok
        lockdown.allow(str(folder), held, [compiled], landlock=landlock)
    guests = Guests.start(functools.partial(start_zygote, helper), lockdown)
    try:
        yield guests, "locked down" if guests.contained else "not contained"
    finally:
        guests.close()
