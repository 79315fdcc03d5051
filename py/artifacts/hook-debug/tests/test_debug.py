"""What a line holds of an event."""

import json
from enum import Enum
from types import SimpleNamespace

from debug_hook.lines import line


class _Kind(Enum):
    OTHER = 1


def test_scalars_are_written_lists_left_out_and_inner_records_flattened() -> None:
    outcome = SimpleNamespace(status="ok", duration_ms=3)
    event = SimpleNamespace(
        turn=1, argv=["a"], script=None, ratio=0.5, kind=_Kind.OTHER, outcome=outcome
    )
    assert json.loads(line("shell", event)) == {
        "event": "shell",
        "turn": 1,
        "script": None,
        "ratio": 0.5,
        "kind": "OTHER",
        "outcome.status": "ok",
        "outcome.duration_ms": 3,
    }
