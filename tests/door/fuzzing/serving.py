"""A door served in a process of its own, so that its memory can be watched: `python -m … [token]`.

Prints one line of JSON, `{"port", "pid"}`, and serves until its standard input closes.
"""

import asyncio
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from murmur.core.safefs import open_root
from murmur.core.tasks import Acceptance, StatusFrame, TaskState, TextFrame
from murmur.door.bind import bind, door_address
from murmur.door.card import CardFacts
from murmur.door.planes import Export, PlaneFacts, Planes
from murmur.door.server import DoorServer
from murmur.session.board import Board

SESSION = "ses_019f01a940ce7761854e768ecbe3d399"


def _answer(board: Board) -> None:
    while (task := board.take()) is not None:
        if board.start(task):
            board.frame(task.id, StatusFrame(TaskState.WORKING, "inference turn 1"))
            board.frame(task.id, TextFrame("done"))
            board.finish(task.id, TaskState.COMPLETED, "session ended", response="done")


async def _serve(work: Path) -> None:
    board = Board(Acceptance.QUEUE, queue_depth=10_000)
    listener = bind()
    facts = CardFacts(
        name="worker",
        version="0.1.0",
        address=door_address(listener),
        session_id=SESSION,
        acceptance=Acceptance.QUEUE,
        planes=("files",),
    )
    planes = Planes(
        PlaneFacts(
            work=open_root(work),
            work_path=str(work.resolve()),
            containment="advisory",
            generation=lambda: board.generation,
            record=lambda event, fields: None,
            files=Export("out", 1 << 20),
        )
    )
    server = DoorServer(board, facts, listener, planes=planes)
    await server.start()
    worker = threading.Thread(target=_answer, args=(board,))
    worker.start()
    print(json.dumps({"port": listener.getsockname()[1], "pid": os.getpid()}), flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    board.close()
    await server.close()
    worker.join()


@dataclass(frozen=True, slots=True)
class Door:
    """The process and where it listens."""

    port: int
    process: "subprocess.Popen[str]"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def resident_bytes(self) -> int:
        """What it holds of memory."""
        text = Path(f"/proc/{self.process.pid}/statm").read_text()
        return int(text.split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def call(self, method: str, params: object) -> Any:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer = httpx.post(self.url, json=body, headers={"a2a-version": "1.0"}, timeout=30)
        assert answer.status_code == 200
        return answer.json()

    def works(self) -> None:
        """A message is taken in and answered, as by a door that nobody has touched."""
        message = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hello"}]}
        sent = self.call("SendMessage", {"message": message})["result"]["task"]
        end = time.monotonic() + 60
        while True:
            task = self.call("GetTask", {"id": sent["id"]})["result"]
            if task["status"]["state"] == "TASK_STATE_COMPLETED":
                return
            assert time.monotonic() < end, task
            time.sleep(0.02)


@contextmanager
def served(work: Path) -> Iterator[Door]:
    """A door over the work folder, which must end by itself with nothing to complain of."""
    (work / "out").mkdir(parents=True, exist_ok=True)
    (work / "out" / "a.txt").write_text("a")
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.door.fuzzing.serving", str(work)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(["", *sys.path])},
    )
    assert process.stdout is not None
    complaints: list[str] = []
    assert process.stderr is not None
    reading = threading.Thread(target=complaints.extend, args=(process.stderr,))
    reading.start()
    try:
        ready = json.loads(process.stdout.readline())
        yield Door(ready["port"], process)
    finally:
        if process.poll() is None:
            assert process.stdin is not None
            process.stdin.close()
        status = process.wait(60)
        reading.join()
        process.stdout.close()
        process.stderr.close()
    ours = [line for line in complaints if "reads too slowly" not in line]
    assert (status, ours) == (0, []), (status, ours[:20])


if __name__ == "__main__":
    asyncio.run(_serve(Path(sys.argv[1])))
