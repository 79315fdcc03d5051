"""From Prepared to Staged: artifacts verified and compiled, session id minted, directories made.

spec/sessions.md 6.2 and 6.3. Whatever can be refused is refused before the first directory; what
fails afterwards takes the runtime directory away again.
"""

import contextlib
import dataclasses
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from murmur.core.diagnostics import Diagnostic
from murmur.core.home import open_home
from murmur.core.ids import new_id
from murmur.guest.client import Guests
from murmur.inference.ledger import SpendLedger, open_ledger
from murmur.inference.limits import ModelLimits
from murmur.manifest.capsule import Capsule
from murmur.manifest.warnings import manifest_warnings
from murmur.session.artifacts import (
    StagedArtifact,
    compile_artifacts,
    compiled_cache,
    open_payloads,
    tool_of,
)
from murmur.session.containment import Containment, decide_containment
from murmur.session.directories import (
    Directories,
    abandon,
    check_workdir,
    create_directories,
    remove_runtime_directory,
    sweep_dead_sessions,
)
from murmur.session.exports import check_export_roots
from murmur.session.gateways import (
    EntryGateway,
    alternate_limits,
    driver_limits,
    resolve_gateways,
)
from murmur.session.hooks.contracts import compacts, staged_hooks
from murmur.session.hooks.folders import HookFolders, close_hook_folders, open_hook_folders
from murmur.session.inventory import Tool, by_name, shell_tool
from murmur.session.launch import task_text
from murmur.session.native_tools import check_platforms
from murmur.session.prepare import Prepared
from murmur.session.prompt import ConfiguredPrompt, bound_skill, bound_text, read_prompt
from murmur.session.resume import check_forget, check_resume
from murmur.session.runtime_files import write_runtime_files
from murmur.session.runtime_tools import runtime_tools
from murmur.session.scratch import Scratch
from murmur.session.script.component import Script, compile_component
from murmur.session.state import StateFolders, close_state_stores, open_state_stores
from murmur.store.lock import Pin, holding, merge_pins, read_lock
from murmur.store.names import FullName

if TYPE_CHECKING:
    from murmur.session.harness.load import LoadedHarness


@dataclasses.dataclass(frozen=True, slots=True)
class Staged:
    """A session that is ready to be launched.

    `limits` are the primary driver choice's; `alternate_limits` those of the others by name.
    `started_at` is Unix milliseconds and `began` the same moment by the monotonic clock, which a
    session's length is read from. `scratch` holds compiled forms that the cache did not keep;
    `script` is the program of a script capsule, None for an agent, and `harness` what a process
    driver runs; `hook_folders` and the durable stores of `state` are held until it is discarded.
    """

    prepared: Prepared
    session_id: str
    started_at: int
    began: float
    scratch: Scratch
    directories: Directories
    artifacts: Mapping[str, StagedArtifact]
    tools: Mapping[str, Tool]
    containment: Containment
    gateways: Mapping[str, EntryGateway]
    limits: ModelLimits
    alternate_limits: Mapping[str, ModelLimits]
    prompt: ConfiguredPrompt
    script: Script | None
    harness: "LoadedHarness | None"
    hook_folders: HookFolders
    state: StateFolders
    ledger: SpendLedger | None
    task: str | None
    warnings: tuple[Diagnostic, ...]

    @property
    def capsule(self) -> Capsule:
        return self.prepared.capsule

    def compiled_forms(self) -> list[Path]:
        """The compiled form of every component."""
        forms = [each.compiled for each in self.artifacts.values() if each.compiled is not None]
        return forms if self.script is None else [*forms, self.script.compiled]

    def pulled_earlier(self) -> list[dict[str, object]]:
        """The staged artifacts whose pin an earlier session's pull wrote, in staging order."""
        found: list[dict[str, object]] = []
        for name, artifact in self.artifacts.items():
            session = self.prepared.pulled_by(name)
            if session is not None:
                found.append(
                    {
                        "name": name,
                        "version": artifact.entry.version,
                        "origin": "runtime",
                        "session": session,
                        "trust": "untrusted",
                    }
                )
        return found

    def discard(self) -> None:
        """Removes what a session does not leave behind: runtime directory and scratch folder.

        Doing it again does nothing.
        """
        home = self.prepared.launch.home
        remove_runtime_directory(home, self.session_id, self.directories)
        close_hook_folders(self.hook_folders)
        close_state_stores(self.state)
        if self.ledger is not None:
            self.ledger.close()
        self.scratch.remove()


def stage(prepared: Prepared, guests: Guests) -> Staged:
    """Stages a prepared launch. Raises the refusals of spec/sessions.md 6.2 in its order.

    Prompt and task files are read before the first directory is made, which is earlier than the
    reference has them: a refusal leaves nothing behind.
    """
    with contextlib.ExitStack() as undo:
        staged = _stage(prepared, guests, undo)
        undo.pop_all()
    return staged


