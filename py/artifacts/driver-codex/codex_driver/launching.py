"""The command line and the prompt that start Codex on a task.

What the model can do is what the capsule offers: Codex's own tools are switched off, its sandbox is
read-only, and neither the user's configuration (with its MCP servers and hooks) nor instructions in
the work folder are read. The login is Codex's own.
"""

from __future__ import annotations

import json
import re

from murmur_harness.asking import model_arguments, refuse_settings
from murmur_harness.contract import Bridge, LaunchPlan, LaunchRequest, Refused

from codex_driver.threads import Thread

TOKEN_VARIABLE = "MURMUR_BRIDGE_TOKEN"
"""Holds the bridge's token. Codex takes one from its arguments, which every process of the machine
may read, from its configuration, which is the user's, or from a variable."""

_EXEC = ("exec", "--json", "--skip-git-repo-check", "-s", "read-only")
_OFF = ("shell_tool", "unified_exec", "shell_snapshot", "code_mode_host")
# Tools, instructions of others and endless patience that later versions brought. A version that
# does not know one of them says so in a note, where it would not start with an unknown `--disable`.
_ALSO_OFF = (
    "apps",
    "browser_use",
    "computer_use",
    "goals",
    "hooks",
    "image_generation",
    "memories",
    "multi_agent",
    "plugins",
    "tool_suggest",
    "view_image",
    # Without it a provider out of reach fails the turn after some retries, instead of never.
    "unbounded_connection_retries",
)
# From here on Codex knows no `include_apply_patch_tool`; a patch fails on the read-only sandbox.
_PATCH_SETTING_GONE = (0, 171)
_SERVER_NAME = re.compile(r"[A-Za-z0-9_-]+")


def plan(request: LaunchRequest) -> LaunchPlan:
    """How to start it. Raises Refused: settings, or a server name that no setting can hold."""
    refuse_settings("driver-codex", request)
    args = [*_EXEC, "--ignore-user-config"]
    if _version(request.harness_version) < _PATCH_SETTING_GONE:
        args += ["-c", "include_apply_patch_tool=false"]
    for feature in _OFF:
        args += ["--disable", feature]
    for feature in _ALSO_OFF:
        args += ["-c", f"features.{feature}=false"]
    args += ["-c", 'web_search="disabled"', "-c", "project_doc_max_bytes=0"]
    args += model_arguments("-m", request)
    env: list[tuple[str, str]] = []
    if request.bridge is not None:
        args += _server(request.bridge)
        env.append((TOKEN_VARIABLE, request.bridge.bearer_token))
    if request.resumes:
        args += ["resume", Thread.parse(request.session_id).id]
    # The prompt comes on stdin: an argument is cut off at 128 KiB by the kernel, and public.
    args.append("-")
    return LaunchPlan(args=tuple(args), env=tuple(env), stdin=prompt(request).encode())


def prompt(request: LaunchRequest) -> str:
    """The one message that Codex is given: system prompt, what the tools are, the task."""
    parts = [request.system_prompt.strip()]
    bridge = request.bridge
    if bridge is not None:
        names = ", ".join(bridge.tool_names)
        parts.append(
            f"Everything you may do beyond answering is done by the tools of the MCP server "
            f"{bridge.server_name}: {names}. There is no shell, and no file can be read or written "
            f"except by them."
        )
    else:
        parts.append("You have no tools here: answer from what you are given.")
    parts.append(request.task)
    return "\n\n".join(part for part in parts if part)


def _server(bridge: Bridge) -> list[str]:
    if not _SERVER_NAME.fullmatch(bridge.server_name):
        raise Refused(
            f"bridge.server-name {bridge.server_name!r}: Codex takes letters, digits, _ and - alone"
        )
    settings = {
        "url": bridge.url,
        "bearer_token_env_var": TOKEN_VARIABLE,
        "default_tools_approval_mode": "approve",
    }
    args = []
    for key, value in settings.items():
        # A JSON string in ASCII is a TOML string too.
        args += ["-c", f"mcp_servers.{bridge.server_name}.{key}={json.dumps(value)}"]
    return args


def _version(said: str | None) -> tuple[int, ...]:
    found = re.search(r"\d{1,6}(?:\.\d{1,6})+", said or "")
    return tuple(int(part) for part in found[0].split(".")) if found else ()
