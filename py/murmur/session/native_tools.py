"""Native tools: host programs that an artifact brings, contained as a command is.

spec/artifacts.md 9: where the program lies, what it is given, and how its output is read.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from murmur.core.diagnostics import MurmurError, error, render
from murmur.sandbox.results import CommandResult
from murmur.session.answers import NO_DATA, Answer, refusal
from murmur.session.artifacts import StagedArtifact
from murmur.session.directories import Directories
from murmur.store.payload import Payload
from murmur.store.platforms import Verdict, judge


def check_platforms(payloads: Iterable[Payload], host: str) -> None:
    """Raises E-RUN-021 for the first native tool that was surely built for another platform.

    A format that nothing is known of passes: it may be a script.
    """
    for payload in payloads:
        if payload.kind != "native":
            continue
        found = payload.native_platform()
        if judge(found, host) is Verdict.MISMATCH:
            raise error("E-RUN-021", artifact=payload.label, found=found, host=host)


def program_paths(directories: Directories, artifacts: Iterable[StagedArtifact]) -> dict[str, str]:
    """Where each native tool's program lies in the runtime directory, by bare name."""
    return {
        artifact.entry.bare_name: str(
            directories.visible_runtime
            / "tools"
            / artifact.entry.bare_name
            / artifact.entry.bare_name
        )
        for artifact in artifacts
        if artifact.program is not None
    }


def native_input(data: str) -> bytes:
    """All of the program's standard input."""
    return json.dumps({"data": data, "log_path": None}, ensure_ascii=False).encode()


def native_answer(name: str, done: CommandResult) -> Answer:
    """What the program's output says, else what its exit status does.

    One that was ended at a limit of `capabilities.resources` is an error with E-RUN-011.
    """
    if done.set_up_failure is not None:
        return refusal(f"{name} could not be run: {done.set_up_failure}")
    if done.cancelled:
        return refusal(f"{name} was stopped: the task was canceled")
    if done.resource_limit is not None:
        return refusal(render(_ended_at(name, done).diagnostic))
    text = done.stdout.decode("utf-8", "replace").strip()
    if not text:
        exited = f"native tool '{name}' exited with {done.exit_code}"
        return _plain(done, done.stderr.decode("utf-8", "replace") or exited)
    try:
        told = json.loads(text)
    except (ValueError, RecursionError):
        told = None
    if not isinstance(told, dict):
        return _plain(done, done.stdout.decode("utf-8", "replace"))
    data = _data(told.get("data"))
    if data is None:
        summary = told.get("summary")
        data = summary if isinstance(summary, str) else NO_DATA
    return Answer(
        text=data.encode("utf-8", "replace").decode(),
        # Whatever is no `passed` is an error: `failed`, and every word that there is not.
        is_error=told.get("status") != "passed",
        truncated=told.get("truncated") is True,
        exit_code=done.exit_code,
        state_effect=_note(told.get("metadata"), "state_effect"),
        resource_id=_note(told.get("metadata"), "resource_id"),
    )


def _ended_at(name: str, done: CommandResult) -> MurmurError:
    return error(
        "E-RUN-011",
        binary=name,
        field=f"capabilities.resources.{done.resource_limit}",
        detail=f"it ran for {done.duration_ms} ms and ended with {done.exit_code}",
    )


def _plain(done: CommandResult, text: str) -> Answer:
    return Answer(text, is_error=done.exit_code != 0, exit_code=done.exit_code)


def _data(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _note(metadata: Any, key: str) -> str | None:
    """The first non-empty value of a key: metadata is an object, or a list of pairs."""
    if isinstance(metadata, Mapping):
        pairs: list[Any] = list(metadata.items())
    else:
        pairs = metadata if isinstance(metadata, list) else []
    for pair in pairs:
        if isinstance(pair, list | tuple) and len(pair) == 2:
            name, value = pair
            if name == key and isinstance(value, str) and value:
                return value
    return None
