"""`murmur:tool/run` values between our dataclasses and the engine's records."""

from __future__ import annotations

from wasmtime.component import Record

from murmur.guest.calls import Attachment, ToolInput, ToolResult


def lower_input(tool_input: ToolInput) -> Record:
    """`tool-input` as the engine takes it."""
    record = Record()
    vars(record).update({"data": tool_input.data, "log-path": tool_input.log_path})
    return record


def lift_result(record: Record) -> ToolResult:
    """`tool-result@0.2.0` as the engine gives it; `KeyError` when the record has another shape."""
    fields = vars(record)
    return ToolResult(
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
