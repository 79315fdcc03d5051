"""What answers for each runtime-provided tool of a session's inventory. spec/sessions.md 15."""

from murmur.session.answers import RuntimeTool
from murmur.session.background_tool import BackgroundCommandTool
from murmur.session.commands import Commands
from murmur.session.control import SessionControls
from murmur.session.plans.submit import SubmitPlan
from murmur.session.runtime_tools import (
    BACKGROUND_COMMAND,
    SESSION_STATUS,
    SUBMIT_PLAN,
    SWITCH_DRIVER,
)
from murmur.session.stage import Staged
from murmur.session.status import SessionStatus
from murmur.session.switch_driver import SwitchDriver
from murmur.store.names import FullName
from murmur.trace.writer import TraceWriter


def provided_tools(
    staged: Staged,
    commands: Commands | None,
    trace: TraceWriter,
    controls: SessionControls | None = None,
) -> dict[str, RuntimeTool]:
    """The runtime's own tools by name, for an agent capsule."""
    inference = staged.capsule.inference
    assert inference is not None
    budget, basis = staged.limits.input_budget()
    answering: dict[str, RuntimeTool] = {
        SESSION_STATUS: SessionStatus(
            session_id=staged.session_id,
            trace=trace,
            max_turns=inference.max_turns,
            budget=budget,
            budget_basis=basis,
            session_limit=inference.max_session_tokens,
            deadline=staged.prepared.launch.deadline,
        )
    }
    if commands is not None:
        answering[BACKGROUND_COMMAND] = BackgroundCommandTool(
            commands.background, str(staged.directories.records)
        )
    if staged.capsule.capabilities.plan_submit:
        answering[SUBMIT_PLAN] = _submit_plan(staged, commands, trace)
    if controls is not None:
        answering[SWITCH_DRIVER] = SwitchDriver(controls)
    return answering


def _submit_plan(staged: Staged, commands: Commands | None, trace: TraceWriter) -> SubmitPlan:
    lock = staged.prepared.lock

    def version_of(capsule: str) -> str | None:
        try:
            pin = None if lock is None else lock.find(FullName(capsule))
        except ValueError:
            return None
        return None if pin is None else pin.resolved_version

    return SubmitPlan(
        runtime=staged.directories.runtime_root,
        records=staged.directories.records_root,
        commands=commands,
        trace=trace,
        binaries=staged.capsule.capabilities.shell_allow,
        version_of=version_of,
    )
