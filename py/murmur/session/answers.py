"""What a tool call gave, as the model is to read it. spec/sessions.md 11.3 and 11.5."""

import dataclasses
from collections.abc import Mapping
from typing import Final, Protocol

from murmur.guest.calls import GuestFailure, GuestResult
from murmur.session.attempt import Attempt
from murmur.session.images import NOTHING, Taken

NO_DATA: Final = "tool returned no data"


@dataclasses.dataclass(frozen=True, slots=True)
class Answer:
    """What a call gave before fencing. `fenced` is false for refusals and trusted skill text.

    `note` is the runtime's own word on it, which stands behind the fence.
    """

    text: str
    is_error: bool = False
    fenced: bool = True
    truncated: bool = False
    exit_code: int | None = None
    state_effect: str | None = None
    resource_id: str | None = None
    note: str | None = None
    images: Taken = NOTHING


class RuntimeTool(Protocol):
    """A tool that the runtime itself provides. It raises nothing but E-RUN-007."""

    def __call__(self, arguments: Mapping[str, object], attempt: Attempt, turn: int) -> Answer: ...


def refusal(text: str) -> Answer:
    """A call that was not made, or a dispatch that failed: read as it is, without a fence."""
    return Answer(text, is_error=True, fenced=False)


def tool_answer(result: GuestResult, images: Taken = NOTHING) -> Answer:
    """A guest's result as the model reads it; a failure of the guest is an error result.

    `images` are those of its attachments that were taken.
    """
    if isinstance(result, GuestFailure):
        return refusal(result.message)
    return Answer(
        # A host is not trusted to send whole characters, and no file takes half of one.
        text=_first(result.data, result.summary).encode("utf-8", "replace").decode(),
        is_error=result.status != "passed",
        truncated=result.truncated,
        state_effect=result.note("state_effect"),
        resource_id=result.note("resource_id"),
        note="\n".join(images.notes) or None,
        images=images,
    )


def _first(data: str | None, summary: str | None) -> str:
    if data is not None:
        return data
    return summary if summary is not None else NO_DATA
