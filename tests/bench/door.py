"""What a door carries: `bazel run //tests/bench:door`.

500 streams at once and 2000 messages one after another by 16 clients, to a served door and to an
equivalent server of the public A2A SDK, in one run. Every answer is checked: nothing lost, doubled
or out of order within a task. Speeds are printed and never asserted. Options: --streams N,
--messages N, --times N.
"""

import argparse
import asyncio
import contextlib
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PIECES = 5
CLIENTS = 16
GOAL = 2.0


async def murmur_door() -> None:
    """Serves a door whose tasks stream their text in pieces."""
    import threading

    from murmur.core.tasks import Acceptance, StatusFrame, TaskState, TextFrame
    from murmur.door.bind import bind, door_address
    from murmur.door.card import CardFacts
    from murmur.door.server import DoorServer
    from murmur.session.board import Board

    board = Board(Acceptance.QUEUE, queue_depth=100_000)
    listener = bind()
    facts = CardFacts(
        name="bench",
        version="0.1.0",
        address=door_address(listener),
        session_id="ses_019f01a940ce7761854e768ecbe3d399",
        acceptance=Acceptance.QUEUE,
    )

    def work() -> None:
        while (task := board.take()) is not None:
            if not board.start(task):
                continue
            for piece in range(PIECES):
                board.frame(task.id, StatusFrame(TaskState.WORKING, f"piece {piece}"))
                board.frame(task.id, TextFrame(f"piece {piece}"))
            board.finish(task.id, TaskState.COMPLETED, "done", response=task.text)

    server = DoorServer(board, facts, listener)
    await server.start()
    worker = threading.Thread(target=work)
    worker.start()
    print(listener.getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    board.close()
    await server.close()
    worker.join()


async def sdk_server() -> None:
    """The same tasks behind the public SDK's own server."""
    import socket

    import uvicorn
    from a2a.helpers import new_task_from_user_message
    from a2a.server.agent_execution import AgentExecutor, RequestContext
    from a2a.server.events import EventQueue
    from a2a.server.request_handlers import DefaultRequestHandler
    from a2a.server.routes.jsonrpc_routes import create_jsonrpc_routes
    from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
    from a2a.types import a2a_pb2 as pb
    from starlette.applications import Starlette

    class Executor(AgentExecutor):
        async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
            assert context.message is not None
            task = context.current_task or new_task_from_user_message(context.message)
            await event_queue.enqueue_event(task)
            updater = TaskUpdater(event_queue, task.id, task.context_id)
            for piece in range(PIECES):
                said = updater.new_agent_message([pb.Part(text=f"piece {piece}")])
                await updater.update_status(pb.TaskState.TASK_STATE_WORKING, said)
            await updater.add_artifact([pb.Part(text=context.get_user_input())], name="response")
            await updater.complete()

        async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
            raise NotImplementedError

    card = pb.AgentCard(
        name="bench",
        description="Says pieces of a text.",
        version="0.1.0",
        supported_interfaces=[
            pb.AgentInterface(
                url="http://localhost/", protocol_binding="JSONRPC", protocol_version="1.0"
            )
        ],
        capabilities=pb.AgentCapabilities(streaming=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[pb.AgentSkill(id="task", name="Run", description="Runs a task.", tags=["task"])],
    )
    handler = DefaultRequestHandler(Executor(), InMemoryTaskStore(), card)
    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    app = Starlette(routes=create_jsonrpc_routes(handler, "/"))
    config = uvicorn.Config(app, log_level="critical", access_log=False, lifespan="off")
    server = uvicorn.Server(config)
    print(listener.getsockname()[1], flush=True)
    loop = asyncio.get_running_loop()
    serving = loop.create_task(server.serve([listener]))
    await loop.run_in_executor(None, sys.stdin.read)
    server.should_exit = True
    await serving


@contextlib.contextmanager
def served(which: str) -> Iterator[int]:
    """One of the two in a process of its own: its port."""
    process = subprocess.Popen(
        [sys.executable, __file__, "--serve", which],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(["", *sys.path])},
    )
    assert process.stdin is not None and process.stdout is not None
    try:
        yield int(process.stdout.readline())
    finally:
        process.stdin.close()
        process.wait(60)
        process.stdout.close()


async def exchange(port: int, method: str, text: str) -> AsyncIterator[bytes]:
    """The body of one call's answer, as it comes."""
    message = {"messageId": text, "role": "ROLE_USER", "parts": [{"text": text}]}
    params: dict[str, Any] = {"message": message, "configuration": {"returnImmediately": True}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
    writer.write(
        b"POST / HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\na2a-version: 1.0\r\n"
        b"connection: close\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body)
    )
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 "), head
        while chunk := await reader.read(65536):
            yield chunk
    finally:
        writer.close()


async def one_stream(port: int, text: str) -> float:
    """Follows one task to its end and checks its order; seconds."""
    began = time.perf_counter()
    data = b""
    async for chunk in exchange(port, "SendStreamingMessage", text):
        data += chunk
    taken = time.perf_counter() - began
    lines = [line.rstrip(b"\r") for line in data.split(b"\n")]
    results = [json.loads(line[5:])["result"] for line in lines if line.startswith(b"data:")]
    said = [
        result["statusUpdate"]["status"]["message"]["parts"][0]["text"]
        for result in results
        if "message" in result.get("statusUpdate", {}).get("status", {})
        and result["statusUpdate"]["status"]["state"] == "TASK_STATE_WORKING"
    ]
    assert said == [f"piece {piece}" for piece in range(PIECES)], said
    (answer,) = [result for result in results if "artifactUpdate" in result]
    assert answer["artifactUpdate"]["artifact"]["parts"][0]["text"] == text
    assert results[-1]["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"
    return taken


async def one_message(port: int, text: str) -> tuple[str, float]:
    """Sends one message: the task's id and seconds."""
    began = time.perf_counter()
    data = b""
    async for chunk in exchange(port, "SendMessage", text):
        data += chunk
    task = json.loads(data[data.index(b"{") : data.rindex(b"}") + 1])["result"]["task"]
    return str(task["id"]), time.perf_counter() - began


async def streams(port: int, count: int) -> list[float]:
    return list(await asyncio.gather(*(one_stream(port, f"text {n}") for n in range(count))))


async def messages(port: int, count: int) -> list[float]:
    taken: list[float] = []
    ids: set[str] = set()

    async def client(first: int) -> None:
        for number in range(first, count, CLIENTS):
            task_id, seconds = await one_message(port, f"text {number}")
            ids.add(task_id)
            taken.append(seconds)

    await asyncio.gather(*(client(first) for first in range(CLIENTS)))
    assert len(ids) == count, "a task was lost or doubled"
    return taken


@dataclass(frozen=True, slots=True)
class Figure:
    """One load on one server."""

    per_second: float
    median_ms: float


def measure(which: str, load: Any, count: int, times: int) -> Figure:
    """The best of several runs, each on a fresh server that has answered once."""
    best: Figure | None = None
    for _ in range(times):
        with served(which) as port:
            asyncio.run(one_stream(port, "warm"))
            began = time.perf_counter()
            taken = asyncio.run(load(port, count))
            rate = count / (time.perf_counter() - began)
            found = Figure(rate, statistics.median(taken) * 1000)
            best = found if best is None or found.per_second > best.per_second else best
    assert best is not None
    return best


def main() -> int:
    parser = argparse.ArgumentParser(description="A door's load beside the SDK's own server.")
    parser.add_argument("--streams", type=int, default=500)
    parser.add_argument("--messages", type=int, default=2000)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--serve", choices=["murmur", "sdk"])
    options = parser.parse_args()
    if options.serve is not None:
        asyncio.run(murmur_door() if options.serve == "murmur" else sdk_server())
        return 0
    print(f"{platform.platform()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    print(f"best of {options.times}; goal: {GOAL:g} times the rate at a lower median\n")
    for name, load, count in (
        ("streams at once", streams, options.streams),
        (f"SendMessage, {CLIENTS} clients", messages, options.messages),
    ):
        ours, theirs = (measure(which, load, count, options.times) for which in ("murmur", "sdk"))
        print(f"{count} {name}")
        for who, figure in (("murmur", ours), ("a2a-sdk", theirs)):
            print(f"  {who:8} {figure.per_second:8.0f} /s   median {figure.median_ms:8.2f} ms")
        print(f"  ratio    {ours.per_second / theirs.per_second:8.2f}\n")
    return 0


if __name__ == "__main__":
    sys.path.insert(0, str(Path.cwd()))
    sys.exit(main())
