"""Scripted sessions as data: what is launched, and everything that must come of it.

A launch names its whole trace in order, its status and exit code, its answer and the files that are
left. The tables beside this module are run by tests/endtoend/test_scenarios.py; what they reach of
the event catalogue is counted by tests/registry/test_scenarios.py.
"""

import dataclasses
import json
import os
import signal
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.endtoend.capsule import Place, Running, read_trace, replay


@dataclasses.dataclass(frozen=True)
class At:
    """One trace line: its type, and what some of its fields hold."""

    kind: str
    fields: Mapping[str, object] = dataclasses.field(default_factory=dict)

    def fits(self, line: Mapping[str, Any]) -> bool:
        return line["event_type"] == self.kind and all(
            line.get(name) == value for name, value in self.fields.items()
        )

    def __repr__(self) -> str:
        said = ", ".join(f"{name}={value!r}" for name, value in self.fields.items())
        return f"{self.kind}({said})" if said else self.kind


def at(kind: str, /, **fields: object) -> At:
    return At(kind, fields)


Expected = str | At


def task(*middle: Expected, end: str = "ok") -> list[Expected]:
    """The lines of a task with these between its first and its last."""
    return ["task_start", *middle, at("task_end", exit_status=end)]


def session(*middle: Expected, end: str = "ok") -> list[Expected]:
    """The lines of a session around those of its tasks."""
    return ["session_start", *middle, at("session_end", exit_status=end)]


def alone(*middle: Expected, end: str = "ok", status: str | None = None) -> list[Expected]:
    """A session of one task, which ended as `end`; `status` is the session's, if another."""
    return session(*task(*middle, end=end), end=status or end)


WHOLE = alone("inference")
CALLED: tuple[Expected, ...] = (
    at("inference", decision="tool_call"),
    at("tool_call", status="ok"),
    at("inference", decision="end_turn"),
)


@dataclasses.dataclass(frozen=True)
class Ended:
    """A launch that is over, and where its session is recorded."""

    place: Place
    project: Path
    records: Path
    stderr: str

    @property
    def trace(self) -> list[dict[str, Any]]:
        return read_trace(self.records)

    def lines(self, kind: str) -> list[dict[str, Any]]:
        return [each for each in self.trace if each["event_type"] == kind]

    def line(self, kind: str) -> dict[str, Any]:
        (found,) = self.lines(kind)
        return found

    def result(self) -> str:
        return (self.records / "out" / "result.txt").read_text()

    def log(self, name: str) -> str:
        """A log by its file's name; empty when it is not there."""
        path = self.records / "logs" / name
        return path.read_text() if path.exists() else ""

    def messages(self, context: str = "ctx_1") -> list[dict[str, Any]]:
        done = self.place.mur("conversation", "show", context, "--json", cwd=self.project)
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)["messages"]
        assert isinstance(found, list)
        return found

    def files(self) -> list[str]:
        """What the work folder that the runtime made holds, but for the editor's undo history."""
        work = self.project / "workdir" / self.records.name
        found = (each.relative_to(work) for each in work.rglob("*") if each.is_file())
        return sorted(str(each) for each in found if each.parts[0] != ".tool-editor")


@dataclasses.dataclass(frozen=True)
class Launch:
    """One `mur run` and what must come of it.

    `events` is the whole trace; none at all is a launch that makes no session. `drive` meets the
    capsule while it runs. `files` are those of the work folder, `check` looks at anything else.
    """

    arguments: tuple[str, ...] = ()
    events: Sequence[Expected] = tuple(WHOLE)
    status: str = "ok"
    exit_status: int = 0
    code: str | None = None
    task: str | None = "go"
    files: Sequence[str] = ()
    result: str | None = None
    changes: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    drive: Callable[[Running], None] | None = None
    check: Callable[[Ended], object] = lambda ended: None


@dataclasses.dataclass(frozen=True)
class Scenario:
    """A capsule that answers `turns`, and its launches in order."""

    name: str
    turns: Sequence[Mapping[str, Any]]
    launches: Sequence[Launch]
    manifest: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def capsule(self, launch: Launch) -> dict[str, Any]:
        return {**replay(self.turns), **self.manifest, **launch.changes}

    def reached(self) -> Iterator[tuple[str, str | None, str | None]]:
        """Each event that the launches assert, and each text that a field of one must hold."""
        for launch in self.launches:
            for each in launch.events:
                expected = At(each) if isinstance(each, str) else each
                yield expected.kind, None, None
                for name, value in expected.fields.items():
                    if isinstance(value, str):
                        yield expected.kind, name, value


def replay_with(turns: Sequence[Mapping[str, Any]], *more: Mapping[str, Any]) -> list[Any]:
    """The `artifacts:` of a capsule that answers `turns`, and more of them."""
    return [*replay(turns)["artifacts"], *more]


def tool(name: str, **given: Any) -> dict[str, Any]:
    """A turn that calls one tool."""
    return {"tool_calls": [{"name": name, "input": given}]}


def writes(path: str, text: str) -> dict[str, Any]:
    return tool("tool-editor", operation="write_file", dest_path=path, content=text)


def driver(**more: Any) -> dict[str, Any]:
    """The `inference:` block on driver-replay with more keys."""
    return {"inference": {**replay([])["inference"], **more}}


def ends_with(
    sent: signal.Signals, after: str, *, settle: float = 0.2
) -> Callable[[Running], None]:
    """Signals the capsule a moment after that event."""

    def drive(running: Running) -> None:
        running.wait_for(after)
        time.sleep(settle)
        running.process.send_signal(sent)

    return drive


def send(running: Running, text: str = "and then?", origin: str | None = None) -> None:
    """Sends the capsule a task, and waits for nothing but that it is taken."""
    message = {
        "messageId": f"m{time.monotonic_ns()}",
        "role": "ROLE_USER",
        "parts": [{"text": text}],
    }
    params = {"message": message, "configuration": {"returnImmediately": True}}
    call = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params}
    headers = {"a2a-version": "1.0", "content-type": "application/json"}
    if origin is not None:
        headers["x-murmur-task-origin"] = origin
    request = urllib.request.Request(running.url, json.dumps(call).encode(), headers)
    with urllib.request.urlopen(request, timeout=30) as answer:
        assert "result" in json.load(answer)


def wait_for_tasks(running: Running, count: int) -> None:
    """Until that many tasks have ended."""
    end = time.monotonic() + 60
    while sum(line["event_type"] == "task_end" for line in running.trace()) < count:
        assert time.monotonic() < end and running.process.poll() is None, running.trace()
        time.sleep(0.02)


def said(text: str) -> Callable[[Ended], None]:
    """A check of the launch's answer."""

    def check(ended: Ended) -> None:
        assert ended.result() == text

    return check


def records_of(place: Place, project: Path) -> Path:
    """The records directory of the project's newest session."""
    group = place.home / ".murmur" / "records" / Path(os.path.relpath(project / "workdir", "/"))
    return max(each for each in group.iterdir() if each.name.startswith("ses_"))
