"""A session's commands: started one or many at a time, all dead when it is closed.

spec/containment.md 9, 19 to 23. Output of processes that outlive their command is read and thrown
away by one thread, started when that first happens: closing the pipe would kill a server that a
later command wants to reach, and nobody else has a reason to wait for it.
"""

import os
import select
import socket
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from murmur.sandbox import resources
from murmur.sandbox.binaries import Binary
from murmur.sandbox.ceiling import Ceiling
from murmur.sandbox.cgroup import Events, Scope
from murmur.sandbox.holder import Holder, start_holder
from murmur.sandbox.launchspec import LaunchSpec, encode, memfd
from murmur.sandbox.leftovers import kill_leftovers
from murmur.sandbox.mur_sandbox import above_stdio, spawn
from murmur.sandbox.policy import CommandPolicy
from murmur.sandbox.reaching import connect_inside, listen_inside
from murmur.sandbox.reports import Report
from murmur.sandbox.results import CommandResult, NotAllowed, SessionEnded, SetUpFailed
from murmur.sandbox.running import OnOutput, RunningCommand, Stream, run_to_end, signal_limit

if TYPE_CHECKING:
    from murmur.sandbox.egress.service import Egress
    from murmur.sandbox.plain import PlainSession

_DRAIN_CHECK_S: Final = 0.2
_CLOSE_S: Final = 5.0


def open_session(
    policy: CommandPolicy,
    scope: Scope | None,
    helper: Path | None,
    egress: "Egress | None" = None,
) -> "CommandSession | PlainSession":
    """The session for a policy's tier; both kinds have the same methods. No helper is needed at the
    environment-only tier; elsewhere its lack is a ValueError."""
    if policy.tier == "Environment-only":
        from murmur.sandbox.plain import PlainSession

        return PlainSession(policy, scope)
    if helper is None:
        raise ValueError("commands of this tier need mur-sandbox")
    return CommandSession(policy, scope, helper, egress)


