"""A hook that may commit nothing and answers every handler with one arm: a fault each time.

spec/artifacts.md 15.2.
"""

import typing
from collections.abc import Mapping
from typing import Any, Final

from murmur.session.hooks.contracts import Handler
from tests.endtoend.capsule import shell_turn
from tests.endtoend.scenarios.calls import DONE, SHELL
from tests.endtoend.scenarios.hooks import COMPACTED, fault, hook, hooked, long_call
from tests.endtoend.scenarios.scenario import Expected, Launch, Scenario, at, task

# One answer of every arm that the handler does not honour, each of which is a fault.
ARMS: Final[Mapping[str, list[Any]]] = {
    "replace-context": ["replace-context", [["user", "x"]]],
    "write-manifests": ["write-manifests", [["sh", "name: sh\n"]]],
    "artifact": ["artifact", '{"a": 1}'],
    "reopen-task": ["reopen-task", "again"],
    "seed-context": ["seed-context", [["user", "x"]]],
    "deny": ["deny", "no"],
}
HANDLERS: Final = [each for each in typing.get_args(Handler) if each != "on-stage"]
# What a hook without a commit policy is listened to for all the same.
HONOURED: Final = {("on-inference", "artifact")}


def wrong(arm: str) -> list[Expected]:
    """The faults of a hook that answers every handler with that arm, in the order of the calls."""
    heard = [
        "on-session-start",
        "on-task-start",
        "on-inference",
        "on-compaction",
        "on-tool-call",
        "on-inference",
        "on-compaction",
        "on-shell",
        "on-inference",
        "on-compaction",
        "on-task-end",
        "on-session-end",
    ]
    return [fault(event, arm) for event in heard if (event, arm) not in HONOURED]


def unheeded(arm: str) -> Scenario:
    """A session whose hook answers everything with one arm that it may not commit."""
    turns = [long_call("a"), shell_turn("sh", "true"), DONE]
    answers = {handler.replace("-", "_"): [ARMS[arm]] * 3 for handler in HANDLERS}
    return hooked(
        f"a listening hook that answers {arm} everywhere",
        turns,
        [hook("probe-listens", **answers)],
        Launch(
            events=[
                "session_start",
                *task(
                    "inference",
                    at("compaction_declined", reason="no_hook_replacement"),
                    "tool_call",
                    "inference",
                    "compaction_declined",
                    "tool_call",
                    "shell",
                    "inference",
                    "compaction_declined",
                ),
                *wrong(arm),
                at("session_end", exit_status="ok"),
            ],
            files=["a"],
            result="done",
        ),
        **{**SHELL, **COMPACTED},
    )


UNHEEDED: Final = [unheeded(arm) for arm in ARMS]
