"""Stands in for Codex 0.171.0: `codex exec --json`, new and resumed threads."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import tomllib
import uuid
from pathlib import Path
from typing import Any, NoReturn

from tests.harnesses.mcp_client import Server
from tests.harnesses.script import Json, turns_of

VERSION = "0.171.0"
FEATURES = ("shell_tool", "unified_exec", "shell_snapshot", "code_mode_host")
REASONS = {401: "Unauthorized", 403: "Forbidden", 500: "Internal Server Error"}
RETRIES = 5
MEMBERS = (
    "input_tokens",
    "cached_input_tokens",
    "cache_write_input_tokens",
    "output_tokens",
    "reasoning_output_tokens",
)


class Refused(Exception):
    """The command line is wrong; the text says how."""


class Command:
    """What the command line says."""

    def __init__(self, arguments: list[str]) -> None:
        self.settings: Json = {}
        self.model: str | None = None
        self.thread: str | None = None
        self.prompt = ""
        self.flags: set[str] = set()
        words = iter(arguments)
        positional: list[str] = []
        for word in words:
            if word in ("--json", "--skip-git-repo-check", "--ignore-user-config"):
                self.flags.add(word)
            elif word in ("-s", "--sandbox"):
                self.settings["sandbox_mode"] = next(words)
            elif word in ("-m", "--model"):
                self.model = next(words)
            elif word in ("-c", "--config"):
                merge(self.settings, tomllib.loads(next(words)))
            elif word == "--disable":
                feature = next(words)
                if feature not in FEATURES:
                    raise Refused(f"Error: Unknown feature flag: {feature}")
                merge(self.settings, {"features": {feature: False}})
            elif word.startswith("-") and word != "-":
                raise Refused(f"error: unexpected argument '{word}' found")
            else:
                positional.append(word)
        if positional[:1] == ["resume"]:
            self.thread = positional[1]
            positional = positional[2:]
        if len(positional) != 1:
            raise Refused(f"error: unexpected arguments {positional}")
        self.prompt = sys.stdin.read() if positional[0] == "-" else positional[0]


class Codex:
    """One run."""

    def __init__(self, command: Command) -> None:
        self.command = command
        home = Path(os.environ.get("CODEX_HOME") or Path(os.environ["HOME"], ".codex"))
        self.login = home / "auth.json"
        self.sessions = home / "sessions"
        self.thread = command.thread or str(uuid.uuid4())
        self.rollout = self.sessions / f"rollout-{self.thread}.json"
        self.items = 0
        self.servers: dict[str, Server] = {}
        self.said = ""

    def tell(self, kind: str, **members: Any) -> None:
        print(json.dumps({"type": kind, **members}), flush=True)

    def run(self) -> int:
        """The exit status."""
        held: Json = {"tasks": [], "usage": dict.fromkeys(MEMBERS, 0)}
        if self.command.thread is not None:
            if not self.rollout.exists():
                words = f"no rollout found for thread id {self.thread} (code -32600)"
                print(f"Error: thread/resume: thread/resume failed: {words}", file=sys.stderr)
                return 1
            held = json.loads(self.rollout.read_text())
        for name, server in self.command.settings.get("mcp_servers", {}).items():
            token = os.environ[server["bearer_token_env_var"]]
            self.servers[name] = Server(server["url"], f"Bearer {token}", "codex-mcp-client")
        self.tell("thread.started", thread_id=self.thread)
        self.tell("turn.started")
        recalled = list(held["tasks"])
        task = self.command.prompt.rsplit("\n\n", 1)[-1]
        held["tasks"].append(task)
        if not self.login.exists():
            return self.failure(401, "Missing bearer or basic authentication in header")
        try:
            return self.turns(turns_of(task), held, recalled)
        finally:
            self.sessions.mkdir(parents=True, exist_ok=True)
            self.rollout.write_text(json.dumps(held))

    def turns(self, turns: list[Json], held: Json, recalled: list[str]) -> int:
        for turn in turns:
            time.sleep(turn.get("delay_ms", 0) / 1000)
            if "status" in turn:
                if not turn.get("again"):
                    return self.failure(turn["status"], "scripted")
                self.trouble(turn["status"], 1, "scripted")
                continue
            usage = {"input_tokens": 11, "output_tokens": 7, **turn.get("usage", {})}
            for member, count in counted(usage).items():
                held["usage"][member] += count
            if "thinking" in turn:
                self.item("completed", type="reasoning", text=turn["thinking"])
            said = json.dumps(recalled) if turn.get("recall") else turn.get("text")
            if said is not None:
                self.item("completed", type="agent_message", text=said)
            for call in turn.get("tool_calls", ()):
                self.call(call)
            if not turn.get("tool_calls"):
                self.tell("turn.completed", usage=held["usage"])
                return 0
        raise RuntimeError("the script ends with a tool call")

    def call(self, call: Json) -> None:
        ((name, server),) = self.servers.items()
        item: Json = {
            "type": "mcp_tool_call",
            "server": name,
            "tool": call["name"],
            "arguments": call["input"],
            "result": None,
            "error": None,
            "status": "in_progress",
        }
        number = self.item("started", **item)
        try:
            answer = server.call(call["name"], call["input"])
            item["result"] = {"content": answer["content"], "structured_content": None}
            item["status"] = "failed" if answer["isError"] else "completed"
        except (OSError, RuntimeError) as failure:
            item |= {"error": {"message": str(failure)}, "status": "failed"}
        self.tell("item.completed", item={"id": number, **item})

    def item(self, state: str, **members: Any) -> str:
        number = f"item_{self.items}"
        self.items += 1
        self.tell(f"item.{state}", item={"id": number, **members})
        return number

    def failure(self, status: int, words: str) -> int:
        if status == 429:
            message = "exceeded retry limit, last status: 429 Too Many Requests"
        else:
            for attempt in range(1, RETRIES + 1):
                message = self.trouble(status, attempt, words)
        self.tell("error", message=message)
        self.tell("turn.failed", error={"message": message})
        return 1

    def trouble(self, status: int, attempt: int, words: str) -> str:
        reason = REASONS.get(status, "Unknown")
        message = f"unexpected status {status} {reason}: {words}, url: http://provider/v1/responses"
        self.tell("error", message=f"Reconnecting... {attempt}/{RETRIES} ({message})")
        return message


def counted(usage: Json) -> dict[str, int]:
    """A provider's usage under the names that Codex sums it up by."""
    details = usage.get("input_tokens_details", {})
    return {
        "input_tokens": usage["input_tokens"],
        "cached_input_tokens": details.get("cached_tokens", 0),
        "output_tokens": usage["output_tokens"],
        "reasoning_output_tokens": usage.get("output_tokens_details", {}).get(
            "reasoning_tokens", 0
        ),
    }


def merge(into: Json, more: Json) -> None:
    for key, value in more.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            merge(into[key], value)
        else:
            into[key] = value


def run(arguments: list[str]) -> int:
    """The exit status."""
    if arguments == ["--version"]:
        print(f"codex-cli {VERSION}")
        return 0
    if arguments[:1] != ["exec"]:
        print("error: there is nothing but exec here", file=sys.stderr)
        return 2
    signal.signal(signal.SIGINT, lambda *_: os._exit(1))
    try:
        command = Command(arguments[1:])
    except Refused as refusal:
        print(refusal, file=sys.stderr)
        return 2
    return Codex(command).run()


def main() -> NoReturn:
    """The program."""
    sys.exit(run(sys.argv[1:]))
