"""A process driver for the stand-in harness of tests/endtoend/harness.py, in a line format of its
own: each line of the harness's output is one event as JSON, `{"text": "hello"}`.

What it describes, and how its calls misbehave, the artifact's build cannot say: a driver is given
nothing. So the harness's program decides by its name (`describe` is asked of nothing else), and
`inference.driver.config` decides the rest, for `launch` reads it.
"""

import dataclasses
import json
from typing import Any

from componentize_py_types import Err
from wit_world import exports
from wit_world.exports import process

TERMINAL = ("turn-end", "turn-failed")

config: dict[str, Any] = {}


class Process(exports.Process):
    def describe(self) -> process.Description:
        return process.Description(
            harness="Stand-in",
            binary="stand-in-harness",
            version_args=["--version"],
            tested_versions=["1.0.0"],
            interrupt=process.InterruptMethod.STDIN_MESSAGE,
            required_env=["PATH"],
            streams_text=True,
            reports_usage=True,
        )

    def launch(self, request: process.LaunchRequest) -> process.LaunchPlan:
        global config
        config = json.loads(request.config or "{}")
        if "launch-error" in config:
            raise Err(config["launch-error"])
        if config.get("launch-crash"):
            raise RuntimeError("told to crash")
        told = dataclasses.asdict(request)
        told["session"]["mode"] = request.session.mode.name.lower()
        task = json.dumps(told) + "\n"
        named = json.dumps({"bridge": told["bridge"]})
        return process.LaunchPlan(
            args=["--files", "{files_dir}", *config.get("args", [])],
            env_set=[("STAND_IN_FILES", "{files_dir}"), *map(tuple, config.get("env", []))],
            files=[process.DriverFile(name=config.get("file", "bridge.json"), contents=named)],
            stdin=task.encode(),
            keep_stdin_open=config.get("keep-stdin-open", True),
            interrupt_stdin=None if config.get("no-interrupt") else b'{"interrupt": true}\n',
        )

    def parse(self, lines: list[str]) -> list[process.Event]:
        if config.get("parse-crash"):
            raise RuntimeError("told to crash")
        return [event for line in lines for event in events_of(line)]

    def classify_exit(self, exit: process.ExitStatus) -> process.Event:
        if exit.interrupted:
            return failed("canceled", "it was interrupted")
        if config.get("classify-note"):
            return process.Event_Note("no answer at all")
        if exit.code == 0:
            return process.Event_TurnEnd("it ended without a word")
        how = f"code {exit.code}, signal {exit.signal}: {exit.stderr_tail.strip()}"
        return failed("other", how)


def failed(kind: str, message: str) -> process.Event:
    named = process.FailureKind[kind.replace("-", "_").upper()]
    return process.Event_TurnFailed(process.TurnFailure(kind=named, message=message))


def events_of(line: str) -> list[process.Event]:
    if not line.strip():
        return []
    try:
        said = json.loads(line)
    except ValueError:
        return [process.Event_Note(line[:512])]
    return [event_of(kind, value) for kind, value in said.items()]


def event_of(kind: str, value: Any) -> process.Event:
    case = getattr(process, "Event_" + "".join(map(str.capitalize, kind.split("-"))))
    if kind == "turn-failed":
        return failed(value["kind"], value["message"])
    record = RECORDS.get(kind)
    if record is None:
        plain: process.Event = case(value)
        return plain
    if kind == "quota" and value.get("state") is not None:
        value = {**value, "state": process.QuotaState[value["state"].upper()]}
    fields = {
        field.name: value.get(field.name.replace("_", "-")) for field in dataclasses.fields(record)
    }
    made: process.Event = case(record(**fields))
    return made


RECORDS: dict[str, Any] = {
    "session-started": process.SessionInfo,
    "tool-call": process.ToolCallInfo,
    "tool-result": process.ToolResultInfo,
    "tool-call-started": process.ToolCallStart,
    "tool-call-progress": process.ToolCallProgress,
    "retry": process.RetryInfo,
    "usage": process.Usage,
    "quota": process.QuotaWindow,
}
