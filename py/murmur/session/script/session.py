"""A script capsule's session: launched, run once, ended. spec/sessions.md 6.4 and 24.

No door, no board and no hooks per task: one call of the component, with the capsule's own ceiling.
"""

import contextlib
import dataclasses
from typing import Final

from murmur.core.diagnostics import Diagnostic, error
from murmur.core.safefs import Root
from murmur.guest.calls import CAPSULE_RUN, GateRules, GuestCall, GuestFailure, Preopen
from murmur.guest.client import Guests
from murmur.guest.processes import GuestsFailed
from murmur.inference.gateway import Gateway
from murmur.inference.gateway_routes import Route, new_token
from murmur.manifest.network import parse_rules
from murmur.session.accessible import accessible_folder
from murmur.session.commands import Commands, open_commands, open_scope
from murmur.session.guest_calls import GuestCalls, call_limits, capsule_environment
from murmur.session.hooks.opening import FrameHooks, open_frame_hooks
from murmur.session.notices import AT_LAUNCH, tell
from murmur.session.outcome import Outcome, settled
from murmur.session.script.interfaces import ScriptInterfaces
from murmur.session.session_end import close_commands, close_trace, session_ms
from murmur.session.spawning import register
from murmur.session.stage import Staged
from murmur.session.trace_opening import open_trace, retain, write_session_start
from murmur.trace.content import Capture
from murmur.trace.writer import TraceWriter

NO_DOOR: Final = ""
"""The address of a session that binds none."""


@dataclasses.dataclass(frozen=True, slots=True)
class ScriptSession:
    """A launched script capsule. `folder` is what its component sees as `.`."""

    staged: Staged
    guests: Guests
    gateway: Gateway
    trace: TraceWriter
    calls: GuestCalls
    commands: Commands | None
    folder: Root
    interfaces: ScriptInterfaces
    hooks: FrameHooks


def launch_script(staged: Staged, guests: Guests, gateway: Gateway) -> ScriptSession:
    """Wires the session and writes `session_start`.

    Raises E-RUN-007 when the trace cannot be written, E-RUN-012 without a cgroup scope, E-IO-003
    for a folder that cannot be used.
    """
    records = staged.directories.records_root
    with contextlib.ExitStack() as undo:
        trace = open_trace(staged)
        undo.callback(trace.close)
        register(staged.capsule, staged.prepared.launch.environ)
        scope = open_scope(staged)
        if scope is not None:
            undo.callback(scope.remove)
        for found in staged.containment.warnings:
            if found.code in AT_LAUNCH:
                tell(records, found)
        commands = open_commands(staged, scope, NO_DOOR)
        if commands is not None:
            undo.callback(commands.close)
        calls = GuestCalls(staged, guests, gateway, NO_DOOR)
        undo.callback(calls.close)
        folder = accessible_folder(
            staged.directories.work_root, staged.capsule.capabilities.filesystem_scope
        )
        undo.callback(folder.close)
        capture = Capture(staged.capsule.trace.capture, records)
        write_session_start(staged, guests, commands, trace, capture)
        retain(staged, trace)
        interfaces = ScriptInterfaces(staged, guests, calls, commands, trace, capture)
        hooks = open_frame_hooks(staged, guests, gateway, trace)
        undo.callback(hooks.calls.close)
        session = ScriptSession(
            staged, guests, gateway, trace, calls, commands, folder, interfaces, hooks
        )
        undo.pop_all()
    return session


def run_script(session: ScriptSession) -> Outcome:
    """Calls `run` and waits for it, and tells the hooks of its beginning and its end.

    Never raises. A lost trace is the outcome E-RUN-007.
    """
    session.hooks.begin(session.staged)
    outcome = settled(lambda: _run(session))
    session.hooks.end(session_ms(session.staged), outcome.status)
    return outcome


def _run(session: ScriptSession) -> Outcome:
    failure = _call(session)
    if failure is None:
        return Outcome("ok")
    return Outcome("trapped", (_diagnostic(session.staged, failure),))


def _call(session: ScriptSession) -> GuestFailure | None:
    staged = session.staged
    script = staged.script
    assert script is not None
    capsule = staged.capsule
    rules = parse_rules(capsule.capabilities.network_allow)
    token = new_token()
    session.gateway.register(token, Route(artifact=capsule.name, rules=rules))
    try:
        call = GuestCall(
            artifact=capsule.name,
            role="capsule",
            compiled=script.compiled,
            key=script.key,
            function=f"{CAPSULE_RUN}#run",
            env=tuple(capsule_environment(staged, NO_DOOR).items()),
            preopens=(Preopen(session.folder.fileno(), "."),),
            limits=call_limits(staged),
            gate=GateRules(
                listener=session.gateway.address,
                token=token,
                rules=tuple(rule.text for rule in rules),
            ),
            in_task=False,
        )
        result = session.guests.invoke(call, answering=session.interfaces)
    except (GuestsFailed, OSError) as failure:
        return GuestFailure("load", f"{call.subject} could not be called: {failure}")
    finally:
        session.gateway.unregister(token)
    return result if isinstance(result, GuestFailure) else None


def _diagnostic(staged: Staged, failure: GuestFailure) -> Diagnostic:
    """E-RUN-002 for an import that is not linked, E-RUN-001 for everything else."""
    assert staged.script is not None
    name = staged.script.path.name
    if failure.kind == "unlinked":
        return error("E-RUN-002", artifact=name, interface=failure.field).diagnostic
    details = tuple(f"  {frame}" for frame in failure.backtrace[:10])
    stderr = failure.stderr.strip().splitlines()[-10:]
    details += tuple(f"  stderr: {line}" for line in stderr)
    hint = (
        "raise the limit in murmur.yaml, or let the program do less"
        if failure.field is not None
        else "look at what the component wrote and where it stopped, mend it, and build it again"
    )
    return error(
        "E-RUN-001", details=details, artifact=name, reason=failure.message, hint=hint
    ).diagnostic


def end_script(session: ScriptSession, outcome: Outcome) -> Outcome:
    """Ends every command and writes `session_end`. Never raises.

    The outcome as it is now: a `session_end` that cannot be written is a failure (E-RUN-007).
    """
    staged = session.staged
    close_commands(session.commands, staged)
    session.calls.close()
    session.hooks.close()
    session.folder.close()
    return close_trace(session.trace, staged, outcome)
