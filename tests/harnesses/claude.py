"""Stands in for Claude Code 2.1.332: `claude --print` with stream-json in and out."""

from __future__ import annotations

import argparse
import json
import os
import queue
import sys
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from tests.harnesses.mcp_client import Server
from tests.harnesses.script import Json, turns_of

VERSION = "2.1.332"
PIECE = 5
ERRORS = {401: "authentication_failed", 403: "authentication_failed", 429: "rate_limit"}
WORDS = {
    401: "Failed to authenticate. API Error: 401",
    403: "Failed to authenticate. API Error: 403",
    429: "API Error: Request rejected (429)",
}


class Interrupted(Exception):
    """Somebody asked to stop; the argument is the `terminal_reason`."""


class Claude:
    """One run."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.session = options.resume or options.session_id
        folder = os.getcwd().replace("/", "-")
        home = Path(os.environ["HOME"])
        self.record = home / ".claude" / "projects" / folder / f"{self.session}.jsonl"
        self.login = home / ".claude" / ".credentials.json"
        self.tools = [name for name in options.tools.split(",") if name]
        self.servers: dict[str, Server] = {}
        self.messages: queue.Queue[str | None] = queue.Queue()
        self.interrupted = threading.Event()
        self.output = threading.Lock()
        self.usage: dict[str, int] = {}
        self.retries = 0

    def tell(self, **members: Any) -> None:
        named = {**members, "session_id": self.session, "uuid": str(uuid.uuid4())}
        with self.output:
            print(json.dumps(named), flush=True)

    def run(self) -> int:
        """The exit status."""
        if self.options.resume and not self.record.exists():
            said = f"No conversation found with session ID: {self.session}"
            print(said, file=sys.stderr)
            self.result(subtype="error_during_execution", is_error=True, errors=[said])
            return 1
        if self.options.session_id and self.record.exists():
            print(f"Error: Session ID {self.session} is already in use.", file=sys.stderr)
            return 1
        threading.Thread(target=self.listen, daemon=True).start()
        failed = False
        while (task := self.messages.get()) is not None:
            failed = not self.task(task)
        return 1 if failed else 0

    def listen(self) -> None:
        """Reads stdin to its end: messages of the user, requests to stop."""
        for line in sys.stdin:
            said = json.loads(line)
            if said["type"] == "user":
                self.messages.put(said["message"]["content"][0]["text"])
            elif said["type"] == "control_request":
                self.interrupted.set()
                answer = {"subtype": "success", "request_id": said["request_id"]}
                self.tell(type="control_response", response=answer)
        self.messages.put(None)

    def task(self, task: str) -> bool:
        """Whether it succeeded."""
        self.greet()
        source = self.key_source()
        self.tell(
            type="system",
            subtype="init",
            cwd=os.getcwd(),
            tools=self.tools,
            mcp_servers=[{"name": name, "status": "connected"} for name in self.servers],
            model=self.options.model or "claude-default",
            permissionMode=self.options.permission_mode,
            apiKeySource=source or "none",
            claude_code_version=VERSION,
        )
        said = Path(self.record).read_text().splitlines() if self.record.exists() else []
        recalled = [json.loads(line)["task"] for line in said]
        self.record.parent.mkdir(parents=True, exist_ok=True)
        with self.record.open("a") as record:
            record.write(json.dumps({"task": task}) + "\n")
        if source is None:
            return self.failure("Not logged in · Please run /login", "authentication_failed")
        self.usage = {}
        try:
            return self.turns(task, recalled)
        except Interrupted as interrupt:
            text = {"type": "text", "text": "[Request interrupted by user]"}
            self.tell(type="user", message={"role": "user", "content": [text]})
            self.result(
                subtype="error_during_execution",
                is_error=True,
                terminal_reason=str(interrupt),
                errors=["[ede_diagnostic] result_type=user"],
            )
            return False
        finally:
            self.interrupted.clear()

    def greet(self) -> None:
        if self.options.mcp_config is None or self.servers:
            return
        declared = json.loads(Path(self.options.mcp_config).read_text())["mcpServers"]
        for name, server in declared.items():
            authorization = server["headers"]["Authorization"]
            self.servers[name] = Server(server["url"], authorization, "claude-code")

    def key_source(self) -> str | None:
        """Whose key is used: an account's, or none but a subscription. None: nobody logged in."""
        if not self.login.exists():
            return None
        return "/login managed key" if "primaryApiKey" in self.login.read_text() else "none"

    def turns(self, task: str, recalled: list[str]) -> bool:
        for number, turn in enumerate(turns_of(task)):
            self.tell(type="system", subtype="status", status="requesting")
            if "status" in turn:
                if not turn.get("again"):
                    status = turn["status"]
                    words = f"{WORDS.get(status, f'API Error: {status}')} · scripted"
                    return self.failure(words, ERRORS.get(status, "server_error"), status)
                self.retry(turn["status"])
                continue
            self.limits(turn)
            calls = self.message(turn, number, recalled)
            if not calls:
                said = turn.get("text") or ""
                if turn.get("recall"):
                    said = json.dumps(recalled)
                self.result(subtype="success", is_error=False, result=said)
                return True
            for call in calls:
                self.call(call)
        raise RuntimeError("the script ends with a tool call")

    def message(self, turn: Json, number: int, recalled: list[str]) -> list[Json]:
        """One message of the model, streamed; the calls that it makes."""
        message: Json = {
            "id": f"msg_{number}",
            "type": "message",
            "role": "assistant",
            "model": self.options.model,
            "content": [],
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }
        self.frame(type="message_start", message=message)
        blocks = list(content(turn, number, recalled))
        for index, block in enumerate(blocks):
            begun = {key: "" if key in ("text", "thinking") else block[key] for key in block}
            if block["type"] == "tool_use":
                begun["input"] = {}
            self.frame(type="content_block_start", index=index, content_block=begun)
            for delta in deltas(block):
                self.pause(turn.get("delay_ms", 0) / 1000, "aborted_streaming")
                self.frame(type="content_block_delta", index=index, delta=delta)
            self.tell(type="assistant", message={**message, "content": [block]})
            self.frame(type="content_block_stop", index=index)
        used = {"input_tokens": 11, "output_tokens": 7, **turn.get("usage", {})}
        for name, count in used.items():
            self.usage[name] = self.usage.get(name, 0) + count
        calls = [block for block in blocks if block["type"] == "tool_use"]
        stop = "tool_use" if calls else "end_turn"
        self.frame(type="message_delta", delta={"stop_reason": stop})
        self.frame(type="message_stop")
        return calls

    def call(self, block: Json) -> None:
        """Calls a tool; an interrupt does not wait for its answer."""
        _, server, tool = block["name"].split("__", 2)
        answers: queue.Queue[Json] = queue.Queue()

        def ask() -> None:
            if block["name"] not in self.tools:
                text = {"type": "text", "text": f"No such tool available: {block['name']}"}
                answers.put({"content": [text], "isError": True})
            else:
                answers.put(self.servers[server].call(tool, block["input"]))

        threading.Thread(target=ask, daemon=True).start()
        while True:
            self.pause(0, "aborted_tools")
            try:
                answer = answers.get(timeout=0.05)
                break
            except queue.Empty:
                continue
        result: Json = {"type": "tool_result", "tool_use_id": block["id"]}
        result["content"] = answer["content"]
        if answer["isError"]:
            # A failed call's text is told as it is, a successful one's in blocks.
            result["content"] = "\n".join(part.get("text", "") for part in answer["content"])
            result["is_error"] = True
        self.tell(type="user", message={"role": "user", "content": [result]})

    def retry(self, status: int) -> None:
        self.retries += 1
        self.tell(
            type="system",
            subtype="api_retry",
            attempt=self.retries,
            max_retries=10,
            retry_delay_ms=500,
            error_status=status,
            error={529: "overloaded"}.get(status, ERRORS.get(status, "server_error")),
        )

    def limits(self, turn: Json) -> None:
        """What the provider says of a subscription's windows; nothing of a key's."""
        if self.key_source() == "none" and "limits" in turn:
            self.tell(type="rate_limit_event", rate_limit_info=turn["limits"])

    def failure(self, words: str, error: str, status: int | None = None) -> bool:
        text = {"type": "text", "text": words}
        message = {"id": str(uuid.uuid4()), "model": "<synthetic>", "role": "assistant"}
        self.tell(type="assistant", message={**message, "content": [text]}, error=error)
        self.result(
            subtype="success",
            is_error=True,
            api_error_status=status,
            terminal_reason="api_error",
            result=words,
        )
        return False

    def result(self, **members: Any) -> None:
        counted = {
            "input_tokens": 0,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": 0,
            **self.usage,
            "output_tokens_details": {"thinking_tokens": 0},
        }
        self.tell(type="result", usage=counted, num_turns=1, duration_ms=1, **members)

    def frame(self, **event: Any) -> None:
        self.tell(type="stream_event", event=event, parent_tool_use_id=None)

    def pause(self, seconds: float, reason: str) -> None:
        if self.interrupted.wait(seconds):
            raise Interrupted(reason)


