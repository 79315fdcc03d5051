"""Server-sent events of one connection. spec/door.md 16.2."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, Final

from starlette.responses import StreamingResponse
from starlette.types import Send

from murmur.core.streams import complain
from murmur.core.tasks import Event, LaggedFrame, Notify, Watch
from murmur.door import extensions
from murmur.door.envelope import RequestId, result_body
from murmur.door.wire import stream_responses

HEARTBEAT_SECONDS: Final = 15.0

_HEARTBEAT: Final = b":heartbeat\n\n"
# What is there is written together: hundreds of small writes would hold up the other streams.
_BATCH_BYTES: Final = 64 * 1024


class Bell:
    """Wakes a stream from any thread: the board rings it, the stream waits for it."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._rung = asyncio.Event()

    @property
    def notify(self) -> Notify:
        return self._ring

    def _ring(self) -> None:
        try:
            self._loop.call_soon_threadsafe(self._rung.set)
        except RuntimeError:
            pass  # The loop has ended, and with it every stream.

    def silence(self) -> None:
        self._rung.clear()

    async def wait(self, seconds: float) -> None:
        """Returns when rung, or after `seconds`."""
        try:
            await asyncio.wait_for(self._rung.wait(), seconds)
        except TimeoutError:
            pass


class EventStream(StreamingResponse):
    """The answer of a streaming method: `first`, then what the watch sees, and a heartbeat.

    It ends with the final status of the task followed, with the watch, or with `end`. A client that
    leaves ends it too. `on_end` is called once, whatever the reason.
    """

    def __init__(
        self,
        request_id: RequestId,
        first: Sequence[dict[str, Any]],
        watch: Watch,
        bell: Bell,
        murmur_frames: bool,
        on_end: Callable[["EventStream"], None],
    ) -> None:
        self._request_id = request_id
        self._first = first
        self._watch = watch
        self._bell = bell
        self._murmur_frames = murmur_frames
        self._on_end = on_end
        headers = {"cache-control": "no-cache", "connection": "keep-alive"}
        if murmur_frames:
            headers[extensions.HEADER] = extensions.STREAM
        super().__init__(self._lines(), headers=headers, media_type="text/event-stream")
        # A media type without parameters: starlette adds a charset to every text type.
        self.headers["content-type"] = "text/event-stream"

    def end(self) -> None:
        """Ends the stream at its next breath; call it on the event loop."""
        self._watch.close()
        self._bell.notify()

    async def stream_response(self, send: Send) -> None:
        try:
            await super().stream_response(send)
        finally:
            self._watch.close()
            self._on_end(self)

    async def _lines(self) -> AsyncIterator[bytes]:
        loop = asyncio.get_running_loop()
        next_heartbeat = loop.time() + HEARTBEAT_SECONDS
        for result in self._first:
            yield self._event(None, result)
        while True:
            # Silence first, then look: what comes after the look rings again.
            self._bell.silence()
            closed = self._watch.closed
            final = False
            batch: list[bytes] = []
            size = 0
            for event in self._watch.take():
                self._note_loss(event)
                for lines in self._encode(event):
                    batch.append(lines)
                    size += len(lines)
                final = final or (event.final and self._watch.task is not None)
                if size >= _BATCH_BYTES:
                    yield b"".join(batch)
                    batch, size = [], 0
                    # A connection that broke in this write is told of it before the next one.
                    await asyncio.sleep(0)
            if batch:
                yield b"".join(batch)
            if final or closed:
                return
            wait = next_heartbeat - loop.time()
            if wait > 0:
                await self._bell.wait(wait)
            else:
                next_heartbeat += HEARTBEAT_SECONDS
                yield _HEARTBEAT

    def _encode(self, event: Event) -> list[bytes]:
        results = stream_responses(event, self._murmur_frames)
        last = len(results) - 1
        return [
            self._event(event.id if index == last else None, result)
            for index, result in enumerate(results)
        ]

    def _event(self, event_id: int | None, result: dict[str, Any]) -> bytes:
        head = b"" if event_id is None else b"id: %d\n" % event_id
        return head + b"data: " + result_body(self._request_id, result) + b"\n\n"

    def _note_loss(self, event: Event) -> None:
        if isinstance(event.frame, LaggedFrame):
            missed, followed = event.frame.missed, event.task_id or "the session"
            complain(f"door: a stream of {followed} reads too slowly and lost {missed} frames")
