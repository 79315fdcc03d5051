"""The event catalogue: every kind of line a trace can hold, its fields in written order.

spec/observability.md 5. One module for each of its subjects; a later feature adds its events to
one of them and to `EVENTS`, which finds an event by name, and nowhere else.
"""

from collections.abc import Mapping
from typing import Final

from murmur.trace.catalogue import Event
from murmur.trace.events.background import (
    SHELL_ABANDONED,
    SHELL_COMPLETED,
    SHELL_DETACH_UNRECORDED,
    SHELL_DETACHED,
    SHELL_LOST,
)
from murmur.trace.events.calls import (
    CALL_DENIED,
    PROTECTED_PATH_DENIED,
    SHELL,
    SKILL_CALL,
    TOOL_CALL,
    TOOL_INPUT_REFUSED,
)
from murmur.trace.events.context import COMPACTION, COMPACTION_DECLINED, CONTEXT_SEED
from murmur.trace.events.control import CONTROL_APPLIED, CONTROL_CHANGE, CONTROL_REFUSED
from murmur.trace.events.delegations import (
    DELEGATION,
    DELEGATION_START,
)
from murmur.trace.events.harness import (
    HARNESS_EXIT,
    HARNESS_FAILED,
    HARNESS_INTERRUPT,
    HARNESS_NOTE,
    HARNESS_QUOTA,
    HARNESS_RETRY,
    HARNESS_SESSION,
    HARNESS_SESSION_FORGOTTEN,
    HARNESS_START,
    HARNESS_WARNING,
)
from murmur.trace.events.hooks import HOOK_DISPATCH_ERROR
from murmur.trace.events.inference import (
    GATEWAY_CREDENTIAL,
    INFERENCE,
    INFERENCE_CREDENTIAL,
    INFERENCE_RETRY,
    SPEND_CEILING_REACHED,
    TOOLS_REFRESHED,
)
from murmur.trace.events.members import (
    MEMBER_CALL,
    MEMBER_CALL_BUSY,
    MEMBER_CALL_START,
)
from murmur.trace.events.peers import PEER_FILE_FETCH, PEER_HANDLE_MINT
from murmur.trace.events.plans import PLAN_END, PLAN_START, PLAN_STEP, PLAN_STEP_START
from murmur.trace.events.resources import PEER_HANDLE_REDEEM, RESOURCE_LIST, RESOURCE_READ
from murmur.trace.events.script import A2A_SEND, ARTIFACT_PULLED
from murmur.trace.events.session import (
    DEADLINE_REACHED,
    FORMATION_ENDED,
    RETENTION,
    SESSION_END,
    SESSION_START,
    SPAWNER_ENDED,
)
from murmur.trace.events.tasks import (
    A2A_TASK_RECEIVED,
    DONE_CHECK,
    TASK_CANCELED,
    TASK_CONTINUED,
    TASK_END,
    TASK_FAILED,
    TASK_KEPT_WORKING,
    TASK_REJECTED,
    TASK_REOPENED,
    TASK_START,
)

EVENTS: Final[Mapping[str, Event]] = {
    event.name: event
    for event in (
        SESSION_START,
        SESSION_END,
        RETENTION,
        DEADLINE_REACHED,
        TASK_START,
        TASK_KEPT_WORKING,
        DONE_CHECK,
        TASK_REOPENED,
        TASK_END,
        TASK_FAILED,
        TASK_CANCELED,
        TASK_REJECTED,
        TASK_REOPENED,
        INFERENCE,
        INFERENCE_RETRY,
        SPEND_CEILING_REACHED,
        TOOL_CALL,
        SKILL_CALL,
        SHELL,
        SHELL_DETACHED,
        SHELL_DETACH_UNRECORDED,
        SHELL_COMPLETED,
        SHELL_ABANDONED,
        SHELL_LOST,
        CALL_DENIED,
        PROTECTED_PATH_DENIED,
        TOOL_INPUT_REFUSED,
        COMPACTION,
        COMPACTION_DECLINED,
        CONTEXT_SEED,
        HOOK_DISPATCH_ERROR,
        A2A_TASK_RECEIVED,
        A2A_SEND,
        ARTIFACT_PULLED,
        DELEGATION,
        PLAN_START,
        PLAN_STEP_START,
        PLAN_STEP,
        PLAN_END,
        PEER_HANDLE_MINT,
        PEER_FILE_FETCH,
        INFERENCE_CREDENTIAL,
        GATEWAY_CREDENTIAL,
        CONTROL_CHANGE,
        CONTROL_REFUSED,
        CONTROL_APPLIED,
        RESOURCE_LIST,
        RESOURCE_READ,
        PEER_HANDLE_REDEEM,
        DELEGATION_START,
        FORMATION_ENDED,
        MEMBER_CALL,
        MEMBER_CALL_BUSY,
        MEMBER_CALL_START,
        SPAWNER_ENDED,
        TASK_CONTINUED,
        TOOLS_REFRESHED,
        HARNESS_EXIT,
        HARNESS_FAILED,
        HARNESS_INTERRUPT,
        HARNESS_NOTE,
        HARNESS_QUOTA,
        HARNESS_RETRY,
        HARNESS_SESSION,
        HARNESS_SESSION_FORGOTTEN,
        HARNESS_START,
        HARNESS_WARNING,
    )
}