def _stage(prepared: Prepared, guests: Guests, undo: contextlib.ExitStack) -> Staged:
    """Puts on `undo` what a staging that fails must let go of."""
    launch = prepared.launch
    open_home(launch.environ)
    containment = decide_containment(prepared)
    payloads, warnings = open_payloads(prepared)
    manifests = {name: payload.manifest for name, payload in payloads.items()}
    manifests |= {name: skill.manifest for name, skill in prepared.local.items()}
    ledger = _ledger(prepared)
    if ledger is not None:
        undo.callback(ledger.close)
    gateways, gateway_warnings = resolve_gateways(prepared, manifests)
    limits, limit_warnings = driver_limits(prepared, manifests)
    alternates, alternate_warnings = alternate_limits(prepared, manifests)
    scratch = Scratch()
    directories = None
    state: StateFolders = {}
    session_id = ""
    try:
        artifacts = compile_artifacts(prepared, payloads, guests, scratch)
        check_platforms(payloads.values(), prepared.platform)
        harness = _harness(prepared, artifacts, guests)
        _check_conversation(prepared, artifacts)
        script = _script(prepared, guests, scratch)
        check_workdir(prepared.place)
        check_export_roots(prepared.capsule, prepared.place)
        prompt = read_prompt(launch, prepared.capsule, bound_text(prepared.capsule, artifacts))
        task = None if launch.flags.task is None else task_text(launch.flags.task)
        state = open_state_stores(launch.home, prepared.capsule)
        sweep_dead_sessions(launch.home)
        session_id, began = new_id("ses"), time.monotonic()
        started_at = time.time_ns() // 1_000_000
        directories = create_directories(launch.home, prepared.place, session_id)
        staged = Staged(
            prepared=prepared,
            session_id=session_id,
            started_at=started_at,
            began=began,
            scratch=scratch,
            directories=directories,
            artifacts=artifacts,
            tools=inventory(prepared, artifacts),
            containment=containment,
            gateways=gateways,
            limits=limits,
            alternate_limits=alternates,
            prompt=prompt,
            script=script,
            harness=harness,
            state=state,
            ledger=ledger,
            hook_folders=open_hook_folders(directories, prepared.capsule.artifacts),
            task=task,
            warnings=(
                *prepared.warnings,
                *manifest_warnings(
                    prepared.capsule,
                    "run",
                    after_task=prepared.lifecycle.after_task,
                    manifests=manifests,
                ),
                *containment.warnings,
                *warnings,
                *gateway_warnings,
                *limit_warnings,
                *alternate_warnings,
                *(harness.warnings if harness is not None else ()),
            ),
        )
        write_runtime_files(staged)
        if prepared.lock is None and launch.flags.writes_lock:
            _write_first_lock(prepared, artifacts)
    except BaseException:
        if directories is not None:
            abandon(launch.home, prepared.place, session_id, directories)
        close_state_stores(state)
        scratch.remove()
        raise
    return staged


def inventory(prepared: Prepared, artifacts: Mapping[str, StagedArtifact]) -> dict[str, Tool]:
    """The tools the model is offered, by name; the skill that is its system prompt is none."""
    bound = bound_skill(prepared.launch, prepared.capsule)
    tools = [
        tool
        for artifact in artifacts.values()
        if artifact.entry.name != bound and (tool := tool_of(artifact)) is not None
    ]
    tools += [shell_tool(binary) for binary in prepared.capsule.capabilities.shell_allow]
    if prepared.capsule.inference is not None:
        tools += runtime_tools(prepared.capsule)
    return by_name(tools)


def _ledger(prepared: Prepared) -> SpendLedger | None:
    """The machine's ledger, where a daily ceiling is in effect. Raises E-RUN-026."""
    if prepared.capsule.inference is None or prepared.config.machine_tokens_per_day is None:
        return None
    return open_ledger(prepared.launch.home, time.time_ns() // 1_000_000)


def _check_conversation(prepared: Prepared, artifacts: Mapping[str, StagedArtifact]) -> None:
    """Raises E-RUN-037, 018, 017 and 039: spec/diagnostics.md 6.3, rows 19 and 20."""
    launch, capsule = prepared.launch, prepared.capsule
    check_resume(
        capsule,
        launch.home,
        launch.resumed,
        launch.flags.resume_mode,
        compacts=compacts(staged_hooks(artifacts)),
    )
    check_forget(capsule, forget=launch.flags.forget_session)


def _pin(name: str, artifact: StagedArtifact, platform: str) -> Pin:
    """A native tool's hash is this platform's; any other's is everybody's."""
    native = artifact.program is not None
    return Pin(
        name=FullName(name),
        resolved_version=artifact.entry.version,
        any=None if native else artifact.sha256,
        platforms={platform: artifact.sha256} if native else {},
    )


def _write_first_lock(prepared: Prepared, artifacts: Mapping[str, StagedArtifact]) -> None:
    """A project without murmur.lock gets one that pins what was just verified.

    One that an install has written since stands as it is.
    """
    pins = tuple(
        _pin(name, each, prepared.platform)
        for name, each in artifacts.items()
        if each.entry.source is None
    )
    path = prepared.launch.lock_file
    if path is None:
        return
    with holding(path.parent):
        if read_lock(path) is None:
            merge_pins(pins, path)


def _harness(
    prepared: Prepared, artifacts: Mapping[str, StagedArtifact], guests: Guests
) -> "LoadedHarness | None":
    """What a process driver says of its harness.

    Raises E-RUN-032, E-CAP-019, E-CAP-021, E-RUN-006 and E-RUN-038.
    """
    inference = prepared.capsule.inference
    if inference is None or inference.transport != "process":
        return None
    from murmur.session.harness.load import load_harness  # late: only such a capsule has one

    return load_harness(prepared, artifacts, guests)


def _script(prepared: Prepared, guests: Guests, scratch: Scratch) -> Script | None:
    if prepared.script is None:
        return None
    cache = compiled_cache(prepared)
    return compile_component(prepared.script, prepared.launch, guests, cache, scratch)
