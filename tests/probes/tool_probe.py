"""A tool that does what the `steps` of its input say, through the imports that a tool may have.

Answers with a list, as script_probe does. Handles are kept in `handles.json` between two calls: a
tool's instance ends with each.
"""

import importlib
import json
import os
from collections.abc import Callable
from typing import Any

from componentize_py_types import Err
from wit_world import exports
from wit_world.exports import run as exported
from wit_world.imports import events

# By name: the type checker knows the world of the artifacts, and not this one.
process, task = (
    importlib.import_module(f"wit_world.imports.{name}") for name in ("process", "task")
)


class Run(exports.Run):
    def run(self, input: exported.ToolInput) -> exported.ToolResult:
        answers = [answer(*step) for step in json.loads(input.data or "{}")["steps"]]
        return exported.ToolResult(
            status=exported.Status.PASSED,
            summary=None,
            data=json.dumps(answers),
            data_path=None,
            truncated=False,
            metadata=[],
            attachments=[],
        )


def answer(what: str, *arguments: Any) -> dict[str, Any]:
    try:
        return {"ok": plain(DOES[what](*arguments))}
    except Err as refused:
        return {"err": plain(refused.value)}


def plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if hasattr(value, "__dict__"):
        kind = type(value).__name__.lower()
        return {"is": kind, **{name: plain(item) for name, item in vars(value).items()}}
    return value


def start(program: str, args: list[str], name: str | None) -> str:
    handle: str = process.start(program, args, name)
    with open("handles.json", "w") as kept:
        json.dump(handle, kept)
    return handle


def kept() -> str:
    with open("handles.json") as held:
        handle: str = json.load(held)
    return handle


def converse(port: int, said: str) -> bytes:
    with process.connect(kept(), port) as wire:
        wire.write(said.encode())
        heard: bytes = wire.read(100)
        return heard


DOES: dict[str, Callable[..., Any]] = {
    "run": lambda program, args, stdin: process.run(
        program, args, None if stdin is None else stdin.encode()
    ),
    "start": start,
    "status": lambda: process.status(kept()),
    "stop": lambda: process.stop(kept()),
    "stop_other": process.stop,
    "converse": converse,
    "ask": task.request_input,
    "say": events.emit_chunk,
    "files": lambda: sorted(os.listdir(".")),
}
