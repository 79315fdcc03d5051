"""Tool calls while they stream, and what both of OpenAI's APIs have in common."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from murmur_guest.exchange import Block, DriverError, Message, Progress, text_of


@dataclass(slots=True)
class Call:
    """One tool call; `arguments` is its JSON text so far."""

    call_id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)
    size: int = 0
    announced: bool = False

    def announce(self, progress: Progress) -> None:
        """Report the start, once both id and name are there."""
        if not self.announced and self.call_id and self.name:
            self.announced = True
            progress.tool_call_started(self.call_id, self.name)

    def grow(self, part: str, progress: Progress) -> None:
        """Add a piece of the arguments."""
        if not part:
            return
        self.arguments.append(part)
        self.size += len(part.encode("utf-8", "replace"))
        if self.announced:
            progress.tool_call_input_bytes(self.call_id, self.size)


def arguments_of(name: str, text: str) -> Mapping[str, Any]:
    """A finished call's input. Raises DriverError when it is no JSON object; never quotes it."""
    if not text.strip():
        return {}
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise DriverError(f"driver: the input of the call of {name} is not a JSON object")
    return value


def cut_off(name: str, cap: int) -> str:
    """What a call that met the output cap is answered with."""
    return f"driver: the call of {name} was cut off by the output cap of {cap} tokens"


def provider_error(value: object) -> DriverError:
    """A provider's error object in words."""
    error = mapping(value)
    kind = string(error.get("type")) or string(error.get("code")) or "unknown"
    return DriverError(f"OpenAI error: {kind}: {string(error.get('message'))}")


def data_url(block: Block) -> str | None:
    """An image block as a data URL; None when it holds no base64 image."""
    source = mapping(block.get("source"))
    if source.get("type") != "base64":
        return None
    return f"data:{string(source.get('media_type'))};base64,{string(source.get('data'))}"


def blocks(message: Message, kind: str) -> list[Block]:
    """A message's blocks of one type; text blocks without text are left out."""
    found = [block for block in message.content if block["type"] == kind]
    return [block for block in found if kind != "text" or text_of(block)]


def mapping(value: object) -> Mapping[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def string(value: object) -> str:
    """The value if it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


def items(value: object) -> list[Mapping[str, Any]]:
    """The objects of an array."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def compact(value: object) -> str:
    """Compact JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
