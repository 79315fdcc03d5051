"""The command line, the MCP file and the bytes on stdin that start Claude Code on a task.

Its own tools are off (`--tools` names the bridge's alone), and so are settings and MCP servers of
the user or the work folder: what the model can do is what the capsule offers.
"""

from __future__ import annotations

from murmur_guest.untyped import compact
from murmur_harness.asking import model_arguments, refuse_settings
from murmur_harness.contract import (
    FILES_DIR,
    LONGEST_ARGUMENT,
    Bridge,
    LaunchPlan,
    LaunchRequest,
)

MCP_FILE = "mcp-config.json"
PROMPT_FILE = "system-prompt.txt"
STREAMING = (
    "--print",
    "--output-format",
    "stream-json",
    "--verbose",
    "--input-format",
    "stream-json",
    "--include-partial-messages",
    "--setting-sources",
    "",
)

# Without it Claude Code refuses `--permission-mode bypassPermissions` to root. What it asks for is
# true: the runtime contains it, and all there is to permit are calls that the runtime checks.
CONTAINED = ("IS_SANDBOX", "1")


def tool_prefix(server_name: str) -> str:
    """What Claude Code puts before the name of a server's tool."""
    return f"mcp__{server_name}__"


def plan(request: LaunchRequest) -> LaunchPlan:
    """How to start it. Raises Refused for settings: there are none."""
    refuse_settings("driver-claude-code", request)
    bridge = request.bridge
    files: list[tuple[str, str]] = []
    args = list(STREAMING)
    args += model_arguments("--model", request)
    args += ["--resume" if request.resumes else "--session-id", request.session_id]
    args += ["--tools", _tools(bridge)]
    if bridge is not None:
        files.append((MCP_FILE, _mcp_file(bridge)))
        args += ["--mcp-config", f"{FILES_DIR}/{MCP_FILE}", "--strict-mcp-config"]
        args += ["--permission-mode", "bypassPermissions"]
    if len(request.system_prompt.encode()) > LONGEST_ARGUMENT:
        files.append((PROMPT_FILE, request.system_prompt))
        args += ["--system-prompt-file", f"{FILES_DIR}/{PROMPT_FILE}"]
    else:
        args += ["--system-prompt", request.system_prompt]
    return LaunchPlan(
        args=tuple(args),
        env=(CONTAINED,) if bridge is not None else (),
        files=tuple(files),
        stdin=_line(
            {
                "type": "user",
                "message": {
                    "role": "user",
                    "content": [{"type": "text", "text": request.task}],
                },
            }
        ),
        keep_stdin_open=True,
        interrupt_stdin=_line(
            {
                "type": "control_request",
                "request_id": f"murmur-interrupt-{request.session_id}",
                "request": {"subtype": "interrupt"},
            }
        ),
    )


def _tools(bridge: Bridge | None) -> str:
    if bridge is None:
        return ""
    return ",".join(tool_prefix(bridge.server_name) + name for name in bridge.tool_names)


def _mcp_file(bridge: Bridge) -> str:
    headers = {"Authorization": f"Bearer {bridge.bearer_token}"}
    server = {"type": "http", "url": bridge.url, "headers": headers}
    return compact({"mcpServers": {bridge.server_name: server}})


def _line(value: object) -> bytes:
    return compact(value).encode() + b"\n"
