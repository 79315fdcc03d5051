"""Reading `params.message` and rendering it as the text an agent reads. spec/door.md 10.1, 10.2."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from murmur.core.tasks import DataPart, Message, Part, Task, TaskState, TextPart, UnknownTask
from murmur.door import errors

_KINDS: Final = ("text", "raw", "url", "data")
_MAX_REFERENCES: Final = 16
_UNSAFE_IN_INFO: Final = re.compile(r"[\s`=]")
_BACKTICKS: Final = re.compile(r"`+")


def read_message(params: Mapping[str, Any]) -> Message:
    """The message of a sending method's params.

    Raises the -32602 error that names the first field at fault, and the -32005 error for a part
    that holds bytes or a URL.
    """
    message = params.get("message")
    if not isinstance(message, dict):
        raise errors.invalid_params("message must be an object")
    message_id = message.get("messageId")
    if not isinstance(message_id, str) or not message_id:
        raise errors.invalid_params("message.messageId must be a non-empty string")
    if message.get("role") != "ROLE_USER":
        raise errors.invalid_params("message.role must be ROLE_USER")
    parts = message.get("parts")
    if not isinstance(parts, list) or not parts:
        raise errors.invalid_params("message.parts must be a non-empty array")
    for index, part in enumerate(parts):
        _check_one_kind(index, part)
    for index, part in enumerate(parts):
        _check_strings(index, part)
    task_id = _optional_string(message, "taskId")
    context_id = _optional_string(message, "contextId")
    references = _references(message.get("referenceTaskIds"))
    for index, part in enumerate(parts):
        if "raw" in part or "url" in part:
            raise errors.content_type_not_supported(index, part.get("mediaType"))
    return Message(
        message_id=message_id,
        parts=tuple(_part(part) for part in parts),
        task_id=task_id,
        context_id=context_id,
        reference_task_ids=references,
    )


def _check_one_kind(index: int, part: object) -> None:
    if not isinstance(part, dict) or sum(kind in part for kind in _KINDS) != 1:
        raise errors.invalid_params(
            f"message.parts[{index}] must set exactly one of text, raw, url, data"
        )


def _check_strings(index: int, part: Mapping[str, Any]) -> None:
    for name in ("text", "raw", "url", "mediaType", "filename"):
        if name in part and not isinstance(part[name], str):
            raise errors.invalid_params(f"message.parts[{index}].{name} must be a string")


def _optional_string(message: Mapping[str, Any], name: str) -> str | None:
    value = message.get(name)
    if value is not None and not isinstance(value, str):
        raise errors.invalid_params(f"message.{name} must be a string")
    return value or None


def _references(value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
        raise errors.invalid_params("message.referenceTaskIds must be an array of task ids")
    distinct = tuple(dict.fromkeys(value))
    if len(distinct) > _MAX_REFERENCES:
        raise errors.invalid_params(
            f"message.referenceTaskIds names more than {_MAX_REFERENCES} tasks"
        )
    return distinct


def _part(part: Mapping[str, Any]) -> Part:
    media_type, filename = part.get("mediaType"), part.get("filename")
    if "text" in part:
        return TextPart(part["text"], media_type, filename)
    return DataPart(part["data"], media_type, filename)


def render(message: Message, get_task: Callable[[str], Task]) -> str:
    """The message's text; `get_task` looks a referenced task up (it may raise UnknownTask)."""
    text = "\n".join(_render_part(part) for part in message.parts)
    if not message.reference_task_ids:
        return text
    lines = [_render_reference(task_id, get_task) for task_id in message.reference_task_ids]
    return "\n".join([text, "", "Referenced tasks:", *lines])


def _render_part(part: Part) -> str:
    if isinstance(part, TextPart):
        return part.text
    info = "data"
    if part.media_type is not None:
        info += " media-type=" + _UNSAFE_IN_INFO.sub("_", part.media_type)
    if part.filename is not None:
        info += " filename=" + _UNSAFE_IN_INFO.sub("_", part.filename)
    return _code_fence(info, json.dumps(part.value, indent=2, ensure_ascii=False))


def _code_fence(info: str, content: str) -> str:
    longest = max((len(run) for run in _BACKTICKS.findall(content)), default=0)
    ticks = "`" * max(3, longest + 1)
    return f"{ticks}{info}\n{content}\n{ticks}"


def _render_reference(task_id: str, get_task: Callable[[str], Task]) -> str:
    try:
        task = get_task(task_id)
    except UnknownTask:
        return f"- {task_id}: not a task this capsule holds"
    head = f"- {task_id}: {task.state}"
    if task.state is TaskState.COMPLETED:
        if task.response is None:
            return head
        return f"{head}\n{_code_fence('response', task.response)}"
    if task.state.ended and task.status_text:
        return f"{head}: {' '.join(task.status_text.split())}"
    return head
