"""Commands on a system that is not Linux: the environment-only tier. spec/containment.md 2.

No kernel mechanism: the environment is made, rlimits are set by a shell on the way to the command,
and every process lies in one process group per session. The group's first member is a guard that
reads from the runtime; when the runtime goes, whether it says so or is killed, the guard kills the
group. Two threads a command read its output, since pipes cannot be polled everywhere.
"""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from typing import IO, Final

from murmur.sandbox.ceiling import Ceiling
from murmur.sandbox.cgroup import Scope
from murmur.sandbox.policy import CommandPolicy
from murmur.sandbox.resources import RLIMIT_AS, RLIMIT_CORE, RLIMIT_CPU, RLIMIT_FSIZE, RLIMIT_NOFILE
from murmur.sandbox.results import CommandResult, NotAllowed, SessionEnded, SetUpFailed
from murmur.sandbox.running import (
    CAPTURE_BYTES,
    KILL_S,
    TERMINATE_S,
    OnOutput,
    Stream,
    run_to_end,
)

_CHECK_S: Final = 0.05
_LINGER_S: Final = 0.1

# ulimit's letters and how many bytes one of its units has.
_ULIMIT: Final = {
    RLIMIT_NOFILE: ("n", 1),
    RLIMIT_FSIZE: ("f", 512),
    RLIMIT_CPU: ("t", 1),
    RLIMIT_AS: ("v", 1024),
    RLIMIT_CORE: ("c", 512),
}

# The shell joins the scope's cgroups and sets the limits; it says so and gives up if it cannot.
# macOS knows no -v, which is left out.
_LIMITED: Final = (
    'for g in $1; do echo 0 >"$g" || exit 125; done; '
    'for l in $2; do ulimit "-${l%%=*}" "${l#*=}" || exit 125; done; shift 2; exec "$@"'
)


