"""Tool calls whose input arrives as JSON text in pieces (spec/artifacts.md 11.6)."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from murmur_guest.exchange import DriverError, Progress


@dataclass(slots=True)
class Call:
    """One tool call; `arguments` is its JSON text so far, `size` the UTF-8 bytes of it."""

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
