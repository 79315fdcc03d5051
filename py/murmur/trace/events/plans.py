"""Runs of submitted plans. spec/observability.md 5.10."""

from typing import Final

from murmur.trace.catalogue import Event, Kind, Parent, field, optional
from murmur.trace.events.fields import DURATION

_PLAN: Final = field("plan_id", Kind.TEXT, "the plan's own id")
_STEP: Final = field("step_id", Kind.TEXT, "the step's id")
_KIND: Final = field("kind", Kind.TEXT, "what runs it", "tool", "shell", "capsule", "unknown")


PLAN_START: Final = Event(
    "plan_start",
    Parent.SESSION,
    "a plan was read; its id is the plan node",
    (
        _PLAN,
        field("step_count", Kind.U32, "how many steps it has"),
        field("steps", Kind.OBJECTS, "step_id, kind, depends_on, has_condition of each"),
    ),
)


PLAN_STEP_START: Final = Event(
    "plan_step_start",
    Parent.PLAN,
    "a step is handed to what runs it",
    (
        _PLAN,
        _STEP,
        _KIND,
        field("depends_on", Kind.TEXTS, "the steps it waited for"),
    ),
)


PLAN_STEP: Final = Event(
    "plan_step",
    Parent.PLAN,
    "a step settled, its on_error applied",
    (
        _PLAN,
        _STEP,
        _KIND,
        field("status", Kind.TEXT, "how it settled", "success", "failed", "skipped"),
        field("attempts", Kind.U32, "0 if it was never dispatched"),
        DURATION,
        optional("error", Kind.TEXT, "why it failed or was skipped"),
        optional("input", Kind.FREE, "of a tool step, handles redacted"),
        optional("state_effect", Kind.TEXT, "from the tool's metadata"),
        optional("resource_id", Kind.TEXT, "likewise"),
    ),
)


PLAN_END: Final = Event(
    "plan_end",
    Parent.PLAN,
    "a plan is over; the session's node where no plan could be read",
    (
        field("plan_id", Kind.TEXT, "empty where no plan could be read"),
        field("outcome", Kind.TEXT, "how it ended", "completed", "failed", "canceled"),
        optional("failed_step", Kind.TEXT, "the step that ended it; `plan` where none could"),
        field("steps_total", Kind.U32, "all steps"),
        field("steps_succeeded", Kind.U32, "of them"),
        field("steps_failed", Kind.U32, "of them"),
        field("steps_skipped", Kind.U32, "of them"),
        DURATION,
        optional("reason", Kind.TEXT, "why it did not complete"),
    ),
)
