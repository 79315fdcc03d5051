"""From Staged to Session: scope and commands, gateway, trace opened, everything wired.

spec/sessions.md 6.4. The door is the caller's: the session gives it a board and learns its URL.
"""

import contextlib
import dataclasses
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from murmur.core.peer_handles import PeerHandles
from murmur.core.tasks import Acceptance, Task
from murmur.guest.client import Guests
from murmur.inference.driver import DriverClient
from murmur.inference.gateway import Gateway
from murmur.inference.spend import SpendMeter
from murmur.session.answers import RuntimeTool
from murmur.session.background import Background
from murmur.session.board import Board
from murmur.session.choices import PRIMARY, open_choices
from murmur.session.commands import Commands, open_commands, open_scope
from murmur.session.control import SessionControls, open_controls
from murmur.session.course import Rules
from murmur.session.credential_events import report_credentials
from murmur.session.deadline import Notice, Overdue
from murmur.session.dispatch import Dispatcher
from murmur.session.guest_calls import GuestCalls
from murmur.session.history import Conversations, Keeping
from murmur.session.hooks.opening import SessionHooks, open_session_hooks
from murmur.session.images import Images
from murmur.session.loop import AgentLoop, LoopSettings
from murmur.session.notices import AT_LAUNCH, lose, say, tell
from murmur.session.offered import OfferedTools
from murmur.session.processes import Processes
from murmur.session.prompt import PLAN_GUIDANCE, capsule_block, system_prompt
from murmur.session.provided import provided_tools
from murmur.session.runtime_files import write_page
from murmur.session.session_tools import SessionTools, open_tools
from murmur.session.spawning import register
from murmur.session.stage import Staged
from murmur.session.task_runner import TaskRunner
from murmur.session.tool_interfaces import ToolCaller
from murmur.session.trace_opening import open_trace, retain, write_session_start
from murmur.trace.content import Capture
from murmur.trace.writer import TraceWriter

if TYPE_CHECKING:
    from murmur.session.harness.loop import HarnessLoop
    from murmur.session.harness.opening import HarnessRoom
    from murmur.session.harness.sessions import HarnessSessions


@dataclasses.dataclass(frozen=True, slots=True)
class Session:
    """A launched session. `stopping` is set once it has been asked to end, `overdue` when it was
    the deadline that asked. `handles` is there exactly when files are exported to peers, `room`
    when a harness calls the model."""

    staged: Staged
    board: Board
    trace: TraceWriter
    runner: TaskRunner
    guest_calls: GuestCalls
    commands: Commands | None
    stopping: threading.Event
    overdue: Overdue
    handles: PeerHandles | None = None
    controls: SessionControls | None = None
    hooks: SessionHooks | None = None
    room: "HarnessRoom | None" = None

    def stop(self) -> None:
        """What a first SIGTERM does: cancels every live task and starts none."""
        self._stop(spare=None)

    def reach_deadline(self) -> None:
        """Ends the session as `stop` does, a task that has its answer already with that answer.

        One that is ending by itself, or by a signal, is left to that.
        """
        deadline = self.staged.prepared.launch.deadline
        assert deadline is not None
        record = deadline.record()
        if self.overdue.fall(
            self.stopping, lambda: self.trace.write_aside("deadline_reached", **record)
        ):
            self._stop(spare=self.overdue.kept)

    def _stop(self, spare: str | None) -> None:
        self.stopping.set()
        self.board.stop_accepting()
        self.board.cancel_all(spare)


def launch(
    staged: Staged, guests: Guests, gateway: Gateway, bind_door: Callable[[], str]
) -> Session:
    """Wires a session and writes `session_start`. The order is spec/sessions.md 6.4's.

    `bind_door` binds the door and returns its address, `localhost:<port>`. Raises E-RUN-012 without
    a cgroup scope, what `bind_door` raises, E-IO-003 for a folder that cannot be used, E-RUN-007
    when the trace cannot be written.
    """
    with contextlib.ExitStack() as undo:
        session = _launch(staged, guests, gateway, bind_door, undo)
        undo.pop_all()
    return session


