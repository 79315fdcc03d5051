"""`ListTasks`: filters, order and pages. spec/door.md 11, 23.

Tasks come most recently changed first. A page token names the change after which the next page
goes on, so a task that changes between two pages moves to the front and no other is skipped.
"""

import base64
import binascii
import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from murmur.core.tasks import Task, TaskState
from murmur.door import errors
from murmur.door.wire import task_object

_DEFAULT_PAGE: Final = 50
_MAX_PAGE: Final = 100

_STATES: Final = {state.wire: state for state in TaskState}
# A2A names that no task of ours ever has: the one means "any", the other matches nothing.
_ANY: Final = "TASK_STATE_UNSPECIFIED"
_NEVER: Final = "TASK_STATE_AUTH_REQUIRED"


@dataclass(frozen=True, slots=True)
class Filter:
    context_id: str | None
    status: str | None
    changed_after_ms: int | None

    def passes(self, task: Task) -> bool:
        return (
            (self.context_id is None or task.context_id == self.context_id)
            and (self.status is None or task.state.wire == self.status)
            and (self.changed_after_ms is None or task.updated_ms >= self.changed_after_ms)
        )


def list_tasks(tasks: Sequence[Task], params: Mapping[str, Any]) -> dict[str, Any]:
    """The result of `ListTasks` over `tasks`, given newest change first.

    Raises the -32602 error for a value that cannot be read.
    """
    wanted = Filter(
        context_id=_string(params, "contextId"),
        status=_status(params),
        changed_after_ms=_moment(params),
    )
    page_size = _page_size(params)
    before = _read_token(params)
    with_artifacts = params.get("includeArtifacts") or False
    if not isinstance(with_artifacts, bool):
        raise errors.invalid_params("includeArtifacts must be true or false")
    matching = [task for task in tasks if wanted.passes(task)]
    rest = [task for task in matching if before is None or task.revision < before]
    page = rest[:page_size]
    return {
        "tasks": [task_object(task, artifacts=with_artifacts) for task in page],
        "nextPageToken": _token(page[-1].revision) if len(rest) > page_size else "",
        "pageSize": page_size,
        "totalSize": len(matching),
    }


def _string(params: Mapping[str, Any], name: str) -> str | None:
    value = params.get(name)
    if value is not None and not isinstance(value, str):
        raise errors.invalid_params(f"{name} must be a string")
    return value or None


def _status(params: Mapping[str, Any]) -> str | None:
    name = _string(params, "status")
    if name is None or name == _ANY:
        return None
    if name not in _STATES and name != _NEVER:
        raise errors.invalid_params("status must be a task state of A2A v1.0")
    return name


def _moment(params: Mapping[str, Any]) -> int | None:
    text = _string(params, "statusTimestampAfter")
    if text is None:
        return None
    try:
        moment = datetime.datetime.fromisoformat(text)
        if moment.tzinfo is None:
            raise ValueError("no time zone")
        return round(moment.timestamp() * 1000)
    except (ValueError, OverflowError):
        raise errors.invalid_params("statusTimestampAfter must be an RFC 3339 moment") from None


def _page_size(params: Mapping[str, Any]) -> int:
    size = params.get("pageSize")
    if size is None:
        return _DEFAULT_PAGE
    if isinstance(size, bool) or not isinstance(size, int) or not 1 <= size <= _MAX_PAGE:
        raise errors.invalid_params(f"pageSize must be a whole number from 1 to {_MAX_PAGE}")
    return size


def _token(revision: int) -> str:
    return base64.urlsafe_b64encode(str(revision).encode()).decode().rstrip("=")


def _read_token(params: Mapping[str, Any]) -> int | None:
    token = _string(params, "pageToken")
    if token is None:
        return None
    try:
        text = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode("ascii")
        if _token(int(text)) == token:
            return int(text)
    except (ValueError, binascii.Error):
        pass
    raise errors.invalid_params("pageToken is none that this capsule gave out")
