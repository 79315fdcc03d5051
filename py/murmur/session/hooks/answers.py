"""What a handler answered: an arm of `hook-output`, or a fault. spec/artifacts.md 4.

Values are checked here: a guest host is not trusted to send what the interface promises.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any, Final

from murmur.guest.calls import AnyResult, GuestFailure, Returned

NONE: Final = "none"
_TEXTS: Final = frozenset(("artifact", "reopen-task", "deny"))
_MESSAGES: Final = frozenset(("replace-context", "seed-context"))


@dataclasses.dataclass(frozen=True, slots=True)
class Output:
    """An `ok`: the arm, and its payload as plain data (messages and manifests are dicts)."""

    arm: str = NONE
    value: Any = None

    @property
    def silent(self) -> bool:
        return self.arm == NONE


@dataclasses.dataclass(frozen=True, slots=True)
class Fault:
    """An `err`, or a call that did not return what a handler returns; `reason` says which."""

    reason: str


HookAnswer = Output | Fault


def read_answer(result: AnyResult) -> HookAnswer:
    """The answer in what the guest gave. Never raises."""
    if isinstance(result, GuestFailure):
        return Fault(_whole(result.message))
    if not isinstance(result, Returned):
        return Fault("its answer is no hook-output")
    if isinstance(result.value, str):
        return Fault(_whole(result.value))
    try:
        arm, value = result.value
        return Output(arm, _payload(arm, value))
    except (KeyError, TypeError, ValueError):
        return Fault("its answer is no hook-output")


def _payload(arm: str, value: Any) -> Any:
    if arm in _MESSAGES:
        return [_message(each) for each in value]
    if arm == "write-manifests":
        return [(_text(each["binary-name"]), _text(each["content"])) for each in value]
    if arm in _TEXTS:
        return _text(value)
    if arm == NONE:
        return None
    raise ValueError(arm)


def _message(value: Mapping[str, Any]) -> dict[str, str]:
    """A message without `inserted-by`, which the runtime alone sets."""
    message = {"role": _text(value["role"]), "content": _text(value["content"])}
    for key in ("id", "source-id"):
        if value[key] is not None:
            message[key] = _text(value[key])
    return message


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("no text")
    return _whole(value)


def _whole(text: str) -> str:
    """The text without halves of characters, which no file and no component takes."""
    return text.encode("utf-8", "replace").decode()
