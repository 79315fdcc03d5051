"""What `--resume` continues: the context of a recorded session, found before the manifest is read.

So `@1` is the session before this one. Only the beginning of the old trace is read, which a killed
runtime leaves whole. CLI reference, *mur run*; spec/sessions.md 22.
"""

import dataclasses
from pathlib import Path
from typing import Literal

from murmur.conversation.record import Record
from murmur.core.diagnostics import MurmurError, error
from murmur.core.home import Home
from murmur.manifest.capsule import Capsule
from murmur.trace.addresses import Recorded, find_recorded
from murmur.trace.lines import TraceLines

Mode = Literal["full", "compact"]


@dataclasses.dataclass(frozen=True, slots=True)
class Resumed:
    """The session that a launch continues. `trace` is its trace file."""

    session_id: str
    context_id: str
    trace: Path


def find_resumed(address: str, home: Home, root: Path) -> Resumed:
    """The session at `address` among those of the workdir root `root`.

    Raises E-TRC-002 for an address of none or several, E-TRC-001 for a trace that cannot be read
    up to its first task, E-RUN-016 for one that began no task with a context.
    """
    recorded = find_recorded(address, home, root)
    trace = recorded.file()
    if trace.is_dir():  # the path form takes the records directory itself too
        trace = trace / "trace.jsonl"
        recorded = Recorded(trace.parent)
    if recorded.literal is not None and not trace.exists():
        raise error("E-TRC-002", address=address, reason=f"there is no file {trace}")
    session_id = recorded.session_id or recorded.records.name
    for line in TraceLines(trace):
        if line.get("event_type") == "session_start":
            named = line.get("session_id")
            session_id = named if isinstance(named, str) and named else session_id
        elif line.get("event_type") == "task_start":
            context_id = line.get("context_id")
            if isinstance(context_id, str) and context_id:
                return Resumed(session_id, context_id, trace)
            break
    raise error("E-RUN-016", session=session_id)


def check_resume(
    capsule: Capsule, home: Home, resumed: Resumed | None, mode: Mode, *, compacts: bool
) -> None:
    """Refuses a resume that has nothing to continue, or nobody to compact it.

    `compacts` says whether a hook is bound to on-compaction. Raises E-RUN-037, E-RUN-018 and
    E-RUN-017. spec/diagnostics.md 6.3 row 19.
    """
    if resumed is None:
        return
    inference = capsule.inference
    if mode == "compact" and inference is not None and inference.transport != "http":
        raise error("E-RUN-037", transport=inference.transport)
    if mode == "compact" and not compacts:
        raise error("E-RUN-018", mode=mode)
    if inference is None:
        raise _nothing(resumed, "the capsule has no inference: block")
    if capsule.context.record == "off":
        raise _nothing(resumed, "the capsule declares context.record: off")
    store = capsule.context.record_store or capsule.name
    record = Record(home, store, resumed.context_id)
    if inference.transport == "process":
        _check_harness_session(record, resumed)
        return
    try:
        found = record.load().messages
    except OSError as failure:
        raise _nothing(resumed, f"{record.path}: {failure.strerror or failure}") from None
    if not found:
        raise _nothing(resumed, f"there is no conversation in {record.path}")


def _check_harness_session(record: Record, resumed: Resumed) -> None:
    """What there is to continue where a harness holds the conversation."""
    try:
        found = record.harness_session()
    except OSError as failure:
        reason = f"{record.harness_path}: {failure.strerror or failure}"
        raise _nothing(resumed, reason) from None
    if found is None:
        raise _nothing(resumed, f"there is no harness session in {record.harness_path}")


def check_forget(capsule: Capsule, *, forget: bool) -> None:
    """Raises E-RUN-039 for --forget-session where no harness holds a conversation."""
    transport = capsule.inference.transport if capsule.inference is not None else "none"
    if forget and transport != "process":
        raise error("E-RUN-039", transport=transport)


def _nothing(resumed: Resumed, reason: str) -> MurmurError:
    return error("E-RUN-017", session=resumed.session_id, context=resumed.context_id, reason=reason)
