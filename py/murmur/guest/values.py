"""`murmur:tool/run` values between our dataclasses and the engine's records."""

from __future__ import annotations

from wasmtime.component import Record

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
