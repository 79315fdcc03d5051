"""The two programs: how each is found, logged in and led to the test's provider."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from claude_code_driver.driver import ClaudeCode
from codex_driver.driver import Codex
from murmur_harness.contract import HarnessDriver

from tests.providers import anthropic_server, openai_server
from tests.providers.scripted import Server

Turns = Sequence[dict[str, Any]]
REPEATED = 12
"""How often a provider that refuses is asked, at most."""


@dataclass(frozen=True)
class Harness:
    """One program: how it is found and logged in, and how it is led to the test's provider."""

    name: str
    binary: str
    variable: str
    login: str
    model: str
    tool: str
    new_driver: Callable[[], HarnessDriver]
    serve: Callable[..., Server]

    def real(self) -> Path:
        """The program itself. Skips where it is not installed."""
        found = os.environ.get(self.variable) or shutil.which(self.binary)
        if not found:
            pytest.skip(f"{self.binary} is not on PATH and {self.variable} does not name it")
        return Path(found)

    def log_in(self, home: Path) -> None:
        """A login that the program takes for one."""
        kept: dict[str, Any] = {"OPENAI_API_KEY": "sk-test"}
        if self.name == "claude-code":
            later = int(time.time() * 1000) + 86_400_000
            tokens = {"accessToken": "sk-ant-oat01-test", "refreshToken": "sk-ant-ort01-test"}
            rest = {"scopes": ["user:inference"], "subscriptionType": "max", "expiresAt": later}
            kept = {"claudeAiOauth": {**tokens, **rest}}
        path = home / self.login
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(kept))

    def led(self, args: Sequence[str], url: str) -> tuple[list[str], dict[str, str]]:
        """The arguments and variables that make the test's server its provider."""
        if self.name != "codex":
            return list(args), {"ANTHROPIC_BASE_URL": url, "CLAUDE_CODE_MAX_RETRIES": "1"}
        settings = {
            "model_provider": '"scripted"',
            "model_providers.scripted.name": '"scripted"',
            "model_providers.scripted.base_url": f'"{url}"',
            "model_providers.scripted.wire_api": '"responses"',
            "model_providers.scripted.supports_websockets": "false",
        }
        led = [word for pair in settings.items() for word in ("-c", "=".join(pair))]
        return [args[0], *led, *args[1:]], {}

    def turns(self, turns: Turns) -> list[dict[str, Any]]:
        """A script for the provider: tools named as this program's model names them, and a last
        refusal as often as the program asks again.
        """
        named = [
            {
                **turn,
                "namespace": "mcp__claude_bridge",
                "tool_calls": [{**call, "name": self.tool} for call in turn["tool_calls"]],
            }
            if "tool_calls" in turn
            else turn
            for turn in turns
        ]
        return [*named, *([named[-1]] * REPEATED if "status" in named[-1] else [])]


CLAUDE = Harness(
    name="claude-code",
    binary="claude",
    variable="MURMUR_TEST_CLAUDE",
    login=".claude/.credentials.json",
    model="claude-haiku-4-5-20251001",
    tool="mcp__claude_bridge__tool-editor",
    new_driver=ClaudeCode,
    serve=anthropic_server.start,
)
CODEX = Harness(
    name="codex",
    binary="codex",
    variable="MURMUR_TEST_CODEX",
    login=".codex/auth.json",
    model="gpt-5.5",
    tool="tool_editor",
    new_driver=Codex,
    serve=openai_server.start,
)
