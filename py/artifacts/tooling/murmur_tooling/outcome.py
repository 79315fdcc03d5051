"""What a call comes to, as `murmur:tool/run` reports it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from murmur_tooling.members import ToolError

Notes = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """A call's result: `status` is `passed`, `failed` (refused, missing) or `error` (bad input).

    `data` is a JSON object with `ok`, and `error_kind` and `message` where that is false.
    """

    status: str
    summary: str
    data: str
    truncated: bool = False
    metadata: Notes = ()
    data_path: str | None = None


def passed(
    summary: str,
    result: Mapping[str, Any],
    metadata: Notes = (),
    truncated: bool = False,
    data_path: str | None = None,
) -> Outcome:
    """A call that did what it was asked."""
    data = compact({"ok": True, **result})
    return Outcome("passed", summary, data, truncated, metadata, data_path)


def refused(problem: ToolError, metadata: Notes = ()) -> Outcome:
    """A call that did not."""
    refusal = {"ok": False, "error_kind": problem.kind, "message": str(problem)}
    status = "error" if problem.kind == "invalid_input" else "failed"
    return Outcome(status, str(problem), compact(refusal), metadata=metadata)


def compact(value: object) -> str:
    """JSON on one line, in the order in which it was made."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
