"""`murmur:shell/execute`: a script capsule runs a program of `shell.allow`, contained.

spec/artifacts.md 3. The program and its arguments are taken as they are, no shell between; a
non-zero exit is data, and an `err` means that nothing ran.
"""

import shlex
import time

from murmur.core.safefs import Root
from murmur.guest.questions import Answer, Err, Ok, Question
from murmur.read_only.check import refusal_text
from murmur.sandbox.results import CommandResult
from murmur.session.commands import Commands
from murmur.session.protection import Protection
from murmur.session.shell_text import STREAM_LIMIT, ShellCommand, result_text
from murmur.trace.writer import TraceWriter


class ShellExecution:
    """Answers `run(binary, args, env)`."""

    def __init__(
        self,
        commands: Commands | None,
        protection: Protection | None,
        records: Root,
        records_path: str,
        trace: TraceWriter,
    ) -> None:
        self._commands = commands
        self._protection = protection
        self._records = records
        self._records_path = records_path
        self._trace = trace

    def __call__(self, question: Question) -> Answer:
        binary, args, env = question.arguments
        argv = [binary, *args]
        if self._commands is None or binary not in self._commands.policy.binaries:
            return Err(f"'{binary}' is not in capabilities.shell.allow, or was not found on PATH")
        write = self._protection.write_of_command(binary, argv) if self._protection else None
        if write is not None:
            text = refusal_text(binary, write)
            self._trace.write(
                "protected_path_denied",
                turn=0,
                call="shell",
                target=binary,
                path=write.path,
                rule=write.rule,
                signal=write.signal,
                reason=text,
            )
            return Err(text)
        try:
            done = self._commands.session.run(
                argv,
                self._commands.environment(dict(env)),
                timeout=max(0.0, question.deadline - time.monotonic()),
                cancel=question.cancel,
            )
        except ValueError as bad:
            return Err(f"shell execution failed: {bad}")
        if done.set_up_failure is not None:
            return Err(f"shell execution failed: {done.set_up_failure}")
        self._record(binary, argv, done)
        return Ok(self._result(argv, done))

    def _record(self, binary: str, argv: list[str], done: CommandResult) -> None:
        assert self._commands is not None
        self._trace.write(
            "shell",
            turn=0,
            task_id=None,
            binary=self._commands.policy.binaries[binary].path,
            command=argv[1:],
            exit_code=done.exit_code,
            stdout_bytes=len(done.stdout),
            stderr_bytes=len(done.stderr),
            duration_ms=done.duration_ms,
            resource_limit=done.resource_limit,
        )

    def _result(self, argv: list[str], done: CommandResult) -> dict[str, object]:
        line = shlex.join(argv)
        shown = result_text(
            ShellCommand(argv[0], argv, line, line),
            done.exit_code,
            done.stdout,
            done.stderr,
            records=self._records,
            records_path=self._records_path,
            now_ms=time.time_ns() // 1_000_000,
        )
        return {
            "exit-code": done.exit_code,
            "stdout": _text(done.stdout),
            "stderr": _text(done.stderr),
            "truncated": shown.truncated,
            "full-output-path": shown.log,
        }


def _text(output: bytes) -> str:
    return output[:STREAM_LIMIT].decode("utf-8", "replace")