def _launch(
    staged: Staged,
    guests: Guests,
    gateway: Gateway,
    bind_door: Callable[[], str],
    undo: contextlib.ExitStack,
) -> Session:
    """Puts on `undo` what a launch that fails must take away again."""
    records = staged.directories.records_root
    # First, so that a launch which fails below leaves an empty trace (spec/observability.md 3).
    trace = open_trace(staged)
    undo.callback(trace.close)
    register(staged.capsule, staged.prepared.launch.environ)
    scope = open_scope(staged)
    if scope is not None:
        undo.callback(scope.remove)
    for found in staged.containment.warnings:
        if found.code in AT_LAUNCH:
            tell(records, found)
    url = bind_door()
    commands = open_commands(staged, scope, url)
    if commands is not None:
        undo.callback(commands.close)
    try:
        write_page(staged, url)
    except OSError as failure:
        lose(records, "MURMUR.md", failure)
    guest_calls = GuestCalls(staged, guests, gateway, url)
    undo.callback(guest_calls.close)
    tools = open_tools(staged, guests, guest_calls, trace)
    capture = Capture(staged.capsule.trace.capture, records)
    choices = open_choices(staged, guest_calls, gateway)
    meter = _meter(staged)
    write_session_start(staged, guests, commands, trace, capture, choices, meter)
    report_credentials(staged, trace)
    controls = open_controls(staged, choices, trace)
    retain(staged, trace)
    lifecycle = staged.prepared.lifecycle
    never_started: list[Callable[[Task], None]] = []
    board = Board(
        Acceptance(lifecycle.task_acceptance),
        lifecycle.queue_depth,
        on_never_started=lambda task: never_started[0](task),
        first_context=staged.prepared.launch.context_id,
    )
    overdue = Overdue()
    handles = PeerHandles(staged.session_id) if staged.capsule.exports.peer_files else None
    if commands is not None:
        background = Background(staged.session_id, records, str(staged.directories.records), trace)
        background.attach(board)
        commands.use_background(background)
    client = choices[PRIMARY].client if choices else None
    room = None
    if staged.harness is not None:
        from murmur.session.harness.opening import HarnessRoom

        room = HarnessRoom(staged, staged.harness, scope)
        undo.callback(room.close)
    hooks = open_session_hooks(
        staged, guests, gateway, client, commands, trace, meter, tools.offered.compacted
    )
    undo.callback(hooks.calls.close)
    provided = provided_tools(staged, commands, trace, url, controls, handles, meter, hooks.gate)
    runner = _runner(
        staged,
        board,
        guest_calls,
        client,
        hooks,
        commands,
        trace,
        capture,
        overdue,
        controls,
        tools,
        provided,
        meter,
        room,
    )
    never_started.append(runner.never_started)
    return Session(
        staged=staged,
        board=board,
        trace=trace,
        runner=runner,
        guest_calls=guest_calls,
        commands=commands,
        stopping=threading.Event(),
        overdue=overdue,
        handles=handles,
        controls=controls,
        hooks=hooks,
        room=room,
    )


