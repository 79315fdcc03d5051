"""Running records laid out by hand over live processes, for the commands that read them."""

import contextlib
import http.server
import json
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from murmur.cli.tests.box import Box
from murmur.door.extensions import CAPSULE
from murmur.running.processes import process_start


def session(number: int) -> str:
    """A session id; a higher number is a newer session."""
    return f"ses_019f01a940ce7761854e768e{number:08x}"


class Records:
    """The running directory of a box's home."""

    def __init__(self, box: Box) -> None:
        self.folder = box.home / ".murmur" / "running"
        self.folder.mkdir(mode=0o700, parents=True)
        (box.home / ".murmur").chmod(0o700)
        self.root = box.home / ".murmur" / "records"

    def write(self, number: int, pid: int, **changes: Any) -> dict[str, Any]:
        """A record of process `pid`; a change to None leaves its key out, but for `url`."""
        named = session(number)
        value = {
            "session_id": named,
            "url": "localhost:9",
            "pid": pid,
            "process_start": "1",
            "capsule_name": "worker",
            "capsule_version": "0.1.0",
            "workdir": "/w",
            "records_dir": str(self.root / "w" / named),
            "outlives_launcher": True,
            "started_at": "2026-10-20T09:12:44Z",
            **changes,
        }
        kept = {key: each for key, each in value.items() if each is not None or key == "url"}
        self.path(number).write_text(json.dumps(kept))
        return kept

    def path(self, number: int) -> Path:
        return self.folder / f"{session(number)}.json"

    def names(self) -> list[str]:
        return sorted(each.name for each in self.folder.iterdir())


@contextlib.contextmanager
def process() -> Iterator[tuple[int, str]]:
    """A process that runs until the end: its id and when it started."""
    with subprocess.Popen(["/bin/sleep", "300"]) as started:
        try:
            yield started.pid, process_start(started.pid)
        finally:
            started.kill()


@contextlib.contextmanager
def card_of(session_id: str | None) -> Iterator[str]:
    """Something that answers with an agent card naming `session_id`: its `localhost:<port>`."""
    params = {} if session_id is None else {"sessionId": session_id}
    card = {
        "supportedInterfaces": [{"url": "http://localhost"}],
        "capabilities": {"extensions": [{"uri": CAPSULE, "params": params}]},
    }

    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps(card).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"localhost:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
