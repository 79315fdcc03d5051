"""Moves bytes between two sockets inside the kernel. spec/containment.md 17.4.

Each direction is a pipe that `splice` fills from one socket and empties into the other, so that no
byte becomes a Python object. A pipe belongs to a direction only while it holds something, or once
it has been grown for a busy one: connections that wait cost two descriptors.
"""

import asyncio
import contextlib
import fcntl
import os
import socket
import struct
from typing import Final

_FLAGS: Final = os.SPLICE_F_MOVE | os.SPLICE_F_NONBLOCK
_PIPE_BYTES: Final = 64 << 10
_GROWN_BYTES: Final = 1 << 20
_BUSY_BYTES: Final = 1 << 20
_ROUNDS_A_TURN: Final = 4
_LAST_ROUNDS: Final = 64
_MOST_SPARE: Final = 16


class Pipes:
    """Empty pipes of the default size, kept for the next that needs one."""

    def __init__(self) -> None:
        self._spare: list[tuple[int, int]] = []

    def take(self) -> tuple[int, int]:
        """(read end, write end). Raises OSError when there are no descriptors left."""
        return self._spare.pop() if self._spare else os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)

    def give(self, pipe: tuple[int, int]) -> None:
        """Takes back an empty pipe that nobody has grown."""
        if len(self._spare) < _MOST_SPARE:
            self._spare.append(pipe)
        else:
            discard(pipe)

    def close(self) -> None:
        """Closes what is kept."""
        while self._spare:
            discard(self._spare.pop())


def discard(pipe: tuple[int, int]) -> None:
    """Closes both ends."""
    for end in pipe:
        os.close(end)


class _Direction:
    """What `source` sends, on its way to `sink`."""

    def __init__(self, pair: "Carriage", source: socket.socket, sink: socket.socket) -> None:
        self._pair = pair
        self._loop = pair.loop
        self._source = source
        self._sink = sink
        self._pipe: tuple[int, int] | None = None
        self._room = _PIPE_BYTES
        self._held = 0
        self._carried = 0
        self._blocked = False
        self.done = False
        self._loop.add_reader(source, self._readable)

    def stop(self) -> None:
        """Watches neither socket any more and gives up what is on its way."""
        self._loop.remove_reader(self._source)
        if self._blocked:
            self._loop.remove_writer(self._sink)
        self._discard()
        self.done = True

    def hand_over(self) -> None:
        """Passes on what has come already: an answer, before the reset of whoever gave it."""
        with contextlib.suppress(OSError):
            self._carry(_LAST_ROUNDS)

    def _readable(self) -> None:
        try:
            self._carry(_ROUNDS_A_TURN)
        except OSError:
            self._pair.broken(self)

    def _carry(self, rounds: int) -> None:
        for _ in range(rounds):
            if not (self._held or self._fill()) or not self._drain():
                return

    def _writable(self) -> None:
        try:
            if self._drain():
                self._blocked = False
                self._loop.remove_writer(self._sink)
                self._loop.add_reader(self._source, self._readable)
        except OSError:
            self._pair.broken(self)

    def _fill(self) -> bool:
        """Fills the empty pipe; whether it holds something now."""
        pipe = self._pipe
        if pipe is None:
            pipe = self._pipe = self._pair.pipes.take()
        try:
            self._held = os.splice(self._source.fileno(), pipe[1], self._room, flags=_FLAGS)
        except BlockingIOError:
            self._release()
            return False
        self._pair.moved()
        if self._held == 0:
            self._finish()
            return False
        self._carried += self._held
        return True

    def _drain(self) -> bool:
        """Empties the pipe; whether it could. Else the sink is watched until it takes more."""
        assert self._pipe is not None
        while self._held > 0:
            try:
                sent = os.splice(self._pipe[0], self._sink.fileno(), self._held, flags=_FLAGS)
            except BlockingIOError:
                if not self._blocked:
                    self._blocked = True
                    self._loop.remove_reader(self._source)
                    self._loop.add_writer(self._sink, self._writable)
                return False
            self._held -= sent
            self._pair.moved()
        self._grow()
        return True

    def _grow(self) -> None:
        """Once: a bigger pipe for a direction that has carried much."""
        if self._room != _PIPE_BYTES or self._carried < _BUSY_BYTES or self._pipe is None:
            return
        self._room = _GROWN_BYTES
        with contextlib.suppress(OSError):  # the user's pipes hold as much as they may
            fcntl.fcntl(self._pipe[1], fcntl.F_SETPIPE_SZ, _GROWN_BYTES)

    def _release(self) -> None:
        """Lets others have the empty pipe, unless it has been grown."""
        if self._pipe is not None and self._room == _PIPE_BYTES:
            self._pair.pipes.give(self._pipe)
            self._pipe = None

    def _discard(self) -> None:
        if self._pipe is not None:
            discard(self._pipe)
            self._pipe = None

    def _finish(self) -> None:
        """The source has ended: so does what the sink receives, and nothing else."""
        self._loop.remove_reader(self._source)
        self._release()
        self._discard()
        self.done = True
        with contextlib.suppress(OSError):
            self._sink.shutdown(socket.SHUT_WR)
        self._pair.one_done()


class Carriage:
    """Two connected, non-blocking sockets of which each receives what the other sends.

    `ended` is done once both have said all they had to say, one of them has failed, or nothing has
    moved for `idle` seconds. After a failure, and after idleness, both are reset rather than
    closed: half a transfer must not look like a whole one. The sockets stay the caller's to close.
    """

    def __init__(self, one: socket.socket, other: socket.socket, pipes: Pipes, idle: float) -> None:
        self.loop = asyncio.get_running_loop()
        self.pipes = pipes
        self.ended: asyncio.Future[None] = self.loop.create_future()
        self._sockets = (one, other)
        self._idle = idle
        self._last = self.loop.time()
        self._directions = (_Direction(self, one, other), _Direction(self, other, one))
        self._timer = self.loop.call_later(idle, self._check_idle)

    def moved(self) -> None:
        self._last = self.loop.time()

    def one_done(self) -> None:
        if all(each.done for each in self._directions):
            self.stop()

    def broken(self, direction: _Direction) -> None:
        """One way has failed, and takes the other along once that has passed on what it has."""
        for each in self._directions:
            if each is not direction and not each.done:
                each.hand_over()
        self.abort()

    def abort(self) -> None:
        """Ends both ways at once; closing the sockets then resets the connections."""
        for each in self._sockets:
            reset_on_close(each)
        self.stop()

    def stop(self) -> None:
        """Carries nothing any more. Safe to call again."""
        self._timer.cancel()
        for direction in self._directions:
            if not direction.done:
                direction.stop()
        if not self.ended.done():
            self.ended.set_result(None)

    def _check_idle(self) -> None:
        left = self._last + self._idle - self.loop.time()
        if left > 0:
            self._timer = self.loop.call_later(left, self._check_idle)
        else:
            self.abort()


def reset_on_close(connection: socket.socket) -> None:
    """Lets the peer see that something went wrong instead of a proper end."""
    with contextlib.suppress(OSError):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
