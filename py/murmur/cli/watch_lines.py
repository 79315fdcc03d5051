"""Events of a door's stream as `mur watch` prints them. CLI reference, *mur watch*.

Frames and keys that are not known are passed over. Control characters of what a model or a tool
wrote are escaped, line ends and tabs excepted: nothing it says can steer a terminal.
"""

import dataclasses
import re
import textwrap
from collections.abc import Mapping
from typing import Any, Final

from murmur.core.diagnostics import printable
from murmur.core.tasks import TaskState
from murmur.door.client import state_word
from murmur.door.extensions import STREAM

_WIDTH: Final = 80
_INDENT: Final = "  "
_TURN: Final = re.compile(r"inference turn ([0-9]+)")
_LABEL_COLUMN: Final = 10


@dataclasses.dataclass(frozen=True, slots=True)
class Shown:
    """What one event puts out: text for standard output, notes for standard error."""

    text: str = ""
    notes: tuple[str, ...] = ()
    closed: bool = False


class WatchLines:
    """Renders events in the order they come; it remembers whether a line is open."""

    def __init__(self) -> None:
        self._threaded = False
        self._open_line = False
        self._turns: dict[str, str] = {}
        self._answers: dict[str, str] = {}

    def show(self, result: Mapping[str, Any]) -> Shown:
        """What one StreamResponse prints."""
        carrier = _mapping(result.get("statusUpdate"))
        answer = _mapping(result.get("artifactUpdate"))
        if answer:
            self._keep_answer(answer)
            return Shown()
        metadata = _mapping(carrier.get("metadata")) or _mapping(result.get("metadata"))
        frame = _mapping(metadata.get(STREAM))
        match frame.get("frame"):
            case "status":
                return Shown(self._status(carrier, frame))
            case "artifact":
                return Shown(self._fresh() + artifact_lines(frame))
            case "text" if frame.get("final") is False:
                return Shown(self._piece(str(frame.get("text", ""))))
            case "connection-ack":
                self._threaded = frame.get("conversationMode") == "threaded"
            case "gap":
                first = frame.get("firstAvailableId")
                return Shown(notes=(f"events before id {first} are gone",))
            case "lagged":
                return Shown(notes=(f"{frame.get('missed')} events were lost, read too slowly",))
            case "capsule-closed":
                return Shown(self.finish(), closed=True)
        return Shown()

    def finish(self) -> str:
        """What ends a line that streamed text left open."""
        return self._fresh()

    def _fresh(self) -> str:
        ended = "\n" if self._open_line else ""
        self._open_line = False
        return ended

    def _piece(self, text: str) -> str:
        if text:
            self._open_line = not text.endswith("\n")
        return visible(text)

    def _keep_answer(self, update: Mapping[str, Any]) -> None:
        """The `response` artifact comes before the completed status that prints it."""
        artifact = _mapping(update.get("artifact"))
        if artifact.get("name") == "response":
            parts = artifact.get("parts")
            texts = [str(_mapping(part).get("text", "")) for part in parts or ()]
            self._answers[str(update.get("taskId", ""))] = "\n".join(texts)

    def _status(self, carrier: Mapping[str, Any], frame: Mapping[str, Any]) -> str:
        task_id = str(carrier.get("taskId", ""))
        word = state_word(_mapping(carrier.get("status")).get("state"))
        message = str(frame.get("message", ""))
        turn = _TURN.fullmatch(message)
        if turn is not None:
            self._turns[task_id] = turn[1]
        label = self._label(str(carrier.get("contextId", "")), task_id, word)
        if frame.get("final") is not True:
            return f"{self._fresh()}{label.ljust(_LABEL_COLUMN)} {printable(message)}\n"
        self._turns.pop(task_id, None)
        answer = self._answers.pop(task_id, None)
        answer = str(frame.get("response", answer or ""))
        body = wrapped(answer) if word == TaskState.COMPLETED and answer else ""
        return f"{self._fresh()}{label}\n{body}"

    def _label(self, context_id: str, task_id: str, word: str) -> str:
        if not self._threaded:
            return f"[{printable(word)}]"
        shown = printable(short_context(context_id))
        return f"[{shown} / turn {self._turns.get(task_id, '0')} / {printable(word)}]"


def short_context(context_id: str) -> str:
    """`ctx_` and its next 8 characters; the first 12 of an id without that prefix."""
    return f"{context_id[:12]}..."


def artifact_lines(frame: Mapping[str, Any]) -> str:
    """A tool call's line, with its outcome where the runtime tells one, and its content."""
    outcome = ""
    if isinstance(frame.get("isError"), bool):
        segments = ["error" if frame["isError"] else "ok"]
        if isinstance(frame.get("exitCode"), int):
            segments.append(f"exit {frame['exitCode']}")
        if isinstance(frame.get("durationMs"), int):
            segments.append(f"{frame['durationMs']}ms")
        if frame.get("truncated") is True:
            segments.append("truncated")
        outcome = f" [{', '.join(segments)}]"
    name = printable(str(frame.get("toolName", "")))
    first, *rest = visible(str(frame.get("content", ""))).split("\n")
    lines = [f"[artifact] tool: {name}{outcome} | {first}"]
    lines += [f"{_INDENT}{line}" if line else "" for line in rest]
    return "\n".join(lines) + "\n"


def wrapped(text: str) -> str:
    """An answer, each of its lines wrapped and indented."""
    lines: list[str] = []
    for line in visible(text).split("\n"):
        lines += textwrap.wrap(
            line,
            _WIDTH,
            initial_indent=_INDENT,
            subsequent_indent=_INDENT,
            break_long_words=False,
            break_on_hyphens=False,
            replace_whitespace=False,
            drop_whitespace=True,
        ) or [""]
    return "\n".join(lines) + "\n"


def visible(text: str) -> str:
    """`text` with what could steer a terminal escaped; line ends and tabs stay."""
    return "".join(c if c in "\n\t" or c.isprintable() else ascii(c)[1:-1] for c in text)


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
