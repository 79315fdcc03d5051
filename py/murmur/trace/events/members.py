"""Calls between the members of a formation. spec/observability.md 5.8.

This build launches no formation; a trace that it reads may hold them.
"""

from typing import Final

from murmur.trace.catalogue import Event, Kind, Parent, field, optional
from murmur.trace.events.fields import DURATION

_TASK: Final = field("task_id", Kind.TEXT, "the calling task")
_CALL: Final = field("call_id", Kind.TEXT, "the call, `mcl_…`")
_MEMBER: Final = field("member", Kind.TEXT, "roster name of the member called")


MEMBER_CALL_BUSY: Final = Event(
    "member_call_busy",
    Parent.SESSION,
    "a member turned an offer of the task away",
    (
        _TASK,
        _CALL,
        _MEMBER,
        field("offer", Kind.U32, "number of the offer, from 1"),
        field("waited_ms", Kind.U64, "how long the call had waited"),
        field("message", Kind.TEXT, "the member's refusal"),
    ),
)


MEMBER_CALL_START: Final = Event(
    "member_call_start",
    Parent.SESSION,
    "the member holds the task",
    (_TASK, _CALL, _MEMBER, field("member_task_id", Kind.TEXT, "the member's task")),
)


MEMBER_CALL: Final = Event(
    "member_call",
    Parent.SESSION,
    "a call is accounted for, once",
    (
        _TASK,
        _CALL,
        _MEMBER,
        optional("member_task_id", Kind.TEXT, "absent if the member never held it"),
        field(
            "status",
            Kind.TEXT,
            "how it ended",
            "completed",
            "failed",
            "canceled",
            "rejected",
            "timed_out",
            "unreachable",
            "abandoned",
            "no_answer",
        ),
        DURATION,
        field("output", Kind.TEXT, "the answer, cut"),
        field("truncated", Kind.BOOL, "whether it was cut"),
        field("delivered", Kind.BOOL, "whether the calling task received it"),
        optional("no_answer_below", Kind.OBJECTS, "members further down without an answer"),
    ),
)
