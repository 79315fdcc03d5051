"""The catalogue itself. spec/observability.md 5."""

import pytest

from murmur.trace.catalogue import Event, Kind, Presence
from murmur.trace.events import EVENTS

_ENVELOPE = {"event_type", "event_id", "parent_id", "session_id", "timestamp"}


@pytest.mark.parametrize("event", EVENTS.values(), ids=lambda event: event.name)
def test_every_event_and_field_is_documented_and_named_once(event: Event) -> None:
    names = [field.name for field in event.fields]
    assert len(names) == len(set(names))
    assert not _ENVELOPE & set(names)
    assert event.meaning and all(field.meaning for field in event.fields)
    for field in event.fields:
        assert not field.values or field.kind is Kind.TEXT


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        (
            "session_end",
            "total_turns total_input_tokens total_output_tokens total_tool_calls "
            "total_shell_calls duration_ms exit_status",
        ),
        ("task_start", "task_id context_id source origin trust lane message_parts_bytes"),
        (
            "task_end",
            "task_id exit_status duration_ms turns input_tokens output_tokens tool_calls "
            "shell_calls reopen_count keep_working?",
        ),
        (
            "tool_call",
            "turn task_id| tool_name tool_call_id| input input_bytes output? output_bytes "
            "duration_ms status state_effect? resource_id?",
        ),
        (
            "shell",
            "turn task_id| binary command exit_code stdout_bytes stderr_bytes duration_ms "
            "resource_limit?",
        ),
        ("tool_input_refused", "turn tool_name tool_call_id| missing reason"),
        ("call_denied", "turn event hook_name target reason"),
        ("task_canceled", "task_id turn? phase detached_work_ids delegation_ids"),
        (
            "inference",
            "turn task_id| input_tokens? output_tokens? decision stop_reason? tool_name| "
            "input_tokens_actual? output_tokens_actual? cached_tokens? cache_write_tokens? "
            "thinking_tokens? origin? driver_choice? model? message_ids? system_sha? tools_sha? "
            "response_sha? message_shas? max_output_tokens? driver_config? attempts? "
            "retry_stopped? error_code? error? provider_status?",
        ),
    ],
)
def test_the_fields_stand_in_the_documented_order(name: str, fields: str) -> None:
    marks = {Presence.ALWAYS: "", Presence.NULLABLE: "|", Presence.OPTIONAL: "?"}
    found = [field.name + marks[field.presence] for field in EVENTS[name].fields]
    assert found == fields.split()
