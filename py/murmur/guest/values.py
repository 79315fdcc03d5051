"""`murmur:tool/run` values between our dataclasses and the engine's records."""

from __future__ import annotations

from wasmtime.component import Record

from murmur.guest.calls import Attachment, ToolInput, ToolResult


def lower_input(tool_input: ToolInput) -> Record:
    """`tool-input` as the engine takes it."""
    record = Record()
    setattr(record, "data", tool_input.data)
    setattr(record, "log-path", tool_input.log_path)
    return record


def lift_result(record: Record) -> ToolResult:
    """`tool-result@0.2.0` as the engine gives it. `AttributeError` when the record is of another shape."""
    return ToolResult(
        status=getattr(record, "status"),
        summary=getattr(record, "summary"),
        data=getattr(record, "data"),
        data_path=getattr(record, "data-path"),
        truncated=getattr(record, "truncated"),
        metadata=tuple(getattr(record, "metadata")),
        attachments=tuple(
            Attachment(getattr(item, "media-type"), getattr(item, "path")) for item in getattr(record, "attachments")
        ),
    )
