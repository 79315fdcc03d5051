"""Tasks and frames as A2A v1.0 ProtoJSON; the only module that knows both. spec/door.md 9, 16.

The stream's envelope follows the recommendation of section 16.3, which is open there: what A2A has
an event for is that event, and everything murmur adds sits under `metadata`, keyed by the stream
extension's URI.
"""

import datetime
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, assert_never

from murmur.core.tasks import (
    ArtifactFrame,
    Event,
    GapFrame,
    LaggedFrame,
    StatusFrame,
    Task,
    TaskFrame,
    TaskState,
    TextFrame,
    ThinkingFrame,
    ToolCallProgressFrame,
    ToolCallStartedFrame,
)
from murmur.door import extensions

# In the order the card lists them. `error` is a refusal of older doors; `capsule-closed` would mean
# that the frames ended while the connection went on, and here they end together (16.2).
FRAME_NAMES: Final = (
    "status",
    "artifact",
    "text",
    "thinking",
    "tool-call-started",
    "tool-call-progress",
    "gap",
    "lagged",
    "connection-ack",
    "capsule-closed",
    "error",
)


def timestamp(unix_ms: int) -> str:
    """RFC 3339 in UTC with milliseconds."""
    moment = datetime.datetime.fromtimestamp(unix_ms / 1000, datetime.UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{unix_ms % 1000:03d}Z"


def task_object(
    task: Task,
    *,
    artifacts: bool = True,
    residue: Sequence[Mapping[str, object]] = (),
) -> dict[str, Any]:
    """A Task; `artifacts=False` leaves its artifacts out, `residue` is for a cancel's answer."""
    said = task.status_text if task.state.ended else None
    result: dict[str, Any] = {
        "id": task.id,
        "contextId": task.context_id,
        "status": _status(task.id, task.context_id, task.state, said, task.updated_ms),
    }
    shown = _artifacts(task, residue) if artifacts else []
    if shown:
        result["artifacts"] = shown
    murmur: dict[str, Any] = {}
    if task.no_answer:
        murmur["noAnswer"] = True
    if task.no_answer_below and task.state.ended:
        murmur["noAnswerBelow"] = [
            {"member": member, "status": status} for member, status in task.no_answer_below
        ]
    if murmur:
        result["metadata"] = {"murmur": murmur}
    return result


def _artifacts(task: Task, residue: Sequence[Mapping[str, object]]) -> list[dict[str, Any]]:
    shown = []
    if task.state is TaskState.COMPLETED and task.response is not None:
        shown.append(_artifact("response", [_text_part(task.response)]))
    if task.state is TaskState.INPUT_REQUIRED and task.prompt is not None:
        shown.append(_artifact("prompt", [_text_part(task.prompt)]))
    if residue:
        shown.append(
            _artifact(
                "residue",
                [{"data": dict(item), "mediaType": "application/json"} for item in residue],
            )
        )
    return shown


def _artifact(name: str, parts: list[dict[str, Any]]) -> dict[str, Any]:
    return {"artifactId": name, "name": name, "parts": parts}


def _text_part(text: str) -> dict[str, Any]:
    return {"text": text, "mediaType": "text/plain"}


def _status(
    task_id: str, context_id: str, state: TaskState, said: str | None, time_ms: int
) -> dict[str, Any]:
    status: dict[str, Any] = {"state": state.wire}
    if said:
        status["message"] = {
            "messageId": f"msg_{task_id}_status",
            "contextId": context_id,
            "taskId": task_id,
            "role": "ROLE_AGENT",
            "parts": [_text_part(said)],
        }
    status["timestamp"] = timestamp(time_ms)
    return status


def stream_responses(event: Event, murmur_frames: bool) -> list[dict[str, Any]]:
    """The StreamResponse objects of one event, none when the reader did not ask for its kind.

    A completed status is two: the answer as an artifact, then the status. The event's id belongs
    to the last.
    """
    frame = event.frame
    metadata = {extensions.STREAM: frame_object(frame)} if murmur_frames else None
    if event.task_id is None or event.context_id is None or event.state is None:
        return [] if metadata is None else [{"metadata": metadata}]
    carrier: dict[str, Any] = {"taskId": event.task_id, "contextId": event.context_id}
    if not isinstance(frame, StatusFrame):
        if metadata is None:
            return []
        status = _status(event.task_id, event.context_id, event.state, None, event.time_ms)
        return [{"statusUpdate": {**carrier, "status": status, "metadata": metadata}}]
    responses: list[dict[str, Any]] = []
    if frame.response is not None:
        answer = _artifact("response", [_text_part(frame.response)])
        responses.append({"artifactUpdate": {**carrier, "artifact": answer, "lastChunk": True}})
    status = _status(event.task_id, event.context_id, frame.state, frame.text, event.time_ms)
    update = {**carrier, "status": status}
    if metadata is not None:
        update["metadata"] = metadata
    responses.append({"statusUpdate": update})
    return responses


def frame_object(frame: TaskFrame | GapFrame | LaggedFrame) -> dict[str, Any]:
    """A murmur frame, its name under `frame`. spec/door.md 16.4 in camelCase."""
    match frame:
        case StatusFrame():
            return _status_frame(frame)
        case ArtifactFrame():
            return {
                "frame": "artifact",
                "toolName": frame.tool_name,
                "content": frame.content,
                "fenceSource": frame.fence_source,
                "toolCallId": frame.tool_call_id or None,
                "isError": frame.is_error,
                "durationMs": frame.duration_ms,
                "exitCode": frame.exit_code,
                "truncated": frame.truncated,
            }
        case TextFrame():
            return {"frame": "text", "text": frame.text, "final": frame.final}
        case ThinkingFrame():
            return {"frame": "thinking", "text": frame.text, "final": False}
        case ToolCallStartedFrame():
            return {
                "frame": "tool-call-started",
                "toolCallId": frame.tool_call_id,
                "toolName": frame.tool_name,
            }
        case ToolCallProgressFrame():
            return {
                "frame": "tool-call-progress",
                "toolCallId": frame.tool_call_id,
                "inputBytes": frame.input_bytes,
            }
        case GapFrame():
            return {"frame": "gap", "firstAvailableId": frame.first_available_id}
        case LaggedFrame():
            return {"frame": "lagged", "missed": frame.missed}
        case _ as never:
            assert_never(never)


def _status_frame(frame: StatusFrame) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "frame": "status",
        "message": frame.text,
        "final": frame.state.ended,
    }
    if frame.response is not None:
        fields["response"] = frame.response
    if frame.reopen is not None:
        fields["reopen"] = dict(frame.reopen)
    return fields


def connection_ack(mode: Literal["stateless", "threaded"]) -> dict[str, Any]:
    """The first thing a watch of the whole session carries."""
    frame = {"frame": "connection-ack", "role": "observer", "conversationMode": mode}
    return {"metadata": {extensions.STREAM: frame}}
