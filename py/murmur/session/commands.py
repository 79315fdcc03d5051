"""Shell commands of a session: contained runs and what the model reads of them.

spec/sessions.md 14.2 and 14.3. One `CommandSession` holds the session's namespaces; the cgroup
scope bounds all of its commands together.
"""

import contextlib
import dataclasses
import threading
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from murmur.core.diagnostics import warning
from murmur.core.ids import new_id
from murmur.sandbox.ceiling import CeilingReached
from murmur.sandbox.cgroup import Scope, create_scope, sweep, try_scope
from murmur.sandbox.environment import command_environment
from murmur.sandbox.hierarchy import Blocked
from murmur.sandbox.policy import CommandPolicy
from murmur.sandbox.results import CommandResult, NotAllowed, RootNotComposed, SetUpFailed
from murmur.sandbox.running import run_to_end
from murmur.sandbox.session import CommandSession, open_session
from murmur.session.answers import Answer
from murmur.session.attempt import Attempt
from murmur.session.background import Background, Detached
from murmur.session.command_output import CommandOutput
from murmur.session.command_policy import command_policy
from murmur.session.demands import command_resources
from murmur.session.egress import open_egress
from murmur.session.folder_guard import FolderGuard
from murmur.session.guest_calls import identity_environment, inference_environment
from murmur.session.native_tools import native_answer, native_input, program_paths
from murmur.session.notices import tell
from murmur.session.shell_text import ShellCommand, result_text
from murmur.session.stage import Staged

if TYPE_CHECKING:
    from murmur.sandbox.plain import PlainSession

# When a command without any grace is looked at for the first time.
_FIRST_CHECK_S: Final = 0.05


@dataclasses.dataclass(frozen=True, slots=True)
class CommandDone:
    """A command that ran, or `failure`: why it did not.

    One that was moved to the background has a `work_id`, and `text` names its log. `stdout` and
    `stderr` are whole.
    """

    binary: str
    failure: str | None = None
    work_id: str | None = None
    exit_code: int = -1
    text: str = ""
    truncated: bool = False
    stdout: bytes = b""
    stderr: bytes = b""
    duration_ms: int = 0
    resource_limit: str | None = None


class Commands:
    """Runs the binaries of `shell.allow`.

    `background` takes over those that outlive `lifecycle.shell_grace_secs`, or their task; it is
    there once `use_background` was called, as the session of an agent does.
    """

    def __init__(
        self,
        staged: Staged,
        policy: CommandPolicy,
        scope: Scope | None,
        session: "CommandSession | PlainSession",
        env: dict[str, str],
    ) -> None:
        self._background: Background | None = None
        self._guard: FolderGuard | None = None
        self._natives = program_paths(staged.directories, staged.artifacts.values())
        self._grace_s = staged.capsule.lifecycle.shell_grace_secs
        self._policy = policy
        self._scope = scope
        self._session = session
        self._env = env
        self._records = staged.directories.records_root
        self._records_path = str(staged.directories.records)

    @property
    def policy(self) -> CommandPolicy:
        return self._policy

    @property
    def background(self) -> Background:
        assert self._background is not None
        return self._background

    def use_background(self, background: Background) -> None:
        """Where commands go that outlive their grace. From here on the folders are watched."""
        self._background = background
        self._guard = FolderGuard(self._session.look_at_folders)

    @property
    def scope(self) -> Scope | None:
        return self._scope

    @property
    def session(self) -> "CommandSession | PlainSession":
        """Where programs that no shell tool asked for are started: under the same policy."""
        return self._session

    def environment(self, given: Mapping[str, str]) -> dict[str, str]:
        """A command's environment with more variables; the runtime's own names are not given."""
        own = {"HOME", "TMPDIR", "TMP", "TEMP"}
        more = {
            name: value
            for name, value in given.items()
            if name not in own and not name.startswith("MURMUR_")
        }
        return self._env | more

    def run(self, command: ShellCommand, attempt: Attempt, turn: int) -> CommandDone:
        """Runs one command until it ends, its grace is over or its task is cancelled; what the
        command does is never an exception. Raises E-RUN-014 where no command can ever run."""
        known = self._policy.binaries.get(command.binary)
        if known is None:
            return CommandDone(
                command.binary, failure=f"{command.binary} was not found on PATH at launch"
            )
        output = CommandOutput(self._records, self._policy.demands.resources.workdir_max_bytes)
        began, started_at_ms = time.monotonic(), time.time_ns() // 1_000_000
        try:
            running = self._session.start(command.argv, self._env, on_output=output.take)
        except RootNotComposed as lost:
            raise lost.refusal from None
        except (SetUpFailed, NotAllowed) as failure:
            return CommandDone(known.path, failure=_not_started(failure))
        detached = Detached(
            work_id=new_id("wrk"),
            task_id=attempt.task_id,
            context_id=attempt.history.context_id,
            binary=known.path,
            command=command.line,
            running=running,
            output=output,
            began=began,
            started_at_ms=started_at_ms,
        )
        self.background.foreground(attempt.task_id, detached.residue())
        done = running.wait(max(self._grace_s, _FIRST_CHECK_S), attempt.cancel)
        if done is None:
            return self._detach(detached, attempt, turn)
        self.background.foreground(attempt.task_id, None)
        if done.set_up_failure is not None:
            return CommandDone(known.path, failure=done.set_up_failure)
        return self._ended(command, known.path, done)

    def path_of(self, binary: str) -> str:
        """Where the binary lies, as the trace says it; its name when it was not found."""
        known = self._policy.binaries.get(binary)
        return binary if known is None else known.path

    def complete(self, argv: Sequence[str], cancel: threading.Event) -> CommandResult:
        """Runs a command of `shell.allow` to its end, whatever its time; a cancel stops it."""
        try:
            return self._session.run(argv, self._env, cancel=cancel)
        except NotAllowed:
            missing = f"{argv[0]} was not found on PATH at launch"
            return CommandResult(-1, b"", b"", 0, set_up_failure=missing)

    def call_native(self, name: str, data: str, cancel: threading.Event) -> Answer:
        """Runs a native tool to its end, and its output's end; a cancel stops it."""
        program = self._natives[name]
        given = native_input(data)
        done = run_to_end(
            lambda: self._session.start([program], self._env, given=given), None, cancel
        )
        return native_answer(name, done)

    def refuse_overfull(self) -> None:
        """Raises E-RUN-013 once the session's folders hold more than they may."""
        try:
            self._session.check_ceiling()
        except CeilingReached as reached:
            raise reached.refusal from None

    def check(self, argv: list[str], timeout: float, cancel: threading.Event) -> CommandResult:
        """Runs a command of the runtime's own, which never moves to the background.

        It is killed at `timeout` seconds or on `cancel`. Raises NotAllowed and SetUpFailed.
        """
        if not argv:
            raise NotAllowed("the command is empty")
        return self._session.run(argv, self._env, timeout=timeout, cancel=cancel)

    def _detach(self, detached: Detached, attempt: Attempt, turn: int) -> CommandDone:
        """Moves a command that still runs to the background."""
        cancelled = attempt.cancel.is_set()
        if cancelled:
            attempt.interrupted.phase = "shell"
        self.background.adopt(detached, turn, None if cancelled else self._grace_s * 1000)
        return CommandDone(
            detached.binary,
            work_id=detached.work_id,
            text=f"{self._records_path}/{detached.log}",
        )

    def _ended(self, command: ShellCommand, path: str, done: CommandResult) -> CommandDone:
        shown = result_text(
            command,
            done.exit_code,
            done.stdout,
            done.stderr,
            records=self._records,
            records_path=self._records_path,
            discarded=done.discarded_bytes,
            now_ms=time.time_ns() // 1_000_000,
        )
        return CommandDone(
            binary=path,
            exit_code=done.exit_code,
            text=shown.data,
            truncated=shown.truncated,
            stdout=done.stdout,
            stderr=done.stderr,
            duration_ms=done.duration_ms,
            resource_limit=done.resource_limit,
        )

    def close(self) -> None:
        """Accounts for the background, kills what still runs and removes the scope."""
        if self._guard is not None:
            self._guard.close()
        try:
            if self._background is not None:
                self._background.give_up()
            self._session.close()
            if self._background is not None:
                self._background.join()
        finally:
            if self._scope is not None:
                self._scope.remove()