def _runner(
    staged: Staged,
    board: Board,
    guest_calls: GuestCalls,
    client: DriverClient | None,
    hooks: SessionHooks,
    commands: Commands | None,
    trace: TraceWriter,
    capture: Capture,
    overdue: Overdue,
    controls: SessionControls | None,
    tools: SessionTools,
    runtime_tools: Mapping[str, RuntimeTool],
    meter: SpendMeter,
    room: "HarnessRoom | None",
) -> TaskRunner:
    capsule = staged.capsule
    inference = capsule.inference
    assert inference is not None and inference.driver is not None
    images = Images(capsule.context.images)
    processes = Processes(commands, tools.protection, hooks.gate.refuses_command)
    dispatcher = Dispatcher(
        tools=tools.callable.tools,
        skills=tools.callable.skills,
        call_tool=ToolCaller(guest_calls, processes, tools.manage),
        commands=commands,
        trace=trace,
        capture=capture,
        protection=tools.protection,
        runtime_tools=runtime_tools,
        hooks=hooks.gate,
        pulled=tools.callable.pulled,
        warn=lambda found: tell(staged.directories.records_root, found),
        take_images=lambda artifact, result, attempt, turn: images.take(
            result.attachments, guest_calls.folder(artifact), attempt.task_id, turn
        ),
    )
    block = capsule_block(
        capsule.name,
        capsule.version,
        staged.directories.work,
        staged.directories.visible_runtime,
    )
    if capsule.capabilities.plan_submit:
        block = f"{block}\n\n{PLAN_GUIDANCE}"
    system = system_prompt(block, staged.prompt.text, staged.prompt.appended)
    keeping = _keeping(staged)
    loop: AgentLoop | HarnessLoop
    elsewhere: HarnessSessions | None = None
    if room is not None:
        from murmur.session.harness.opening import harness_loop

        loop, elsewhere = harness_loop(
            staged,
            room,
            keeping,
            dispatcher,
            commands,
            hooks.turns,
            system,
            trace,
            meter,
        )
        # The harness holds the conversation; none is recorded here.
        keeping = dataclasses.replace(keeping, store=None)
    else:
        assert client is not None
        loop = _agent_loop(
            staged, client, dispatcher, commands, hooks, system, trace, capture, controls, images,
            meter, tools.offered,
        )  # fmt: skip
    return TaskRunner(
        loop=loop,
        board=board,
        trace=trace,
        capture=capture,
        records=staged.directories.records_root,
        runtime=staged.directories.runtime_root,
        capsule=capsule,
        conversations=Conversations(keeping),
        rules=Rules(
            lifecycle=staged.prepared.lifecycle,
            max_turns=inference.max_turns,
            overdue=overdue,
            check=None if commands is None else commands.check,
            hooks=hooks.tasks.reopening,
        ),
        background=commands.background if commands is not None else None,
        hooks=hooks.tasks,
        elsewhere=elsewhere,
    )


def _agent_loop(
    staged: Staged,
    client: DriverClient,
    dispatcher: Dispatcher,
    commands: Commands | None,
    hooks: SessionHooks,
    system: str,
    trace: TraceWriter,
    capture: Capture,
    controls: SessionControls | None,
    images: Images,
    meter: SpendMeter,
    offered: OfferedTools,
) -> AgentLoop:
    """The loop of an http capsule."""
    inference = staged.capsule.inference
    assert inference is not None and inference.driver is not None
    settings = LoopSettings(
        model=inference.model or "",
        output_cap=staged.limits.max_output_tokens,
        max_turns=inference.max_turns,
        retry=inference.retry,
        system=system,
        tools=offered,
        driver_config=inference.driver.config,
        warn=lambda found: tell(staged.directories.records_root, found),
        notice=Notice(
            staged.prepared.launch.deadline, staged.capsule.lifecycle.deadline_notice_secs
        ),
        images=images,
        before_turn=commands.refuse_overfull if commands is not None else lambda: None,
        meter=meter,
    )
    choose = controls.for_call if controls is not None else None
    return AgentLoop(settings, client, dispatcher, trace, capture, hooks.turns, choose)


def _meter(staged: Staged) -> SpendMeter:
    """What the session and its machine may spend. spec/sessions.md 20."""
    inference = staged.capsule.inference
    assert inference is not None
    return SpendMeter(
        session_id=staged.session_id,
        session_limit=inference.max_session_tokens,
        machine_limit=staged.prepared.config.machine_tokens_per_day,
        ledger=staged.ledger,
        complain=lambda line: say(
            staged.directories.records_root, f"[capsule-runtime] warning: {line}"
        ),
    )


def _keeping(staged: Staged) -> Keeping:
    """How this session keeps its conversations. spec/sessions.md 18.1."""
    capsule = staged.capsule
    context = capsule.context
    launch = staged.prepared.launch
    return Keeping(
        home=launch.home,
        store=(context.record_store or capsule.name) if context.record == "on" else None,
        owner=capsule.name if context.retain is not None else None,
        threaded=staged.prepared.lifecycle.conversation == "threaded",
        resumed=launch.resumed.context_id if launch.resumed is not None else None,
        compacted=launch.flags.resume_mode == "compact",
        tell=lambda line: say(staged.directories.records_root, line),
    )
