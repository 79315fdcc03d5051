"""A session's worker side on real objects: board, trace, files, loop; only the guests are scripted.

A driver's answers are given as values, one a call; a callable among them is called instead, so
that a test can do something while the model thinks.
"""

import dataclasses
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from murmur.core.safefs import Root, open_root
from murmur.core.tasks import Acceptance, Caller, Origin, Submission, Task, Trust
from murmur.guest.calls import GuestFailure, GuestResult, ToolResult
from murmur.inference.driver import DriverClient, OnEvent
from murmur.inference.gateway_routes import Route
from murmur.inference.spend import SpendMeter
from murmur.manifest.inference import Retry
from murmur.manifest.parse import load_capsule
from murmur.manifest.session import Images as ImageLimits
from murmur.manifest.session import Lifecycle
from murmur.session.attempt import Attempt
from murmur.session.board import Board
from murmur.session.checking import RunCheck
from murmur.session.course import AskHooks, Rules
from murmur.session.deadline import Deadline, Notice, Overdue
from murmur.session.dispatch import Dispatcher
from murmur.session.history import Conversations, Keeping
from murmur.session.images import Images
from murmur.session.inventory import Tool, ToolKind, shell_tool
from murmur.session.loop import AgentLoop, LoopSettings
from murmur.session.offered import OfferedTools
from murmur.session.protection import Protection
from murmur.session.start import Session
from murmur.session.task_runner import TaskRunner
from murmur.trace.content import Capture
from murmur.trace.reader import read_trace
from murmur.trace.writer import TraceWriter

MANIFEST = """
name: demo
version: 0.1.0
artifacts:
- {name: local/driver, version: 0.1.0, runtime: driver}
inference: {model: m, driver: {artifact: local/driver}}
lifecycle: {input_timeout_secs: 1}
"""
SESSION_START: dict[str, Any] = {
    "capsule_name": "demo",
    "capsule_version": "0.1.0",
    "model": "m",
    "capabilities": [],
    "tools_declared": [],
    "runtime_artifacts": [],
    "containment_declared": "advisory",
    "containment_achieved": "scoped",
    "workdir_exec": False,
    "system_prompt_source": "none",
    "credential_source": "none",
    "gateways": [],
    "effective_grants": {},
}

NOT_KEPT = Keeping()
NOTHING_DECLARED = Lifecycle()
FIVE_IMAGES = ImageLimits()

ScriptedTool = Callable[[str, str, Attempt], GuestResult]
Answer = GuestResult | Callable[[threading.Event], GuestResult]


def reply(stop: str, *content: Mapping[str, Any], **more: Any) -> ToolResult:
    """A driver's answer."""
    return ToolResult(
        "passed", data=json.dumps({"stop_reason": stop, "content": list(content), **more})
    )


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_call", "id": f"call_{name}", "name": name, "input": arguments}


def says(words: str) -> ToolResult:
    return reply("end_turn", text(words))


def calls(*blocks: Mapping[str, Any]) -> ToolResult:
    return reply("tool_call", *blocks)


def until_cancelled(cancel: threading.Event) -> GuestResult:
    """A guest that works until it is killed."""
    assert cancel.wait(10)
    return GuestFailure("cancelled", "the driver was cancelled")


@dataclasses.dataclass(frozen=True, slots=True)
class Rig:
    """Everything that a test looks at."""

    folder: Path
    records: Root
    board: Board
    trace: TraceWriter
    runner: TaskRunner
    requests: list[dict[str, Any]]
    warned: list[str]
    overdue: Overdue
    deadline: Deadline | None
    fall: list[Callable[[], None]] = dataclasses.field(default_factory=list)

    def submit(self, words: str = "go") -> Task:
        """A task from the door."""
        submission = Submission(
            text=words,
            message_id="m",
            origin=Origin.EVENT,
            trust=Trust.UNTRUSTED,
            caller=Caller("public"),
        )
        return self.board.accept(submission).task

    def take(self) -> Task:
        task = self.board.take(0)
        assert task is not None
        return task

    def events(self) -> list[Mapping[str, Any]]:
        return list(read_trace(self.folder / "trace.jsonl").events[1:])

    def kinds(self) -> list[str]:
        return [str(event["event_type"]) for event in self.events()]

    def event(self, kind: str) -> Mapping[str, Any]:
        (found,) = [event for event in self.events() if event["event_type"] == kind]
        return found

    @property
    def result(self) -> str | None:
        path = self.folder / "out" / "result.txt"
        return path.read_text() if path.exists() else None

    def session(
        self,
        *,
        task: str | None = None,
        acceptance: str = "queue",
        after: str = "exit",
        environ: Mapping[str, str] | None = None,
    ) -> Session:
        """The session around it, with just those parts of the staging that a task loop reads."""
        staged = SimpleNamespace(
            task=task,
            session_id="ses_1",
            started_at=0,
            began=0.0,
            directories=SimpleNamespace(records=self.folder, records_root=self.records),
            prepared=SimpleNamespace(
                lifecycle=SimpleNamespace(task_acceptance=acceptance, after_task=after),
                launch=SimpleNamespace(
                    environ=environ or {}, context_id=None, deadline=self.deadline, resumed=None
                ),
            ),
        )
        return Session(
            staged=cast(Any, staged),
            board=self.board,
            trace=self.trace,
            runner=self.runner,
            guest_calls=cast(Any, SimpleNamespace(close=lambda: None)),
            commands=None,
            stopping=threading.Event(),
            overdue=self.overdue,
        )