def open_scope(staged: Staged) -> Scope | None:
    """The cgroup scope around all commands of a session.

    None when the capsule can start none, on a system without cgroups, and where the operator lets
    this host do without one. Raises E-RUN-012; warns W-SEC-010, W-SEC-021 and W-SEC-035.
    """
    if not staged.prepared.may_start_commands:
        return None
    records = staged.directories.records_root
    if not staged.containment.reading.linux:
        tell(records, warning("W-SEC-010"))
        return None
    with contextlib.suppress(OSError):
        sweep()  # of runtimes that were killed
    demanded = command_resources(staged.capsule.capabilities.resources)
    workdir = str(staged.directories.work)
    if not staged.prepared.config.cgroup_optional:
        scope = create_scope(staged.session_id, demanded, workdir)
    else:
        try:
            scope = try_scope(staged.session_id, demanded, workdir)
        except Blocked as blocked:
            tell(records, warning("W-SEC-035", reason=blocked.reason))
            return None
    if scope.io_refusal is not None:
        limit = demanded.cgroup_io_bytes_per_sec
        tell(records, warning("W-SEC-021", bytes_per_sec=limit, reason=scope.io_refusal))
    return scope


def _not_started(failure: SetUpFailed | NotAllowed) -> str:
    """Why a command was not started, as its result says it."""
    if isinstance(failure, SetUpFailed):
        return failure.result().set_up_failure or failure.detail
    return f"{failure} is not in shell.allow"


def open_commands(staged: Staged, scope: Scope | None, url: str) -> Commands | None:
    """The session's commands, within `scope`; None when the capsule can start none.

    What they reach of the world is served by the running event loop.

    Raises E-IO-003 as `command_policy` does.
    """
    if not staged.prepared.may_start_commands:
        return None
    capabilities = staged.capsule.capabilities
    host = staged.prepared.launch.environ
    shell = capabilities.shell
    policy = command_policy(staged)
    env = command_environment(
        host,
        inference_environment(staged) | identity_environment(staged, url),
        home=policy.folders.home,
        tmpdir=policy.tmpdir,
        runtime_dir=policy.folders.runtime,
        baseline_env=shell.baseline_env if shell is not None else (),
        strip_env=shell.strip_env if shell is not None else (),
    )
    egress = open_egress(staged, staged.capsule.capabilities.network_allow)
    session = open_session(policy, scope, staged.containment.helper, egress)
    return Commands(staged, policy, scope, session, env)
