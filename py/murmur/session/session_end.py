"""What every session's end has in common: its commands dead, `session_end` written.

spec/sessions.md 6.4 and 21. An agent's session and a script's close what else they hold themselves.
"""

import time

from murmur.core.streams import complain
from murmur.session.commands import Commands
from murmur.session.notices import keep
from murmur.session.outcome import Outcome
from murmur.session.stage import Staged
from murmur.trace.writer import TraceWriter


def session_ms(staged: Staged) -> int:
    """Milliseconds since the session began."""
    return int((time.monotonic() - staged.began) * 1000)


def close_commands(commands: Commands | None, staged: Staged) -> None:
    """Ends every command. Never raises: what could not be ended is told and kept."""
    if commands is None:
        return
    try:
        commands.close()
    except Exception as failure:
        line = f"[capsule-runtime] warning: the commands could not be ended: {failure}"
        if complain(line):
            keep(staged.directories.records_root, line)


def close_trace(trace: TraceWriter, staged: Staged, outcome: Outcome) -> Outcome:
    """Writes `session_end` and closes the trace. Never raises.

    The outcome as it is now: a `session_end` that cannot be written is a failure (E-RUN-007).
    """
    lost = trace.write_aside(
        "session_end",
        duration_ms=session_ms(staged),
        exit_status=outcome.status,
        **trace.session_counts.session_end(),
    )
    trace.close()
    if lost is None or outcome.status != "ok":
        return outcome
    return Outcome("failed", (lost.diagnostic,))
