"""A script capsule that does what `steps.json` in its folder says, and writes `answers.json`.

A step is a list: what to do, then its arguments. An answer is {"ok": ...}, {"err": ...}, or
{"value": ...} for what is no result.
"""

import importlib
import json
import os
from collections.abc import Callable
from dataclasses import is_dataclass
from enum import Enum
from typing import Any

from componentize_py_types import Err

# By name: the type checker knows the world of the artifacts, and not this one.
execute, invoke, manage, process, send, tool = (
    importlib.import_module(f"wit_world.imports.{name}")
    for name in ("execute", "invoke", "manage", "process", "send", "run")
)


class Run:
    def run(self) -> None:
        with open("steps.json") as given:
            steps = json.load(given)
        answers = []
        for step in steps:
            answers.append(answer(*step))
            with open("answers.json", "w") as taken:
                json.dump(answers, taken)


def answer(what: str, *arguments: Any) -> dict[str, Any]:
    try:
        return {"ok": plain(DOES[what](*arguments))}
    except Err as refused:
        return {"err": plain(refused.value)}


def plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.name.lower()
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if is_dataclass(value) and not isinstance(value, type):
        return {name: plain(item) for name, item in vars(value).items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def spin() -> None:
    while True:
        pass


def fail() -> None:
    raise RuntimeError("told to")


DOES: dict[str, Callable[..., Any]] = {
    "list": manage.list,
    "describe": manage.describe,
    "search": manage.search,
    "pull": manage.pull,
    "remove": manage.remove,
    "diagnostics": manage.diagnostics,
    "shell": lambda binary, args, env: execute.run(binary, args, [tuple(each) for each in env]),
    "invoke": lambda name, data: invoke.invoke(name, tool.ToolInput(data, None)),
    "send": lambda peer, id, context, text: send.send(peer, send.Message(id, context, text)),
    "process": lambda program, args: process.run(program, args, None),
    "environment": lambda: dict(os.environ),
    "files": lambda: sorted(os.listdir(".")),
    "spin": spin,
    "fail": fail,
}
