"""A served door: the real server and board, with a script in the place of the session's worker."""

import asyncio
import dataclasses
import json
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from murmur.core.tasks import Acceptance, StatusFrame, Task, TaskState, TextFrame
from murmur.door.bind import bind, door_address
from murmur.door.card import CardFacts
from murmur.door.control import ControlSurface
from murmur.door.planes import Planes
from murmur.door.server import DoorServer
from murmur.door.tokens import DoorTokens
from murmur.session.board import Board

SESSION = "ses_019f01a940ce7761854e768ecbe3d399"

Script = Callable[[Board, Task], None]


def answer(board: Board, task: Task) -> None:
    """One turn that streams an answer."""
    board.frame(task.id, StatusFrame(TaskState.WORKING, "inference turn 1"))
    board.frame(task.id, TextFrame("You said: "))
    board.frame(task.id, TextFrame(task.text))
    board.frame(task.id, TextFrame("", final=True))
    board.finish(task.id, TaskState.COMPLETED, "session ended", response=f"You said: {task.text}")


@dataclasses.dataclass
class ServedDoor:
    """A running door and both ways to reach it."""

    board: Board
    facts: CardFacts
    server: DoorServer
    loop: asyncio.AbstractEventLoop
    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def post(
        self,
        body: object,
        headers: dict[str, str] | list[tuple[str, str]] | None = None,
        path: str = "/",
    ) -> httpx.Response:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        sent = [("content-type", "application/json")]
        if headers is None:
            sent.append(("a2a-version", "1.0"))
        else:
            sent += headers.items() if isinstance(headers, dict) else headers
        return httpx.post(self.url + path, content=content, headers=sent, timeout=10)

    def call(self, method: str, params: object = None, **headers: str) -> Any:
        """The JSON-RPC response of one call; header names are given with underscores."""
        body: dict[str, object] = {"jsonrpc": "2.0", "id": 7, "method": method}
        if params is not None:
            body["params"] = params
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        response = self.post(body, {"a2a-version": "1.0", **sent})
        assert response.status_code == 200
        return response.json()

    def send(self, text: str = "hello", **message: object) -> Any:
        return self.call(
            "SendMessage",
            {
                "message": {
                    "messageId": "m1",
                    "role": "ROLE_USER",
                    "parts": [{"text": text}],
                    **message,
                }
            },
        )

    def raw(self, request: bytes, linger: float = 5.0) -> bytes:
        """Everything the door writes to these bytes until it closes the connection."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=linger) as connection:
            connection.sendall(request)
            received = b""
            while chunk := connection.recv(65536):
                received += chunk
            return received

    def close(self) -> None:
        """What the session does at its end."""
        self.board.close()
        asyncio.run_coroutine_threadsafe(self.server.close(), self.loop).result(10)


OpenDoor = Callable[..., ServedDoor]


@pytest.fixture
def open_door() -> Iterator[OpenDoor]:
    """Opens doors that are closed after the test, worker included."""
    opened: list[tuple[ServedDoor, list[threading.Thread]]] = []

    def open_one(
        script: Script | None = answer,
        acceptance: Acceptance = Acceptance.QUEUE,
        queue_depth: int = 8,
        tokens: DoorTokens | None = None,
        serving: Planes | None = None,
        control: ControlSurface | None = None,
        **facts: Any,
    ) -> ServedDoor:
        board = Board(acceptance, queue_depth)
        listener = bind()
        known = CardFacts(
            name="worker",
            version="0.1.0",
            address=door_address(listener),
            session_id=SESSION,
            acceptance=acceptance,
            authenticated=tokens is not None,
            **facts,
        )
        loop = asyncio.new_event_loop()
        server = DoorServer(board, known, listener, tokens, serving, control)
        port = listener.getsockname()[1]
        threads = [threading.Thread(target=loop.run_until_complete, args=(server.serve(),))]
        if script is not None:
            threads.append(threading.Thread(target=work, args=(board, script)))
        for thread in threads:
            thread.start()
        served = ServedDoor(board, known, server, loop, port)
        opened.append((served, threads))
        return served

    yield open_one
    for served, threads in opened:
        served.board.cancel_all()
        if not served.server.closed:
            served.close()
        for thread in threads:
            thread.join(10)
            assert not thread.is_alive()
        served.loop.close()


def work(board: Board, script: Script) -> None:
    """The task loop of a session, reduced to what the board sees of it."""
    while (task := board.take()) is not None:
        if board.start(task):
            script(board, task)