class CommandSession:
    """Runs the commands of one session below its policy. Thread-safe.

    The holder is started at the first command. `scope` None is the operator's waiver: rlimits
    alone. Without an `egress` nothing answers in the session's network.
    """

    def __init__(
        self,
        policy: CommandPolicy,
        scope: Scope | None,
        helper: Path,
        egress: "Egress | None" = None,
    ) -> None:
        self._policy = policy
        self._scope = scope
        self._helper = helper
        self._egress = egress
        self._lock = threading.Lock()
        self._holder: Holder | None = None
        self._closed = False
        self._devnull = above_stdio(os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC))
        self._running: dict[RunningCommand, tuple[Events | None, bool]] = {}
        self._drain: _Drain | None = None
        self._ceiling = Ceiling(policy.folders.counted, policy.demands.resources.workdir_max_bytes)

    def run(
        self,
        argv: Sequence[str],
        env: Mapping[str, str],
        cwd: str | None = None,
        timeout: float | None = None,
        cancel: threading.Event | None = None,
    ) -> CommandResult:
        """Runs a command to its end. After `timeout` seconds, or once `cancel` is set, it is
        stopped and the result says so.

        `argv[0]` is a name of `shell.allow`; `cwd` a folder in the work folder, the work folder if
        not given. Raises NotAllowed. A set-up that fails is a result, not an exception.
        """
        return run_to_end(lambda: self.start(argv, env, cwd), timeout, cancel)

    def start(
        self,
        argv: Sequence[str],
        env: Mapping[str, str],
        cwd: str | None = None,
        *,
        given: bytes | None = None,
        stdin: int | None = None,
        on_output: OnOutput | None = None,
    ) -> RunningCommand:
        """Starts a command for the caller to drive. Raises NotAllowed, SessionEnded, SetUpFailed.

        `given` is all of its standard input, which is empty without, or `stdin` a descriptor that
        it reads from, and that stays the caller's; `on_output` is called with every piece of
        output.
        """
        binary = self._policy.binaries.get(argv[0])
        if binary is None:
            raise NotAllowed(argv[0])
        with self._lock:
            if self._closed:
                raise SessionEnded()
            self._ceiling.check()
            if self._holder is None:
                self._holder = self._start_holder()
            try:
                command = self._launch(
                    self._holder, binary, argv, env, self._relative(cwd), given, stdin
                )
            except OSError as failure:
                raise SetUpFailed(f"relay: {failure}") from failure
        command.on_output = on_output
        return command

    def listen(self) -> socket.socket:
        """A listener on a free loopback port inside the session's network, which is made for it.

        Raises SessionEnded, SetUpFailed, and OSError where that network cannot be entered.
        """
        with self._lock:
            if self._closed:
                raise SessionEnded()
            if self._holder is None:
                self._holder = self._start_holder()
            pidfd = os.dup(self._holder.pidfd)
        try:
            return listen_inside(pidfd)
        finally:
            os.close(pidfd)

    def connect(self, port: int, seconds: float) -> socket.socket:
        """A connection to a loopback port inside the session's network. Raises OSError."""
        with self._lock:
            if self._holder is None or self._closed:
                raise OSError("nothing was started in the session's network")
            pidfd = os.dup(self._holder.pidfd)
        try:
            return connect_inside(pidfd, port, seconds)
        finally:
            os.close(pidfd)

    def kill_leftovers(self) -> None:
        """Kills all that its commands left running, and whatever else runs of it; the session goes
        on. Raises OSError where that could not be done."""
        with self._lock:
            if self._holder is None or self._closed:
                return
            pidfd = os.dup(self._holder.pidfd)
        try:
            kill_leftovers(pidfd)
        finally:
            os.close(pidfd)

    def _start_holder(self) -> Holder:
        ports = self._egress.ports if self._egress is not None else None
        try:
            holder = start_holder(self._helper, self._policy, self._devnull, ports)
        except OSError as failure:
            raise SetUpFailed(f"holder: {failure}") from failure
        if self._egress is not None:
            dns, *listeners = holder.way_out
            self._egress.serve(dns, listeners)
        return holder

    def check_ceiling(self) -> None:
        """Raises CeilingReached once the work folder holds too much."""
        with self._lock:
            self._ceiling.check()

    def look_at_folders(self) -> None:
        """Measures them while commands run, so that `check_ceiling` knows."""
        if self._running:
            self._ceiling.look()

    def _relative(self, cwd: str | None) -> str:
        if cwd is None:
            return ""
        below = os.path.relpath(os.path.join(self._policy.folders.workdir, cwd),
                                self._policy.folders.workdir)  # fmt: skip
        if below == ".." or below.startswith("../"):
            raise SetUpFailed(f"work folder: {cwd} lies outside")
        return "" if below == "." else below

    def _launch(
        self,
        holder: Holder,
        binary: Binary,
        argv: Sequence[str],
        env: Mapping[str, str],
        cwd: str,
        given: bytes | None,
        stdin: int | None,
    ) -> RunningCommand:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        pipes = [*os.pipe2(os.O_CLOEXEC), *os.pipe2(os.O_CLOEXEC)]
        out_read, out_write, err_read, err_write = (above_stdio(each) for each in pipes)
        report_fd = above_stdio(theirs.detach())
        spec_fd = given_fd = -1
        try:
            if given is not None:
                given_fd = above_stdio(_to_read(given))
            elif stdin is not None:
                given_fd = above_stdio(os.dup(stdin))
            spec = self._run_spec(holder, report_fd, binary.path, argv, env, cwd)
            spec_fd = above_stdio(memfd(encode(spec)))
            before = self._scope.events() if self._scope is not None else None
            kept = (
                spec_fd, report_fd, holder.pidfd, holder.workdir, holder.ruleset, *spec.scope_fds
            )  # fmt: skip
            source = self._devnull if given_fd < 0 else given_fd
            pid = spawn(self._helper, ["run", str(spec_fd)], (source, out_write, err_write), kept)
        except BaseException as failure:
            ours.close()
            os.close(out_read)
            os.close(err_read)
            if isinstance(failure, ValueError):
                raise SetUpFailed(f"launch spec: {failure}") from failure
            raise
        finally:
            for descriptor in (out_write, err_write, report_fd, spec_fd, given_fd):
                if descriptor >= 0:
                    os.close(descriptor)
        outputs: dict[int, Stream] = {out_read: "stdout", err_read: "stderr"}
        command = RunningCommand(
            pid, ours, outputs, self._finished, self._leave, _exec_hint(binary, self._policy)
        )
        alone = not self._running
        if not alone:
            self._running = {each: (old, False) for each, (old, _) in self._running.items()}
        self._running[command] = (before, alone)
        return command

    def _run_spec(
        self,
        holder: Holder,
        report_fd: int,
        program: str,
        argv: Sequence[str],
        env: Mapping[str, str],
        cwd: str,
    ) -> LaunchSpec:
        flags, seccomp = ["SECCOMP"], []
        if holder.ruleset >= 0:
            flags.append("LANDLOCK")
        if self._policy.demands.unix_sockets:
            seccomp.append("UNIX_SOCKETS")
        # memfd_noexec stops exec alone; `ld.so /proc/self/fd/N` would map the code all the same.
        if self._policy.workdir_noexec or not holder.memfd_noexec:
            seccomp.append("NO_MEMFD")
        limits = self._policy.limits
        if self._scope is None:
            limits = (*limits, resources.process_limit(self._policy.demands.resources))
        return LaunchSpec(
            verb="RUN",
            flags=flags,
            seccomp=seccomp,
            report_fd=report_fd,
            holder_fd=holder.pidfd,
            ruleset_fd=holder.ruleset,
            cwd_fd=holder.workdir,
            scope_fds=self._scope.procs if self._scope is not None else (),
            program=program,
            cwd=cwd,
            arguments=argv,
            variables=[f"{name}={value}" for name, value in env.items()],
            limits=limits,
        )

    def _finished(self, command: RunningCommand, ended: Report | None) -> str | None:
        """Forgets a command that has ended; the limit that ended it, if the kernel says so."""
        with self._lock:
            before, alone = self._running.pop(command, (None, False))
            self._ceiling.ended()
        if ended is None:
            return None
        by_signal = signal_limit(ended.status)
        if by_signal is not None or before is None or not alone or self._scope is None:
            return by_signal
        now = self._scope.events()
        if now.oom_kill > before.oom_kill:
            return "cgroup_memory_bytes"
        return "cgroup_pids_max" if now.pids_max > before.pids_max else None

    def _leave(self, descriptors: list[int]) -> None:
        with self._lock:
            if self._drain is None:
                self._drain = _Drain()
            self._drain.add(descriptors)

    def close(self) -> bool:
        """Kills every process that the session started; whether all are gone. Safe to call again.

        Closes the egress too; the scope stays for its owner to remove.
        """
        with self._lock:
            self._closed = True
            holder, self._holder = self._holder, None
            running = list(self._running)
        for command in running:
            command.kill()
        gone = self._scope.kill() if self._scope is not None else True
        if holder is not None:
            gone = holder.end() and gone
        if self._egress is not None:
            self._egress.close()
        deadline = time.monotonic() + _CLOSE_S
        for command in running:
            gone = command.wait(max(0.0, deadline - time.monotonic())) is not None and gone
        with self._lock:
            drain, self._drain = self._drain, None
            if self._devnull >= 0:
                os.close(self._devnull)
                self._devnull = -1
        if drain is not None:
            drain.close()
        return gone