class PlainCommand:
    """As running.RunningCommand, without a relay: signals reach the command's own process only."""

    def __init__(
        self, process: "subprocess.Popen[bytes]", on_output: OnOutput | None = None
    ) -> None:
        self.on_output = on_output
        self._keeps = True
        self._process = process
        self._started_at = time.monotonic()
        self._kept: dict[Stream, list[bytes]] = {"stdout": [], "stderr": []}
        self._discarded = 0
        self._timed_out = self._cancelled = False
        self._result: CommandResult | None = None
        streams: dict[Stream, IO[bytes] | None] = {
            "stdout": process.stdout,
            "stderr": process.stderr,
        }
        self._readers = [
            threading.Thread(target=self._read, args=(name, pipe), daemon=True)
            for name, pipe in streams.items()
        ]
        for reader in self._readers:
            reader.start()

    @property
    def result(self) -> CommandResult | None:
        """The result, once the command has ended and its output is read."""
        return self._result

    def _read(self, stream: Stream, pipe: IO[bytes]) -> None:
        with pipe:
            kept = 0
            while data := os.read(pipe.fileno(), 1 << 16):
                if self.on_output is not None:
                    self.on_output(stream, data)
                part = data[: max(0, CAPTURE_BYTES - kept)] if self._keeps else b""
                kept += len(part)
                self._discarded += len(data) - len(part)
                if part and self._result is None:
                    self._kept[stream].append(part)

    def wait(
        self, timeout: float | None = None, cancel: threading.Event | None = None
    ) -> CommandResult | None:
        """As RunningCommand.wait."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while self._result is None:
            step = _CHECK_S
            if deadline is not None:
                step = min(step, deadline - time.monotonic())
            if step <= 0 or (cancel is not None and cancel.is_set()):
                return None
            try:
                code = self._process.wait(step)
            except subprocess.TimeoutExpired:
                continue
            self._settle(code)
        return self._result

    def _settle(self, code: int) -> None:
        ended_at = time.monotonic()
        for reader in self._readers:
            reader.join(max(0.0, ended_at + _LINGER_S - time.monotonic()))
        self._result = CommandResult(
            exit_code=code if code >= 0 else 128 - code,
            stdout=b"".join(self._kept["stdout"]),
            stderr=b"".join(self._kept["stderr"]),
            duration_ms=round((ended_at - self._started_at) * 1000),
            resource_limit=_limit_of(code),
            timed_out=self._timed_out,
            cancelled=self._cancelled,
            discarded_bytes=self._discarded,
            signal=-code if code < 0 else None,
        )

    def let_go(self) -> None:
        """As RunningCommand.let_go."""
        self._keeps = False
        for pieces in self._kept.values():
            pieces.clear()

    def interrupt(self) -> None:
        """SIGINT to the command; nothing if it has ended."""
        self._process.send_signal(signal.SIGINT)

    def terminate(self) -> None:
        """SIGTERM to the command; nothing if it has ended."""
        self._process.terminate()

    def kill(self) -> None:
        """SIGKILL to the command; nothing if it has ended."""
        self._process.kill()

    def stop(
        self, terminate_s: float = TERMINATE_S, kill_s: float = KILL_S
    ) -> CommandResult | None:
        """As RunningCommand.stop."""
        self.terminate()
        result = self.wait(terminate_s)
        if result is None:
            self.kill()
            result = self.wait(kill_s)
        return result

    def mark(self, *, timed_out: bool = False, cancelled: bool = False) -> None:
        """As RunningCommand.mark."""
        self._timed_out |= timed_out
        self._cancelled |= cancelled


class PlainSession:
    """As session.CommandSession, for a policy of the environment-only tier.

    There is a `scope` on a Linux that has cgroups and no seccomp.
    """

    def __init__(self, policy: CommandPolicy, scope: Scope | None = None) -> None:
        self._policy = policy
        self._scope = scope
        self._lock = threading.Lock()
        self._guard: subprocess.Popen[bytes] | None = None
        self._running: list[PlainCommand] = []
        self._closed = False
        self._ceiling = Ceiling(policy.folders.counted, policy.demands.resources.workdir_max_bytes)

    def start(
        self,
        argv: Sequence[str],
        env: Mapping[str, str],
        cwd: str | None = None,
        *,
        given: bytes | None = None,
        stdin: int | None = None,
        on_output: OnOutput | None = None,
    ) -> PlainCommand:
        """As CommandSession.start."""
        binary = self._policy.binaries.get(argv[0])
        if binary is None:
            raise NotAllowed(argv[0])
        folder = os.path.join(self._policy.folders.workdir, cwd or "")
        with self._lock:
            if self._closed:
                raise SessionEnded()
            self._ceiling.ended()
            self._ceiling.check()
            try:
                process = self._popen([binary.path, *argv[1:]], env, folder, given, stdin)
                command = PlainCommand(process, on_output)
            except (OSError, ValueError) as failure:
                raise SetUpFailed(f"exec: {failure}") from failure
            self._running = [each for each in self._running if each.result is None]
            self._running.append(command)
            return command

    def listen(self) -> socket.socket:
        """A listener on a free loopback port of the host. Raises OSError."""
        return socket.create_server(("127.0.0.1", 0))

    def kill_leftovers(self) -> None:
        """As CommandSession.kill_leftovers. The next command's group is another."""
        with self._lock:
            guard, self._guard = self._guard, None
        if guard is not None:
            _end(guard)

    def check_ceiling(self) -> None:
        """As CommandSession.check_ceiling."""
        with self._lock:
            self._ceiling.ended()
            self._ceiling.check()

    def look_at_folders(self) -> None:
        """As CommandSession.look_at_folders."""
        if self._running:
            self._ceiling.look()

    def _popen(
        self,
        argv: Sequence[str],
        env: Mapping[str, str],
        folder: str,
        given: bytes | None,
        stdin: int | None,
    ) -> "subprocess.Popen[bytes]":
        with contextlib.ExitStack() as closing:
            source: IO[bytes] | int = subprocess.DEVNULL if stdin is None else stdin
            if given is not None:
                source = closing.enter_context(tempfile.TemporaryFile())
                source.write(given)
                source.seek(0)
            return self._start(argv, env, folder, source)

    def _start(
        self, argv: Sequence[str], env: Mapping[str, str], folder: str, stdin: IO[bytes] | int
    ) -> "subprocess.Popen[bytes]":
        if os.name != "posix":
            return subprocess.Popen(
                argv,
                env=dict(env),
                cwd=folder,
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        if self._guard is None:
            self._guard = subprocess.Popen(
                ["/bin/sh", "-c", "read line; kill -KILL 0"],
                env={},
                cwd="/",
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                process_group=0,
            )
        return subprocess.Popen(
            ["/bin/sh", "-c", _LIMITED, "sh", self._groups(), self._limits(), *argv],
            env=dict(env),
            cwd=folder,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            process_group=self._guard.pid,
        )

    def _groups(self) -> str:
        folders = self._scope.folders if self._scope is not None else ()
        return " ".join(f"{folder}/cgroup.procs" for folder in folders)

    def _limits(self) -> str:
        words = []
        for limit in self._policy.limits:
            letter, unit = _ULIMIT[limit.resource]
            if letter == "v" and sys.platform == "darwin":
                continue
            words.append(f"{letter}={limit.soft // unit}")
        return " ".join(words)

    def run(
        self,
        argv: Sequence[str],
        env: Mapping[str, str],
        cwd: str | None = None,
        timeout: float | None = None,
        cancel: threading.Event | None = None,
    ) -> CommandResult:
        """As CommandSession.run."""
        return run_to_end(lambda: self.start(argv, env, cwd), timeout, cancel)

    def close(self) -> bool:
        """As CommandSession.close."""
        with self._lock:
            self._closed = True
            guard, self._guard = self._guard, None
            running, self._running = self._running, []
        if guard is not None:
            _end(guard)
        if self._scope is not None:
            self._scope.kill()
        for command in running:
            command.kill()
        left = [command for command in running if command.wait(KILL_S) is None]
        return not left


def _end(guard: "subprocess.Popen[bytes]") -> None:
    """Kills the group that this is the first of."""
    # Not reaped yet, so its number, which is the group's, is nobody else's.
    os.killpg(guard.pid, signal.SIGKILL)
    guard.wait()
    if guard.stdin is not None:
        guard.stdin.close()


def _limit_of(code: int) -> str | None:
    if os.name != "posix":
        return None
    return {-signal.SIGXCPU: "cpu_seconds", -signal.SIGXFSZ: "max_file_size_bytes"}.get(code)