def rig(
    folder: Path,
    answers: Sequence[Answer],
    *,
    tools: Mapping[str, ScriptedTool] | None = None,
    max_turns: int | None = None,
    acceptance: Acceptance = Acceptance.QUEUE,
    shells: Sequence[str] = (),
    read_only: Sequence[str] = (),
    keeping: Keeping = NOT_KEPT,
    lifecycle: Lifecycle = NOTHING_DECLARED,
    check: RunCheck | None = None,
    hooks: AskHooks | None = None,
    deadline: Deadline | None = None,
    images_kept: ImageLimits = FIVE_IMAGES,
    meter: SpendMeter | None = None,
) -> Rig:
    """A session below `folder`, whose driver gives `answers` in order.

    `shells` are offered, but a command that gets through the gate fails: there are no commands.
    """
    (folder / "out").mkdir()
    (folder / "logs").mkdir()
    (folder / "runtime").mkdir()
    records = open_root(folder)
    trace = TraceWriter(records, "ses_1")
    trace.write("session_start", **SESSION_START)
    capture = Capture("meta", records)
    requests: list[dict[str, Any]] = []
    warned: list[str] = []
    left = iter(answers)

    def invoke(
        payload: str, token: str, on_event: OnEvent | None, cancel: threading.Event
    ) -> GuestResult:
        requests.append(json.loads(payload))
        answer = next(left)
        return answer(cancel) if callable(answer) else answer

    offered = {
        name: Tool(name, ToolKind.WASM, "0.1.0", name, {"required": ["x"]}, f"local/{name}")
        for name in tools or {}
    }

    def call_tool(artifact: str, data: str, attempt: Attempt, turn: int) -> GuestResult:
        assert tools is not None
        return tools[artifact.removeprefix("local/")](artifact, data, attempt)

    offered |= {name: shell_tool(name) for name in shells}
    images = Images(images_kept)
    skill = Tool("manners", ToolKind.SKILL, "0.1.0", "", {}, "local/manners")
    dispatcher = Dispatcher(
        tools={**offered, "manners": skill},
        skills={"manners": "Be kind."},
        call_tool=call_tool,
        commands=None,
        trace=trace,
        capture=capture,
        take_images=lambda artifact, result, attempt, turn: images.take(
            result.attachments, records, attempt.task_id, turn
        ),
        protection=Protection(str(folder), read_only, offered.values(), {}) if read_only else None,
    )
    settings = LoopSettings(
        model="m",
        output_cap=100,
        max_turns=max_turns,
        retry=Retry(max_retries=0),
        system="[Capsule]",
        tools=OfferedTools({}, "compaction", trace),
        driver_config=None,
        warn=lambda found: warned.append(found.code),
        notice=Notice(deadline, lifecycle.deadline_notice_secs),
        images=images,
        meter=meter or SpendMeter(),
    )
    overdue = Overdue()
    client = DriverClient("local/driver", Route("local/driver", ()), invoke, None)
    held: list[TaskRunner] = []
    board = Board(acceptance, 8, on_never_started=lambda task: held[0].never_started(task))
    runner = TaskRunner(
        loop=AgentLoop(settings, client, dispatcher, trace, capture),
        board=board,
        trace=trace,
        capture=capture,
        records=records,
        runtime=records,
        capsule=load_capsule(MANIFEST, "murmur.yaml").capsule,
        conversations=Conversations(keeping),
        rules=Rules(lifecycle, max_turns, overdue, check, hooks),
    )
    held.append(runner)
    return Rig(folder, records, board, trace, runner, requests, warned, overdue, deadline)
