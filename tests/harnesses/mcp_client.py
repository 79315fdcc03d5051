"""A harness's side of the Model Context Protocol: JSON-RPC over HTTP."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any


class Server:
    """An MCP server that was greeted, and the tools that it lists."""

    def __init__(self, url: str, authorization: str, client: str) -> None:
        self._url = url
        self._headers = {
            "Authorization": authorization,
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "User-Agent": client,
        }
        self._sent = 0
        greeting = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": client, "version": "1"},
        }
        self._request("initialize", greeting)
        self._post({"jsonrpc": "2.0", "method": "notifications/initialized"})
        self._refuses_listening()
        self.tools: list[str] = [tool["name"] for tool in self._request("tools/list", {})["tools"]]

    def call(self, name: str, arguments: object) -> dict[str, Any]:
        """The result: `content` blocks and `isError`."""
        return self._request("tools/call", {"name": name, "arguments": arguments})

    def _refuses_listening(self) -> None:
        """Both programs ask for a stream of notifications, and go on without one."""
        request = urllib.request.Request(self._url, headers=self._headers)
        try:
            urllib.request.urlopen(request, timeout=10).close()
        except urllib.error.HTTPError as answer:
            if answer.code != 405:
                raise

    def _request(self, method: str, params: object) -> dict[str, Any]:
        self._sent += 1
        message = {"jsonrpc": "2.0", "id": self._sent, "method": method, "params": params}
        answer = self._post(message)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        result: dict[str, Any] = answer["result"]
        return result

    def _post(self, message: object) -> dict[str, Any]:
        request = urllib.request.Request(self._url, json.dumps(message).encode(), self._headers)
        with urllib.request.urlopen(request, timeout=120) as answer:
            session = answer.headers.get("Mcp-Session-Id")
            if session is not None:
                self._headers["Mcp-Session-Id"] = session
            text = answer.read()
        return json.loads(text) if text else {}
