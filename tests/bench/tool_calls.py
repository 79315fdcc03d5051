"""One call of a WASM tool, as the runtime makes it."""

import functools
import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from murmur.guest.calls import GuestCall, Preopen, ToolInput, ToolResult
from murmur.guest.client import Guests
from murmur.sandbox.guests import start_zygote
from murmur.sandbox.mur_sandbox import find_helper
from murmur.sandbox.probe import read_host
from murmur.session.guest_lockdown import find_guest_lockdown
from tests.bench.timing import Row, Timing, Unmeasurable, program, repeat, timed


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
        lockdown.allow(str(folder), held, [compiled], {}, {}, landlock=landlock)
    guests = Guests.start(functools.partial(start_zygote, helper), lockdown)
    try:
        yield guests, "locked down" if guests.contained else "not contained"
    finally:
        guests.close()
