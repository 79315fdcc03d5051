"""What a driver says while it works, as frames. spec/artifacts.md 3, spec/door.md 16.4."""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from murmur.core.tasks import (
    TaskFrame,
    TextFrame,
    ThinkingFrame,
    ToolCallProgressFrame,
    ToolCallStartedFrame,
)
from murmur.inference.reply import Turn

_PROGRESS_SECONDS: Final = 0.25


@dataclass(slots=True)
class _Progress:
    """How far the model is with writing one call's input."""

    written: int = 0
    seen: int = 0
    written_at: float | None = None


class TurnFrames:
    """One turn's frames. `event` takes the guest's `murmur:stream/events` calls, `finish` ends it.

    Started calls are told once; progress of a call at once, then at most one frame per 250 ms, the
    largest count flushed when the driver returns. Anything unknown or repeated is ignored: these
    calls never fail. Both methods may be called from any thread.
    """

    def __init__(
        self, write: Callable[[TaskFrame], None], now: Callable[[], float] = time.monotonic
    ) -> None:
        self._write = write
        self._now = now
        self._lock = threading.Lock()
        self._calls: dict[str, _Progress] = {}
        self._settled: set[str] = set()
        self._ended = False
        self.streamed_text = False

    def event(self, kind: str, facts: Mapping[str, Any]) -> None:
        """One call of the guest, by its function's name."""
        with self._lock:
            if self._ended:
                return
            match kind:
                case "emit-chunk":
                    self.streamed_text = True
                    self._write(TextFrame(str(facts["chunk"])))
                case "emit-thinking-chunk":
                    self._write(ThinkingFrame(str(facts["chunk"])))
                case "tool-call-started":
                    self._started(str(facts["id"]), str(facts["name"]))
                case "tool-call-input-bytes":
                    self._grown(str(facts["id"]), int(facts["bytes"]))

    def finish(self, turn: Turn | None) -> None:
        """The driver has returned; None when it gave no turn.

        A turn whose text streamed ends with an empty final text; one whose text did not gets it
        whole.
        """
        told = turn is not None and (turn.text or turn.stop_reason != "tool_call")
        self.close(turn.text if turn is not None and told else None)

    def close(self, text: str | None) -> None:
        """As `finish`; `text` is the turn's, None where it has none to tell."""
        with self._lock:
            if self._ended:
                return
            self._ended = True
            for identifier in tuple(self._calls):
                self._settle(identifier)
            if self.streamed_text:
                self._write(TextFrame("", final=True))
            elif text is not None:
                self._write(TextFrame(text, final=True))

    def settle(self, identifier: str) -> None:
        """The whole call is there: what was not told of its progress is, and nothing follows."""
        with self._lock:
            self._settle(identifier)
            self._settled.add(identifier)

    def _settle(self, identifier: str) -> None:
        progress = self._calls.get(identifier)
        if progress is not None and progress.seen > progress.written:
            progress.written = progress.seen
            self._write(ToolCallProgressFrame(identifier, progress.seen))

    def _started(self, identifier: str, name: str) -> None:
        if identifier and identifier not in self._calls:
            self._calls[identifier] = _Progress()
            self._write(ToolCallStartedFrame(identifier, name))

    def _grown(self, identifier: str, count: int) -> None:
        progress = self._calls.get(identifier)
        if progress is None or count <= progress.seen or identifier in self._settled:
            return
        progress.seen = count
        now = self._now()
        if progress.written_at is None or now - progress.written_at >= _PROGRESS_SECONDS:
            progress.written, progress.written_at = count, now
            self._write(ToolCallProgressFrame(identifier, count))
