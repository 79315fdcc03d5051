"""What the traces of a formation's members say of each other: sessions, calls and tasks.

CLI reference, *Listing a formation*. Traces are read one line at a time; what is kept of each is
its frame and the lines of calls and tasks that crossed a door.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from murmur.core.diagnostics import MurmurError, error
from murmur.core.home import Home
from murmur.core.ids import is_id
from murmur.trace.addresses import recorded_sessions
from murmur.trace.content import BLOBS
from murmur.trace.lines import TraceLines
from murmur.trace.wording import names, number, text
from murmur.trace.writer import TRACE_FILE

Event = Mapping[str, Any]


@dataclass(slots=True)
class Call:
    """One `call-member` call as its caller recorded it, or, without `ended`, as far as it got."""

    call_id: str
    caller: str
    callee: str
    task_id: str | None
    started_ms: int
    member_task_id: str | None = None
    ended: Event | None = None
    busy: int = 0
    recorded_by_callee_only: bool = False


@dataclass(slots=True)
class Received:
    """A task that a member's door let in, and its end."""

    task_id: str
    session: "Member"
    event: Event
    end: Event | None = None

    @property
    def from_member(self) -> bool:
        """Whether another member sent it."""
        caller = self.event.get("caller")
        return caller == "member" or (caller is None and "caller_member" in self.event)

    @property
    def call_id(self) -> str | None:
        """The call that the message's id names."""
        named = text(self.event, "message_id", "").removeprefix("msg_")
        return named if is_id(named, "mcl") else None

    @property
    def sender(self) -> tuple[str, str]:
        """The kind of sender, and the label of its row."""
        caller = self.event.get("caller")
        if caller in ("operator", "public"):
            return caller, caller
        named = self.event.get("caller_credential")
        if caller == "credential" and isinstance(named, str):
            return "credential", f"credential {named}"
        return "unknown caller", "unknown caller"

    @property
    def body(self) -> str | None:
        """The hash of the message's text, where its body is stored."""
        digest = self.event.get("message_sha256")
        if not isinstance(digest, str) or not (self.session.records / BLOBS / digest).is_file():
            return None
        return digest


@dataclass(slots=True)
class Member:
    """One session whose trace names the formation."""

    session_id: str
    records: Path
    start: Event
    status: str | None = None
    calls: dict[str, Call] = field(default_factory=dict)
    received: dict[str, Received] = field(default_factory=dict)
    ends: dict[str, Event] = field(default_factory=dict)
    children: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The roster name, `-` for a delegated child."""
        return text(self.start, "formation_member", "-")

    @property
    def label(self) -> str:
        """The roster name, or the session id of one without."""
        return text(self.start, "formation_member", self.session_id)


@dataclass(frozen=True, slots=True)
class Searched:
    """A records group that was looked through; `failure` says why it could not be."""

    group: Path
    failure: str = ""


@dataclass(frozen=True, slots=True)
class Formation:
    """Every session of one formation under the groups searched, ascending by session id."""

    formation_id: str
    searched: tuple[Searched, ...]
    members: tuple[Member, ...]


def groups_searched(home: Home, first: Iterable[Path], formation_id: str) -> list[Path]:
    """The records groups in their order: those given, then each peer's."""
    peers = home.root / "formations" / formation_id
    found: dict[str, None] = {}
    for place in (peers, home.records_group(peers)):
        try:
            found.update(dict.fromkeys(each.name for each in place.iterdir() if each.is_dir()))
        except OSError:
            continue
    return list(dict.fromkeys([*first, *(home.records_group(peers / n) for n in sorted(found))]))


def read_formation(formation_id: str, groups: Iterable[Path]) -> Formation:
    """Reads every session in the groups that names the formation.

    Raises E-IO-003 when the first group cannot be read, E-TRC-001 for a malformed trace of a
    member, and E-TRC-002 when no session names the formation.
    """
    searched: list[Searched] = []
    members: dict[str, Member] = {}
    for group in groups:
        try:
            sessions = recorded_sessions(group)
        except MurmurError as refusal:
            if not searched:
                raise
            searched.append(Searched(group, refusal.diagnostic.message))
            continue
        searched.append(Searched(group))
        for session in sessions:
            member = _member(group / session, formation_id)
            if member is not None:
                members.setdefault(session, member)
    if not members:
        places = ", ".join(str(each.group) for each in searched)
        reason = f"no session under {places} belongs to formation {formation_id}"
        raise error("E-TRC-002", address=formation_id, reason=reason)
    ordered = tuple(members[session] for session in sorted(members))
    return Formation(formation_id, tuple(searched), ordered)


def _member(records: Path, formation_id: str) -> Member | None:
    """The session in `records` if its `session_start` names the formation.

    What another session's file holds, or that it cannot be read, is nothing to this formation.
    """
    lines = TraceLines(records / TRACE_FILE)
    events = iter(lines)
    try:
        start = next(events, None)
    except MurmurError:
        return None
    if start is None or start.get("formation_id") != formation_id:
        return None
    member = Member(records.name, records, start)
    try:
        for event in events:
            _take(member, event)
    except MurmurError as refusal:
        reason = f"{refusal.diagnostic.message} (a member of formation {formation_id})"
        raise error("E-TRC-001", file=lines.path, reason=reason) from None
    for task_id, end in member.ends.items():
        if task_id in member.received:
            member.received[task_id].end = end
    return member


def _take(member: Member, event: Event) -> None:
    kind = event.get("event_type")
    if kind == "session_end":
        member.status = text(event, "exit_status")
    elif kind == "task_end":
        member.ends[text(event, "task_id")] = event
    elif kind == "a2a_task_received":
        task_id = text(event, "task_id")
        member.received[task_id] = Received(task_id, member, event)
    elif kind == "delegation_start":
        member.children.append(text(event, "child_session_id"))
    elif kind in ("member_call_busy", "member_call_start", "member_call"):
        _take_call(member, kind, event)


def _take_call(member: Member, kind: str, event: Event) -> None:
    call_id = text(event, "call_id")
    took = number(event, "duration_ms") if kind == "member_call" else 0
    call = member.calls.setdefault(
        call_id,
        Call(
            call_id,
            member.label,
            text(event, "member"),
            event.get("task_id"),
            number(event, "timestamp") - took,
        ),
    )
    if "member_task_id" in event:
        call.member_task_id = text(event, "member_task_id")
    if kind == "member_call_busy":
        call.busy += 1
    elif kind == "member_call":
        call.ended = event


def outside_children(formation: Formation) -> list[str]:
    """Members' delegated children whose traces are not under the groups searched."""
    present = {member.session_id for member in formation.members}
    children = (child for member in formation.members for child in member.children)
    return [child for child in children if child not in present]


def all_calls(formation: Formation) -> Iterator[Call]:
    """Every call between members, those that only the callee recorded included."""
    known = {call_id for member in formation.members for call_id in member.calls}
    held = {call.member_task_id for member in formation.members for call in member.calls.values()}
    for member in formation.members:
        yield from member.calls.values()
        for received in member.received.values():
            if not received.from_member or received.task_id in held:
                continue
            if received.call_id is None or received.call_id not in known:
                yield Call(
                    received.call_id or "(no call id)",
                    text(received.event, "caller_member"),
                    member.label,
                    None,
                    number(received.event, "timestamp"),
                    received.task_id,
                    recorded_by_callee_only=True,
                )


def member_names(member: Member) -> list[str]:
    """Whom the roster lets a member call."""
    return names(member.start, "formation_callees")
