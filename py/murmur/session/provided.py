"""What answers for each runtime-provided tool of a session's inventory. spec/sessions.md 15."""

import os

from murmur.core.peer_handles import PeerHandles
from murmur.inference.spend import SpendMeter
from murmur.manifest.network import parse_rules
from murmur.session.answers import RuntimeTool
from murmur.session.background_tool import BackgroundCommandTool
from murmur.session.commands import Commands
from murmur.session.control import SessionControls
from murmur.session.fetch_peer_file import FetchPeerFile
from murmur.session.grants import capsule_rules
from murmur.session.hooks.gate import CallHooks
from murmur.session.plans.submit import SubmitPlan
from murmur.session.runtime_tools import (
    BACKGROUND_COMMAND,
    FETCH_PEER_FILE,
    SESSION_STATUS,
    SHARE_FILE,
    SUBMIT_PLAN,
    SWITCH_DRIVER,
)
from murmur.session.share_file import ShareFile
from murmur.session.stage import Staged
from murmur.session.status import SessionStatus
from murmur.session.switch_driver import SwitchDriver
from murmur.store.names import FullName
from murmur.trace.writer import TraceWriter


def provided_tools(
    staged: Staged,
    commands: Commands | None,
    trace: TraceWriter,
    url: str,
    controls: SessionControls | None = None,
    handles: PeerHandles | None = None,
    meter: SpendMeter | None = None,
    hooks: CallHooks | None = None,
) -> dict[str, RuntimeTool]:
    """The runtime's own tools by name, for an agent capsule whose door is at `url`."""
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
            machine_limit=staged.prepared.config.machine_tokens_per_day,
            machine_used=meter.machine_used if meter is not None else lambda: None,
            deadline=staged.prepared.launch.deadline,
        )
    }
    if commands is not None:
        answering[BACKGROUND_COMMAND] = BackgroundCommandTool(
            commands.background, str(staged.directories.records)
        )
    if staged.capsule.capabilities.plan_submit:
        answering[SUBMIT_PLAN] = _submit_plan(staged, commands, trace, hooks)
    if handles is not None:
        answering[SHARE_FILE] = _share_file(staged, handles, trace)
    if staged.capsule.capabilities.peer_fetch is not None:
        answering[FETCH_PEER_FILE] = _fetch_peer_file(staged, url, trace)
    if controls is not None:
        answering[SWITCH_DRIVER] = SwitchDriver(controls)
    return answering


def _share_file(staged: Staged, handles: PeerHandles, trace: TraceWriter) -> ShareFile:
    export = staged.capsule.exports.peer_files
    assert export is not None
    return ShareFile(
        handles=handles,
        export=export,
        work=staged.directories.work_root,
        work_path=os.path.realpath(staged.directories.work),
        links=staged.containment.achieved != "scoped",
        rules=capsule_rules(staged.capsule),
        trace=trace,
    )


def _fetch_peer_file(staged: Staged, url: str, trace: TraceWriter) -> FetchPeerFile:
    capsule = staged.capsule
    granted = capsule.capabilities.peer_fetch
    assert granted is not None
    return FetchPeerFile(
        rules=parse_rules(granted.allow),
        work=staged.directories.work_root,
        identity=f"{capsule.name}@{url}".lower(),
        limit=capsule.capabilities.resources.workdir_max_bytes,
        trace=trace,
    )


def _submit_plan(
    staged: Staged, commands: Commands | None, trace: TraceWriter, hooks: CallHooks | None
) -> SubmitPlan:
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
        hooks=hooks,
    )
