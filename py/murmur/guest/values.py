"""Component values between the engine's Python classes and ours: `murmur:tool/run`'s as
dataclasses, all others as the plain values of `questions`.
"""

from __future__ import annotations

from typing import Any

from wasmtime.component import Record, Variant

from murmur.guest.calls import MAX_TEXT_CHARACTERS, Attachment, ToolInput, ToolResult


class ResultTooLarge(Exception):
    """More text than the runtime takes from one call."""


def lower_input(tool_input: ToolInput) -> Record:
    """`tool-input` as the engine takes it."""
    record = Record()
    vars(record).update({"data": tool_input.data, "log-path": tool_input.log_path})
    return record


def lift_result(record: Record) -> ToolResult:
    """`tool-result@0.2.0` as the engine gives it; `KeyError` when the record has another shape.

    `ResultTooLarge` when it holds more than the runtime takes.
    """
    fields = vars(record)
    result = ToolResult(
        status=fields["status"],
        summary=fields["summary"],
        data=fields["data"],
        data_path=fields["data-path"],
        truncated=fields["truncated"],
        metadata=tuple(fields["metadata"]),
        attachments=tuple(
            Attachment(vars(item)["media-type"], vars(item)["path"])
            for item in fields["attachments"]
        ),
    )
    texts = (result.summary, result.data, result.data_path)
    pairs = (*result.metadata, *((each.media_type, each.path) for each in result.attachments))
    size = sum(len(text or "") for text in texts) + sum(len(a) + len(b) for a, b in pairs)
    if size > MAX_TEXT_CHARACTERS:
        raise ResultTooLarge(f"it returned {size} characters, more than {MAX_TEXT_CHARACTERS}")
    return result


def from_engine(value: Any) -> Any:
    """A value of the engine as a plain one; a variant that says its case is (case, payload)."""
    if isinstance(value, Record):
        return {name: from_engine(item) for name, item in vars(value).items()}
    if isinstance(value, Variant):
        return (value.tag, from_engine(value.payload))
    if isinstance(value, tuple):
        return tuple(from_engine(item) for item in value)
    if isinstance(value, list):
        return [from_engine(item) for item in value]
    return value


def to_engine(value: Any) -> Any:
    """A plain value as the engine takes it."""
    if isinstance(value, dict):
        record = Record()
        vars(record).update({name: to_engine(item) for name, item in value.items()})
        return record
    if isinstance(value, tuple):
        return tuple(to_engine(item) for item in value)
    if isinstance(value, list):
        return [to_engine(item) for item in value]
    return value


def text_size(value: Any) -> int:
    """Characters and bytes in a plain value, for holding it to a ceiling."""
    if isinstance(value, str | bytes):
        return len(value)
    if isinstance(value, dict):
        return sum(map(text_size, value.values()))
    if isinstance(value, tuple | list):
        return sum(map(text_size, value)) + len(value)
    return 0
