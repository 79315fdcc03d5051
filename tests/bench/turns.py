"""What the runtime itself costs a turn, by how much history it has; prints and asserts nothing.

A driver that answers at once in this process; everything else is a session's own: the record on
disk, tokens, hashes, the trace. Issue 7: no worse than linear in what is sent.

    bazel run //tests/bench:turns
"""

import tempfile
import threading
import time
from pathlib import Path

from murmur.conversation.record import Record
from murmur.core.home import Home
from murmur.core.safefs import open_root
from murmur.guest.calls import GuestResult, ToolResult
from murmur.inference.driver import DriverClient, OnEvent
from murmur.inference.gateway_routes import Route
from murmur.manifest.inference import Retry
from murmur.manifest.session import Images as ImageLimits
from murmur.session.attempt import Attempt
from murmur.session.deadline import Notice
from murmur.session.dispatch import Dispatcher
from murmur.session.history import Conversations, Keeping, user_message
from murmur.session.images import Images
from murmur.session.loop import AgentLoop, LoopSettings
from murmur.session.offered import OfferedTools
from murmur.trace.content import Capture
from murmur.trace.writer import TraceWriter

HISTORIES = (10, 1_000, 10_000)
TURNS = 10
TEXT = "Some words of a message, about as many as such messages have on average. " * 4
ANSWER = '{"stop_reason":"end_turn","content":[{"type":"text","text":"done"}]}'


def _loop(folder: Path) -> AgentLoop:
    records = open_root(folder)
    trace, capture = TraceWriter(records, "ses_bench"), Capture("meta", records)

    def invoke(
        payload: str, token: str, on_event: OnEvent | None, cancel: threading.Event
    ) -> GuestResult:
        return ToolResult("passed", data=ANSWER)

    settings = LoopSettings(
        model="bench",
        output_cap=1000,
        max_turns=None,
        retry=Retry(max_retries=0),
        system="[Capsule]",
        tools=OfferedTools({}, "compaction", trace),
        driver_config=None,
        warn=lambda found: None,
        notice=Notice(None, None),
        images=Images(ImageLimits()),
    )
    dispatcher = Dispatcher({}, {}, _no_tool, None, trace, capture)
    client = DriverClient("local/driver", Route("local/driver", ()), invoke, None)
    return AgentLoop(settings, client, dispatcher, trace, capture)


def _no_tool(artifact: str, data: str, attempt: Attempt, turn: int) -> GuestResult:
    raise AssertionError("the driver calls no tool")


def _measure(count: int) -> tuple[float, float, float]:
    """Milliseconds to load the history, and of a turn on it; the history's size in MiB."""
    with tempfile.TemporaryDirectory() as root:
        home = Home(Path(root))
        record = Record(home, "bench", "ctx_1")
        for number in range(count):
            role = "user" if number % 2 == 0 else "assistant"
            content = [{"type": "text", "text": TEXT}]
            record.append({"role": role, "content": content, "id": f"msg_{number}"})
        conversations = Conversations(Keeping(home=home, store="bench", threaded=True))
        begun = time.perf_counter()
        history = conversations.open("ctx_1")
        loaded = time.perf_counter() - begun
        loop = _loop(home.root)
        attempt = Attempt(
            task_id=None,
            cache_key="bench",
            history=history,
            frame=lambda frame: None,
            cancel=threading.Event(),
            ask=None,
        )
        samples = []
        for _ in range(TURNS):
            begun = time.perf_counter()
            history.add(user_message("and now?"))
            loop.run(attempt)
            samples.append(time.perf_counter() - begun)
        return loaded * 1000, sorted(samples)[TURNS // 2] * 1000, record.path.stat().st_size / 2**20


def main() -> None:
    print(f"{'messages':>9}  {'size':>9}  {'load':>10}  {'a turn':>10}  {'a message':>11}")
    for count in HISTORIES:
        loaded, turn, size = _measure(count)
        each = turn / count * 1000
        print(f"{count:>9}  {size:6.2f} MiB  {loaded:7.2f} ms  {turn:7.2f} ms  {each:8.1f} µs")


if __name__ == "__main__":
    main()