class _Drain:
    """Reads abandoned pipes until their writers are gone."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._descriptors: set[int] = set()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._work, name="murmur-drain", daemon=True)
        self._thread.start()

    def add(self, descriptors: Sequence[int]) -> None:
        with self._lock:
            self._descriptors.update(descriptors)

    def close(self) -> None:
        self._closing.set()
        self._thread.join(_DRAIN_CHECK_S * 10)

    def _work(self) -> None:
        while True:
            with self._lock:
                watched = list(self._descriptors)
            poll = select.poll()
            for descriptor in watched:
                poll.register(descriptor, select.POLLIN)
            for descriptor, _ in poll.poll(_DRAIN_CHECK_S * 1000):
                self._read(descriptor)
            if self._closing.is_set():
                for descriptor in self._descriptors:
                    os.close(descriptor)
                return

    def _read(self, descriptor: int) -> None:
        try:
            if os.read(descriptor, 1 << 16):
                return
        except BlockingIOError:
            return
        with self._lock:
            self._descriptors.discard(descriptor)
        os.close(descriptor)


def _to_read(data: bytes) -> int:
    """A descriptor that yields these bytes and then ends."""
    descriptor = memfd(data)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _exec_hint(binary: Binary, policy: CommandPolicy) -> str:
    """What else to say when the kernel refuses to execute this binary."""
    if binary.interpreter is None or binary.interpreter in policy.binaries:
        return ""
    return (
        f"; it is a script for {binary.interpreter}, which is not in shell.allow: "
        f"allow that too, or another {binary.name} on PATH"
    )
