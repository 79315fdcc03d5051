"""The tools that the runtime itself provides: what each is called, takes, and needs to exist.

spec/sessions.md 15. The grant is the tool's existence: a capsule that does not declare what a tool
needs has no such tool, and a call of it names the missing declaration.
"""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Final

from murmur.manifest.capsule import Capsule
from murmur.session.inventory import Tool, ToolKind

BACKGROUND_COMMAND: Final = "background-command"
SESSION_STATUS: Final = "session-status"
SHARE_FILE: Final = "share-file"
FETCH_PEER_FILE: Final = "fetch-peer-file"
SUBMIT_PLAN: Final = "submit-plan"
SWITCH_DRIVER: Final = "switch-driver"

_TEXT: Final = {"type": "string"}


@dataclasses.dataclass(frozen=True, slots=True)
class _Provided:
    """One of them. `needs` is the declaration that `exists` looks for."""

    name: str
    description: str
    needs: str
    exists: Callable[[Capsule], bool]
    properties: Mapping[str, object] = dataclasses.field(default_factory=dict)
    required: tuple[str, ...] = ()


_PROVIDED: Final = (
    _Provided(
        SESSION_STATUS,
        "Where this session stands: turns, tokens, context, spend and time used and left. "
        'A limit that is not set reads "none", a count that is not known "unknown".',
        "inference",
        lambda capsule: capsule.inference is not None,
    ),
    _Provided(
        BACKGROUND_COMMAND,
        "A shell command that was moved to the background: its status, a wait for its end "
        "(at most wait_secs, 600 by default), or a stop of it. Gives state, exit code, log and "
        "the last 16384 bytes of output.",
        "capabilities.shell.allow",
        lambda capsule: bool(capsule.capabilities.shell_allow),
        {
            "operation": {"type": "string", "enum": ["status", "wait", "stop"]},
            "work_id": {"type": "string", "description": "as the shell call returned it: wrk_…"},
            "wait_secs": {"type": "integer", "minimum": 0, "maximum": 600},
        },
        ("operation", "work_id"),
    ),
    _Provided(
        SHARE_FILE,
        "Make a handle with which one peer capsule may fetch one file, until it expires. Give "
        "the handle to that peer in a message.",
        "exports.peer_files",
        lambda capsule: capsule.exports.peer_files is not None,
        {
            "path": {"type": "string", "description": "relative to the exported folder"},
            "peer": {"type": "string", "description": "the peer's door: host:port or URL"},
            "ttl": {"type": "string", "description": "shorter than the longest, such as 90s"},
        },
        ("path", "peer"),
    ),
    _Provided(
        FETCH_PEER_FILE,
        "Fetch the file that a peer's handle stands for. It is stored in the work folder below "
        "peer-in/; the result names it and holds none of its contents.",
        "capabilities.peer_fetch",
        lambda capsule: capsule.capabilities.peer_fetch is not None,
        {"peer": _TEXT, "handle": _TEXT},
        ("peer", "handle"),
    ),
    _Provided(
        SWITCH_DRIVER,
        "Change which model answers from the next turn on, to one of the session's driver "
        "choices: primary, or an alternate by its name.",
        "control.agent_settings",
        lambda capsule: capsule.control is not None and bool(capsule.control.agent_settings),
        {"driver": {"type": "string", "description": "the name of a driver choice"}},
        ("driver",),
    ),
    _Provided(
        SUBMIT_PLAN,
        "Run a plan: steps that depend on each other, each a tool, a command or a sub-capsule. "
        "Gives every step's status and output in one reply.",
        "capabilities.plan.submit",
        lambda capsule: capsule.capabilities.plan_submit,
        {
            "id": {"type": "string", "description": "labels the report"},
            "steps": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "id": _TEXT,
                        "tool": {"type": "string", "description": "a tool of this session"},
                        "shell": {
                            "type": "string",
                            "description": "a command line without a shell: program, arguments",
                        },
                        "capsule": _TEXT,
                        "input": {"description": "of a tool or capsule; $ID.output is replaced"},
                        "depends_on": {"type": "array", "items": _TEXT},
                        "if": {"type": "string", "description": "$ID.status == 'success'"},
                        "on_error": {"type": "string", "enum": ["fail", "skip", "continue"]},
                        "retries": {"type": "integer", "minimum": 0},
                    },
                    "required": ["id"],
                },
            },
        },
        ("id", "steps"),
    ),
)


def runtime_tools(capsule: Capsule) -> list[Tool]:
    """Those that this capsule has."""
    return [_tool(provided) for provided in _PROVIDED if provided.exists(capsule)]


def missing_declaration(name: str) -> str | None:
    """What a manifest must declare for a runtime tool to exist; None for another name."""
    return next((each.needs for each in _PROVIDED if each.name == name), None)


def _tool(provided: _Provided) -> Tool:
    schema: dict[str, object] = {"type": "object", "properties": dict(provided.properties)}
    if provided.required:
        schema["required"] = list(provided.required)
    return Tool(
        name=provided.name,
        kind=ToolKind.RUNTIME,
        version="0.0.0",
        description=provided.description,
        schema=schema,
    )


def unknown_tool(name: str) -> str:
    """What the model reads when it calls a tool that this session does not have."""
    needs = missing_declaration(name)
    if needs is not None:
        return f"{name} does not exist here: the capsule's manifest does not declare {needs}"
    return f"tool '{name}' is not declared in manifest allowlist"
