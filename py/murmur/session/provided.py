"""What answers for each runtime-provided tool of a session's inventory. spec/sessions.md 15."""

from murmur.session.answers import RuntimeTool
from murmur.session.background_tool import BackgroundCommandTool
from murmur.session.commands import Commands
from murmur.session.control import SessionControls
from murmur.session.runtime_tools import BACKGROUND_COMMAND, SESSION_STATUS, SWITCH_DRIVER
from murmur.session.stage import Staged
from murmur.session.status import SessionStatus
from murmur.session.switch_driver import SwitchDriver
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
        )
    }
    if commands is not None:
        answering[BACKGROUND_COMMAND] = BackgroundCommandTool(
            commands.background, str(staged.directories.records)
        )
    if controls is not None:
        answering[SWITCH_DRIVER] = SwitchDriver(controls)
    return answering
