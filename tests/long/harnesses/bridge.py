"""An MCP server as the runtime's bridge is one, with a tool that answers at once (13.5)."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from murmur_harness.contract import Bridge

TOKEN = "0123456789abcdef0123456789abcdef"
TOOL = {
    "name": "tool-editor",
    "description": "Edits files.",
    "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}},
}


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self._answer(405, None)

    def do_POST(self) -> None:
        asked: dict[str, Any] = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.headers["authorization"] != f"Bearer {TOKEN}":
            self._answer(401, None)
        elif "id" not in asked:
            self._answer(202, None)
        else:
            told = self._told(asked["method"], asked.get("params", {}))
            self._answer(200, {"jsonrpc": "2.0", "id": asked["id"], **told})

    def _told(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if method == "initialize":
            version = params["protocolVersion"]
            facts = {"capabilities": {"tools": {}}, "serverInfo": {"name": "x", "version": "1"}}
            return {"result": {"protocolVersion": version, **facts}}
        if method == "tools/list":
            return {"result": {"tools": [TOOL]}}
        if method == "tools/call":
            failed = params["arguments"].get("path") == "missing"
            text = "no such file" if failed else "3 lines"
            return {"result": {"content": [{"type": "text", "text": text}], "isError": failed}}
        return {"error": {"code": -32601, "message": "no such method"}}

    def _answer(self, status: int, value: object) -> None:
        data = b"" if value is None else json.dumps(value).encode()
        self.send_response(status)
        if data:
            self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.send_header("connection", "close")
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Silence."""


@contextmanager
def served() -> Iterator[Bridge]:
    """The bridge, while it is served."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            url = f"http://127.0.0.1:{server.server_address[1]}/bridge"
            yield Bridge("claude_bridge", url, TOKEN, ("tool-editor",))
        finally:
            server.shutdown()
            thread.join()
