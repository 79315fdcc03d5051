"""A turn's frames: spec/artifacts.md 3 (`murmur:stream/events`), spec/door.md 16.4."""

from murmur.core.tasks import (
    TaskFrame,
    TextFrame,
    ThinkingFrame,
    ToolCallProgressFrame,
    ToolCallStartedFrame,
)
from murmur.inference.frames import TurnFrames
from murmur.inference.reply import ToolCall, Turn


class Written:
    def __init__(self) -> None:
        self.frames: list[TaskFrame] = []
        self.time = 0.0
        self.turn = TurnFrames(self.frames.append, lambda: self.time)


def turn(text: str, stop: str = "end_turn") -> Turn:
    content = ({"type": "text", "text": text},) if text else ()
    calls = (ToolCall("c1", "t", {}),) if stop == "tool_call" else ()
    return Turn(content, stop, "{}", calls)


def test_streamed_text_ends_with_an_empty_final_frame() -> None:
    written = Written()
    written.turn.event("emit-thinking-chunk", {"chunk": "hm"})
    written.turn.event("emit-chunk", {"chunk": "a"})
    written.turn.event("emit-chunk", {"chunk": "b"})
    written.turn.finish(turn("ab"))
    assert written.frames == [
        ThinkingFrame("hm"),
        TextFrame("a"),
        TextFrame("b"),
        TextFrame("", final=True),
    ]


def test_thinking_alone_does_not_count_as_streamed_text() -> None:
    written = Written()
    written.turn.event("emit-thinking-chunk", {"chunk": "hm"})
    written.turn.finish(turn("all of it"))
    assert written.frames[-1] == TextFrame("all of it", final=True)


def test_a_failed_call_closes_what_it_streamed_and_nothing_else() -> None:
    silent, spoken = Written(), Written()
    silent.turn.finish(None)
    spoken.turn.event("emit-chunk", {"chunk": "half"})
    spoken.turn.finish(None)
    assert silent.frames == []
    assert spoken.frames == [TextFrame("half"), TextFrame("", final=True)]


def test_a_call_starts_once_and_an_empty_or_unknown_id_is_ignored() -> None:
    written = Written()
    for identifier in ("", "c1", "c1"):
        written.turn.event("tool-call-started", {"id": identifier, "name": "t"})
    written.turn.event("tool-call-input-bytes", {"id": "c2", "bytes": 5})
    assert written.frames == [ToolCallStartedFrame("c1", "t")]


def test_progress_comes_at_once_then_every_250_ms_and_the_rest_when_the_driver_returns() -> None:
    written = Written()
    written.turn.event("tool-call-started", {"id": "c1", "name": "t"})
    for at, count in ((0.0, 10), (0.1, 20), (0.2, 15), (0.26, 30), (0.3, 40), (0.4, 40)):
        written.time = at
        written.turn.event("tool-call-input-bytes", {"id": "c1", "bytes": count})
    written.turn.finish(turn("", "tool_call"))
    written.turn.event("tool-call-input-bytes", {"id": "c1", "bytes": 99})
    assert written.frames == [
        ToolCallStartedFrame("c1", "t"),
        ToolCallProgressFrame("c1", 10),
        ToolCallProgressFrame("c1", 30),
        ToolCallProgressFrame("c1", 40),
    ]
