"""A hook that answers as its `config:` says: a list of answers for each handler, one a call.

An answer is `[arm, value]`, `["err", text]`, `["trap"]` or `["sleep", seconds]`; after the last,
and where a handler has none, it is `none`. Of what handlers are called with only the messages of
`on-compaction` are used: the answer `["replace-context", "last", n]` gives the last n of them back.
"""

import json
import os
import time
from typing import Any

from componentize_py_types import Err
from wit_world import exports
from wit_world.imports import lifecycle

_said: dict[str, int] = {}


def answer(handler: str, event: Any) -> lifecycle.HookOutput:
    answers = json.loads(os.environ.get("MURMUR_ARTIFACT_CONFIG") or "{}").get(handler, [])
    number = _said.get(handler, 0)
    _said[handler] = number + 1
    if number >= len(answers):
        return lifecycle.HookOutput_None_()
    arm, *values = answers[number]
    if arm == "err":
        raise Err(values[0])
    if arm == "trap":
        raise SystemExit(3)
    if arm == "sleep":
        time.sleep(values[0])
        return lifecycle.HookOutput_None_()
    made: lifecycle.HookOutput = OUTPUTS[arm](*values, event=event)
    return made


def messages(given: list[list[str]]) -> list[lifecycle.Message]:
    return [lifecycle.Message(role, content, None, None, None) for role, content in given]


def replaced(given: Any, count: int = 0, *, event: Any) -> lifecycle.HookOutput:
    new = event.messages[-count:] if given == "last" else messages(given)
    return lifecycle.HookOutput_ReplaceContext(new)


OUTPUTS: dict[str, Any] = {
    "replace-context": replaced,
    "write-manifests": lambda given, event: lifecycle.HookOutput_WriteManifests(
        [lifecycle.ToolManifest(name, text) for name, text in given]
    ),
    "artifact": lambda text, event: lifecycle.HookOutput_Artifact(text),
    "reopen-task": lambda text, event: lifecycle.HookOutput_ReopenTask(text),
    "seed-context": lambda given, event: lifecycle.HookOutput_SeedContext(messages(given)),
    "deny": lambda text, event: lifecycle.HookOutput_Deny(text),
}


class Lifecycle(exports.Lifecycle):
    def on_stage(self, event: lifecycle.StageEvent) -> lifecycle.HookOutput:
        return answer("on-stage", event)

    def on_session_start(self, ctx: lifecycle.SessionContext) -> lifecycle.HookOutput:
        return answer("on-session-start", ctx)

    def on_task_start(self, event: lifecycle.TaskStartEvent) -> lifecycle.HookOutput:
        return answer("on-task-start", event)

    def on_inference(self, event: lifecycle.InferenceEvent) -> lifecycle.HookOutput:
        return answer("on-inference", event)

    def on_tool_call(self, event: lifecycle.ToolEvent) -> lifecycle.HookOutput:
        return answer("on-tool-call", event)

    def on_shell(self, event: lifecycle.ShellEvent) -> lifecycle.HookOutput:
        return answer("on-shell", event)

    def on_compaction(self, event: lifecycle.CompactionEvent) -> lifecycle.HookOutput:
        return answer("on-compaction", event)

    def on_task_end(self, event: lifecycle.TaskEndEvent) -> lifecycle.HookOutput:
        return answer("on-task-end", event)

    def on_session_end(self, event: lifecycle.SessionEndEvent) -> lifecycle.HookOutput:
        return answer("on-session-end", event)
