"""Opening a session's door: bound, served, recorded, announced. CLI reference, *mur run*."""

import os
from typing import TYPE_CHECKING

from murmur.core.diagnostics import error, warning
from murmur.core.streams import emit, report

if TYPE_CHECKING:
    import socket

    from murmur.door.control import ControlSurface
    from murmur.door.planes import Planes
    from murmur.door.server import DoorServer
    from murmur.door.tokens import DoorTokens
    from murmur.session.stage import Staged
    from murmur.session.start import Session


def bind_door_of(staged: "Staged") -> "list[socket.socket]":
    """Binds the door, on `localhost` too. Raises E-RUN-010; warns W-SEC-032 for a public door off
    loopback."""
    from murmur.door.bind import bind_both
    from murmur.door.exposure import exposure

    flags = staged.prepared.launch.flags
    network = staged.capsule.network
    listener, beside = bind_both(flags.bind, network.internal_port)
    found = exposure(
        flags.bind,
        staged.prepared.lifecycle.task_acceptance,
        network.authentication is not None,
    )
    if found is not None:
        report(found)
    return [listener] if beside is None else [listener, beside]


async def open_door(session: "Session", listeners: "list[socket.socket]", url: str) -> "DoorServer":
    """Serves the door, writes the running record, prints where the capsule is."""
    from murmur.core.tasks import Acceptance
    from murmur.door.card import CardFacts
    from murmur.door.server import DoorServer
    from murmur.door.tokens import DoorTokens

    staged = session.staged
    capsule = staged.capsule
    authentication = capsule.network.authentication
    tokens = None
    if authentication is not None:
        scopes = {name: held.scopes for name, held in authentication.credentials.items()}
        tokens = DoorTokens(capsule.name, scopes)
    harness = staged.harness
    card = CardFacts(
        name=capsule.name,
        version=capsule.version,
        address=url,
        session_id=staged.session_id,
        acceptance=Acceptance(staged.prepared.lifecycle.task_acceptance),
        authenticated=tokens is not None,
        tools=tuple(tool.name for tool in staged.tools.values() if tool.artifact is not None),
        shell=bool(capsule.capabilities.shell_allow),
        network=bool(capsule.capabilities.network_allow),
        accepts_peer_tasks=capsule.exports.accepts_peer_tasks,
        planes=capsule.exports.planes,
        conversation_mode=staged.prepared.lifecycle.conversation,
        transport="http" if harness is None else "process",
        streams_text=harness is None or harness.description.streams_text,
    )
    control = _control(session)
    listener, *beside = listeners
    door = DoorServer(session.board, card, listener, tokens, _planes(session), control, *beside)
    await door.start()
    _write_record(staged, url, tokens)
    _announce(staged, url, tokens is not None)
    return door


def _control(session: "Session") -> "ControlSurface | None":
    """The control surface, its token written beside where the record will be.

    None where control: lists nothing for a controller. Raises E-RUN-041.
    """
    from murmur.door.control import ControlSurface
    from murmur.running.record import write_control_token

    declared = session.staged.capsule.control
    if session.controls is None or declared is None or not declared.has_surface:
        return None
    home = session.staged.prepared.launch.home
    session_id = session.staged.session_id
    token = session.controls.token
    try:
        write_control_token(home, session_id, token.text)
    except OSError as failure:
        path = home.running / f"{session_id}.control"
        reason = failure.strerror or str(failure)
        raise error("E-RUN-041", path=path, reason=reason) from None
    return ControlSurface(session.controls, token)


def _planes(session: "Session") -> "Planes":
    """The file planes over a descriptor of their own: requests may outlast the session's."""
    from murmur.core.safefs import Root
    from murmur.door.planes import Export, PlaneFacts, Planes

    staged = session.staged
    files, peer_files = staged.capsule.exports.files, staged.capsule.exports.peer_files
    facts = PlaneFacts(
        work=Root(os.dup(staged.directories.work_root.fileno())),
        work_path=os.path.realpath(staged.directories.work),
        containment=staged.containment.achieved,
        generation=lambda: session.board.generation,
        record=lambda event, fields: session.trace.write_aside(event, **fields),
        files=Export(files.root, files.max_bytes) if files else None,
        peer_files=Export(peer_files.root, peer_files.max_bytes) if peer_files else None,
        handles=session.handles,
    )
    return Planes(facts)


def record_without_door(staged: "Staged") -> None:
    """The running record of a script capsule, whose `url` is null."""
    _write_record(staged, None, None)


def announce_without_door(staged: "Staged") -> None:
    """The startup lines of a script capsule: none names a URL, and in JSON it is empty."""
    _announce(staged, None, authenticated=False)


def _write_record(staged: "Staged", url: str | None, tokens: "DoorTokens | None") -> None:
    from murmur.core.durations import rfc3339
    from murmur.running.record import own_record, write_record
    from murmur.session.notices import tell

    try:
        record = own_record(
            session_id=staged.session_id,
            url=url,
            capsule_name=staged.capsule.name,
            capsule_version=staged.capsule.version,
            workdir=staged.directories.work,
            records_dir=staged.directories.records,
            started_at=rfc3339(staged.started_at / 1000),
            door_token=tokens.operator if tokens else None,
            credentials=tokens.credentials if tokens else {},
        )
        write_record(staged.prepared.launch.home, record)
    except OSError as failure:
        tell(staged.directories.records_root, warning("W-SEC-023", reason=failure.strerror))


def _announce(staged: "Staged", url: str | None, authenticated: bool) -> None:
    """The startup lines, or under --json the readiness line."""
    from murmur.running.record import compact

    capsule = staged.capsule
    flags = staged.prepared.launch.flags
    session_id = staged.session_id
    if flags.json:
        line: dict[str, object] = {
            "name": capsule.name,
            "pid": os.getpid(),
            "session_id": session_id,
            "records_dir": str(staged.directories.records),
            "url": url or "",
            "version": capsule.version,
            "workdir": str(staged.directories.work),
        }
        if authenticated:
            line["auth"] = "bearer"
        emit(compact(line))
        return
    if url is not None:
        emit(f"murmur: url {url}")
    if authenticated:
        emit(f"murmur: auth bearer (mur token {session_id})")
    emit(f"session: {session_id}")
    if flags.verbose:
        driver = capsule.driver_entry
        skills = [each.name for each in capsule.artifacts if each.runtime == "skill"]
        emit(f"workdir: {staged.directories.work}")
        emit(f"records: {staged.directories.records}")
        emit(f"manifest: {staged.prepared.launch.manifest}")
        emit(f"driver: {driver.label if driver else '(none)'}")
        emit(f"skills: {', '.join(skills) or '(none)'}")
