"""A launched session's harness, wired: what starts it, what it reaches the tools through."""

import asyncio
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from murmur.inference.spend import SpendMeter
from murmur.sandbox.results import CommandResult
from murmur.session.commands import Commands
from murmur.session.deadline import Notice
from murmur.session.dispatch import Dispatcher
from murmur.session.harness.bridge import ToolBridge
from murmur.session.harness.confinement import (
    HARNESS,
    harness_environment,
    open_harness_session,
)
from murmur.session.harness.contract import LaunchPlan
from murmur.session.harness.inbox import Inbox
from murmur.session.harness.load import LoadedHarness
from murmur.session.harness.loop import HarnessLoop, HarnessSettings, Means
from murmur.session.harness.process import HarnessProcess
from murmur.session.harness.sessions import Asked, HarnessSessions
from murmur.session.harness.version import Probed, probe_version, stamp
from murmur.session.history import Keeping
from murmur.session.hooks.turns import TurnHooks
from murmur.session.notices import tell
from murmur.session.stage import Staged
from murmur.trace.writer import TraceWriter

if TYPE_CHECKING:
    from murmur.sandbox.cgroup import Scope
    from murmur.sandbox.plain import PlainSession
    from murmur.sandbox.session import CommandSession


class HarnessRoom:
    """Where the harness of a session runs: its contained session, and the bridge into it.

    Made on the event loop; `close` is the worker's, the rest too.
    """

    def __init__(self, staged: Staged, loaded: LoadedHarness, scope: "Scope | None") -> None:
        """Raises E-IO-003 for a work folder that contained programs cannot use."""
        self._loaded = loaded
        self._loop = asyncio.get_running_loop()
        self._session: CommandSession | PlainSession = open_harness_session(staged, loaded, scope)
        self._bridge = ToolBridge(list(staged.tools.values())) if staged.tools else None
        self._runtime_dir = str(staged.directories.visible_runtime)
        self.env = harness_environment(staged, loaded)
        self.files = staged.directories.runtime_root.sub(HARNESS)
        self.files_path = os.path.realpath(staged.directories.runtime / HARNESS)
        self._probed: tuple[tuple[int, ...], Probed] | None = None

    @property
    def means(self) -> Means:
        return Means(
            start=self._start,
            version=self._version,
            bridge=None if self._bridge is None else self._served_bridge,
        )

    def _start(
        self, argv: Sequence[str], env: Mapping[str, str], plan: LaunchPlan, inbox: Inbox
    ) -> HarnessProcess:
        return HarnessProcess(self._session, self._loop, argv, env, plan, inbox)

    def _version(self) -> Probed:
        """Asked once, and again when the program is another file."""
        now = stamp(self._loaded.binary)
        if self._probed is None or self._probed[0] != now:
            env = {**self.env, "MURMUR_RUNTIME_DIR": self._runtime_dir}
            found = probe_version(self._loaded.description, self._loaded.binary, env, self._run)
            self._probed = now, found
        return self._probed[1]

    def _run(self, argv: Sequence[str], env: Mapping[str, str], seconds: float) -> CommandResult:
        done = self._session.run(argv, env, timeout=seconds)
        # What asking it left running would see the run's files.
        self._session.kill_leftovers()
        return done

    def _served_bridge(self) -> ToolBridge:
        """The bridge, listening in the harness's network from the first run on."""
        assert self._bridge is not None
        if not self._bridge.served:
            self._bridge.serve(self._session.listen())
        return self._bridge

    def close(self) -> None:
        """Kills what still runs of the harness, and lets nobody in any more."""
        if self._bridge is not None:
            self._bridge.close()
        self._session.close()
        self.files.close()


def harness_loop(
    staged: Staged,
    room: HarnessRoom,
    keeping: Keeping,
    dispatcher: Dispatcher,
    commands: Commands | None,
    hooks: TurnHooks,
    system: str,
    trace: TraceWriter,
    meter: SpendMeter,
) -> tuple[HarnessLoop, HarnessSessions]:
    """The loop of a process capsule, and what is remembered of the harness's conversations."""
    inference, loaded = staged.capsule.inference, staged.harness
    assert inference is not None and inference.driver is not None and loaded is not None
    settings = HarnessSettings(
        loaded=loaded,
        model=inference.model,
        system=system,
        driver_config=inference.driver.config,
        max_turns=inference.max_turns,
        meter=meter,
        hooks=hooks,
        files=room.files,
        files_path=room.files_path,
        env=room.env,
        runtime_dir=str(staged.directories.visible_runtime),
        warn=lambda found: tell(staged.directories.records_root, found),
        notice=Notice(
            staged.prepared.launch.deadline, staged.capsule.lifecycle.deadline_notice_secs
        ),
        before_run=commands.refuse_overfull if commands is not None else lambda: None,
    )
    sessions = HarnessSessions(
        keeping,
        harness=loaded.description.harness,
        driver=loaded.driver.label,
        always=staged.prepared.launch.context_id,
        forget_first=staged.prepared.launch.flags.forget_session,
        told=lambda context_id, session_id, asked: _forgotten(trace, context_id, session_id, asked),
    )
    return HarnessLoop(settings, room.means, sessions, dispatcher, trace), sessions


def _forgotten(trace: TraceWriter, context_id: str, session_id: str, asked: Asked) -> None:
    trace.write(
        "harness_session_forgotten",
        context_id=context_id,
        harness_session_id=session_id,
        requested_by=asked,
    )
