"""What a shell tool takes and what it answers. spec/sessions.md 14.1 and 14.3."""

import dataclasses
from collections.abc import Sequence
from typing import Final

from murmur.core.safefs import Root
from murmur.core.words import split_words
from murmur.session.inventory import INTERPRETERS

STREAM_LIMIT: Final = 16384
PARSING_FAILED: Final = "shell command parsing failed"


class BadCommand(ValueError):
    """A call whose `command` is missing, blank or no string."""


@dataclasses.dataclass(frozen=True, slots=True)
class ShellCommand:
    """A command ready to run. `shown` is what the trace and the `$` line of the result show."""

    binary: str
    argv: Sequence[str]
    shown: str
    line: str


def read_command(binary: str, arguments: object) -> ShellCommand:
    """The argv of a call. Raises BadCommand."""
    command = arguments.get("command") if isinstance(arguments, dict) else None
    if not isinstance(command, str) or not command.strip():
        raise BadCommand(f"{PARSING_FAILED}: `command` must be a non-blank string")
    line = command.strip()
    if "\0" in line:
        raise BadCommand(f"{PARSING_FAILED}: `command` holds a NUL character")
    if binary in INTERPRETERS:
        return ShellCommand(binary, (binary, "-c", line), line, line)
    return ShellCommand(binary, (binary, *split_words(line)), f"{binary} {line}", line)


@dataclasses.dataclass(frozen=True, slots=True)
class ShellText:
    """The result's text and metadata; `log` names the file that holds the whole output."""

    data: str
    summary: str
    truncated: bool
    log: str | None


def result_text(
    command: ShellCommand,
    exit_code: int,
    stdout: bytes,
    stderr: bytes,
    *,
    records: Root,
    records_path: str,
    now_ms: int,
    discarded: int = 0,
) -> ShellText:
    """The four-part text; output beyond the limit goes whole to `logs/shell-<ms>.log`.

    `discarded` counts the bytes that were read and not kept.
    """
    truncated = len(stdout) > STREAM_LIMIT or len(stderr) > STREAM_LIMIT
    lines = [
        f"$ {command.shown}",
        f"Exit code: {exit_code}",
        "Stdout:",
        stdout[:STREAM_LIMIT].decode("utf-8", "replace"),
        "Stderr:",
        stderr[:STREAM_LIMIT].decode("utf-8", "replace"),
    ]
    log = None
    if truncated:
        try:
            name = _write_log(records, command, exit_code, stdout, stderr, now_ms)
        except OSError as failure:
            where = f"the rest is lost: {failure.strerror or failure}"
        else:
            log = f"{records_path}/{name}"
            kept = "all of it" if not discarded else f"all but its last {discarded} bytes"
            where = f"{kept} is in {log}"
        lines.append(f"Output cut at {STREAM_LIMIT} bytes a stream; {where}")
    return ShellText(
        data="\n".join(lines),
        summary=f"Shell command exited with code {exit_code}",
        truncated=truncated,
        log=log,
    )


def _write_log(
    records: Root,
    command: ShellCommand,
    exit_code: int,
    stdout: bytes,
    stderr: bytes,
    now_ms: int,
) -> str:
    head = f"$ {command.shown}\nExit code: {exit_code}\nStdout:\n".encode()
    body = head + stdout + b"\nStderr:\n" + stderr + b"\n"
    while True:
        name = f"logs/shell-{now_ms}.log"
        try:
            records.write_exclusive(name, body)
        except FileExistsError:
            now_ms += 1
        else:
            return name
