"""Tasks, frames and bodies on the wire. spec/door.md 9, 16."""

import json
from typing import Any

from murmur.core.tasks import (
    Event,
    LaggedFrame,
    Origin,
    StatusFrame,
    Task,
    TaskState,
    TextFrame,
    Trust,
)
from murmur.door.envelope import encode
from murmur.door.extensions import STREAM, asked_for
from murmur.door.wire import stream_responses, task_object, timestamp


def held(state: TaskState, **facts: Any) -> Task:
    return Task("t", "c", state, "", Origin.EVENT, Trust.UNTRUSTED, 0, 1, 1, **facts)


def test_a_moment_is_rfc_3339_in_utc_with_milliseconds() -> None:
    assert timestamp(0) == "1970-01-01T00:00:00.000Z"
    assert timestamp(1_764_486_000_007) == "2025-11-30T07:00:00.007Z"
    assert timestamp(1_764_486_000_999) == "2025-11-30T07:00:00.999Z"


def test_a_task_without_artifacts_or_metadata_has_neither_key() -> None:
    assert task_object(held(TaskState.WORKING)) == {
        "id": "t",
        "contextId": "c",
        "status": {"state": "TASK_STATE_WORKING", "timestamp": "1970-01-01T00:00:00.001Z"},
    }


def test_no_answer_and_who_gave_none_below_stand_in_the_metadata() -> None:
    task = held(TaskState.FAILED, no_answer=True, no_answer_below=(("critic", "timed_out"),))
    assert task_object(task)["metadata"] == {
        "murmur": {
            "noAnswer": True,
            "noAnswerBelow": [{"member": "critic", "status": "timed_out"}],
        }
    }


def event(frame: Any, state: TaskState = TaskState.WORKING, number: int | None = 3) -> Event:
    return Event(number, "t", "c", state, 0, frame)


def test_only_a2a_s_own_events_are_written_to_who_asked_for_nothing_else() -> None:
    assert stream_responses(event(TextFrame("hi")), murmur_frames=False) == []
    assert stream_responses(event(LaggedFrame(2), number=None), murmur_frames=False) == []
    (update,) = stream_responses(event(StatusFrame(TaskState.WORKING, "resumed")), False)
    assert "metadata" not in update["statusUpdate"]


def test_a_murmur_frame_rides_on_the_state_the_task_was_in() -> None:
    (update,) = stream_responses(event(TextFrame("hi"), TaskState.INPUT_REQUIRED), True)
    assert update["statusUpdate"]["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
    assert "message" not in update["statusUpdate"]["status"]
    assert update["statusUpdate"]["metadata"] == {
        STREAM: {"frame": "text", "text": "hi", "final": False}
    }


def test_a_frame_of_no_task_is_metadata_alone() -> None:
    lagged = Event(None, None, None, None, 0, LaggedFrame(2))
    assert stream_responses(lagged, murmur_frames=True) == [
        {"metadata": {STREAM: {"frame": "lagged", "missed": 2}}}
    ]


def test_the_answer_comes_before_the_completed_status() -> None:
    done = event(StatusFrame(TaskState.COMPLETED, "session ended", "42"), TaskState.COMPLETED)
    answer, status = stream_responses(done, murmur_frames=False)
    assert answer["artifactUpdate"]["artifact"]["parts"] == [
        {"text": "42", "mediaType": "text/plain"}
    ]
    assert answer["artifactUpdate"]["lastChunk"] is True
    assert status["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"


def test_a_body_is_one_line_to_every_reader_of_lines() -> None:
    text = "a\nb\rc\x0bd\x0ce\x1cf\x85g\u2028h\u2029i \U0001f600"
    body = encode({"text": text})
    assert len(body.decode().splitlines()) == 1
    assert json.loads(body) == {"text": text}
    assert "\U0001f600".encode() in body


def test_extensions_are_one_list_however_many_header_lines_it_takes() -> None:
    assert asked_for([f"https://x , {STREAM}"], STREAM)
    assert asked_for(["https://x", STREAM], STREAM)
    assert not asked_for([], STREAM)
    assert not asked_for([STREAM + "x"], STREAM)
