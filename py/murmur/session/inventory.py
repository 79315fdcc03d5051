"""The tools a model is offered, and the check of their required fields.

spec/sessions.md 11.1, spec/artifacts.md 8.1 and 8.3.
"""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Final

EMPTY_SCHEMA: Final[Mapping[str, object]] = {"type": "object", "properties": {}}
INTERPRETERS: Final = frozenset({"bash", "sh", "zsh", "fish", "dash", "ksh"})

_COMMAND_SCHEMA: Final[Mapping[str, object]] = {
    "type": "object",
    "properties": {"command": {"type": "string"}},
    "required": ["command"],
}


class ToolKind(Enum):
    """What answers a call of this name. spec/sessions.md 11.3."""

    RUNTIME = "runtime"
    NATIVE = "native"
    SHELL = "shell"
    SKILL = "skill"
    WASM = "wasm"


@dataclasses.dataclass(frozen=True, slots=True)
class Tool:
    """One model-visible tool. `name` is the bare name; `artifact` the full name of its artifact.

    `fault` is why its declared schema cannot say which fields a call needs; None where it can.
    """

    name: str
    kind: ToolKind
    version: str
    description: str
    schema: Mapping[str, object]
    artifact: str | None = None
    fault: str | None = None

    def declaration(self) -> dict[str, object]:
        """The element of the driver request's `tools` array."""
        row: dict[str, object] = {"name": self.name, "parameters": self.schema}
        if self.description:
            row["description"] = self.description
        return row


def schema_of(declared: object) -> Mapping[str, object]:
    """An `input_schema` as a mapping: YAML mapping or JSON text, else the empty schema."""
    if isinstance(declared, str):
        try:
            declared = json.loads(declared)
        except ValueError:
            return EMPTY_SCHEMA
    return declared if isinstance(declared, Mapping) and declared else EMPTY_SCHEMA


def schema_fault(declared: object) -> str | None:
    """Why an `input_schema` as declared says nothing of required fields (W-RUN-004), or None."""
    if declared is None:
        return None
    if isinstance(declared, str):
        try:
            declared = json.loads(declared)
        except ValueError:
            return "its input_schema is no JSON"
    if not isinstance(declared, Mapping):
        return "the root of its input_schema is no object"
    required = declared.get("required", [])
    if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
        return "`required` of its input_schema is no list of strings"
    return None


def shell_tool(binary: str) -> Tool:
    """The tool of one `shell.allow` entry. spec/sessions.md 14.1."""
    if binary in INTERPRETERS:
        description = f"Run a command line with {binary} in the work folder."
    else:
        description = (
            f"Run {binary} in the work folder. `command` holds the arguments only, without "
            f"the name of the program."
        )
    return Tool(
        name=binary,
        kind=ToolKind.SHELL,
        version="0.0.0",
        description=description,
        schema=_COMMAND_SCHEMA,
    )


def first_line(text: str) -> str:
    """The first non-blank line, trimmed; a skill's description when it declares none."""
    for line in text.splitlines():
        if line.strip():
            return line.strip()
    return ""


def by_name(tools: Sequence[Tool]) -> dict[str, Tool]:
    """The inventory in the order that the model sees: names ascending.

    An artifact's tool wins over a shell binary of the same name.
    """
    chosen: dict[str, Tool] = {}
    for tool in sorted(tools, key=lambda tool: (tool.name, tool.kind is ToolKind.SHELL)):
        chosen.setdefault(tool.name, tool)
    return chosen


def missing_fields(tool: Tool, arguments: object) -> list[str]:
    """The required fields that a call leaves out, in schema order. Only presence is judged."""
    required = tool.schema.get("required")
    if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
        return []
    present = arguments if isinstance(arguments, Mapping) else {}
    return [name for name in required if name not in present]


def refusal_text(tool: str, missing: Sequence[str]) -> str:
    """What the model reads when a call was refused for missing fields."""
    quoted = ", ".join(f'"{name}"' for name in missing)
    noun = "field" if len(missing) == 1 else "fields"
    return (
        f"{tool}: missing required {noun} {quoted}. The call was not made. "
        "Only the presence of required fields is checked"
    )