def content(turn: Json, number: int, recalled: list[str]) -> Iterator[Json]:
    if "thinking" in turn:
        yield {"type": "thinking", "thinking": turn["thinking"], "signature": "c2ln"}
    if turn.get("recall"):
        yield {"type": "text", "text": json.dumps(recalled)}
    elif "text" in turn:
        yield {"type": "text", "text": turn["text"]}
    for index, call in enumerate(turn.get("tool_calls", ())):
        name = f"mcp__claude_bridge__{call['name']}"
        block = {"type": "tool_use", "id": f"toolu_{number}_{index}"}
        yield {**block, "name": name, "input": call["input"]}


def deltas(block: Json) -> Iterator[Json]:
    if block["type"] == "tool_use":
        for piece in pieces(json.dumps(block["input"])):
            yield {"type": "input_json_delta", "partial_json": piece}
        return
    kind = block["type"]
    for piece in pieces(block[kind]):
        yield {"type": f"{kind}_delta", kind: piece}


def pieces(text: str) -> list[str]:
    return [text[at : at + PIECE] for at in range(0, len(text), PIECE)]


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser("claude", allow_abbrev=False)
    parser.add_argument("-v", "--version", action="version", version=f"{VERSION} (Claude Code)")
    for flag in ("--print", "--verbose", "--include-partial-messages", "--strict-mcp-config"):
        parser.add_argument(flag, action="store_true", required=flag == "--print")
    for flag in ("--output-format", "--input-format"):
        parser.add_argument(flag, choices=["stream-json"], required=True)
    for flag in ("--setting-sources", "--model", "--mcp-config"):
        parser.add_argument(flag)
    parser.add_argument("--tools", required=True)
    parser.add_argument("--permission-mode", default="default")
    session = parser.add_mutually_exclusive_group(required=True)
    session.add_argument("--session-id")
    session.add_argument("--resume")
    prompt = parser.add_mutually_exclusive_group(required=True)
    prompt.add_argument("--system-prompt")
    prompt.add_argument("--system-prompt-file")
    return parser.parse_args()


def run() -> int:
    """The exit status."""
    chosen = options()
    asks_nothing = chosen.permission_mode == "bypassPermissions"
    if asks_nothing and os.geteuid() == 0 and os.environ.get("IS_SANDBOX") != "1":
        print(
            "--dangerously-skip-permissions cannot be used with root/sudo privileges for security "
            "reasons",
            file=sys.stderr,
        )
        return 1
    return Claude(chosen).run()


def main() -> NoReturn:
    """The program."""
    status = run()
    sys.stdout.flush()
    # A tool that was not waited for is still being called.
    os._exit(status)
