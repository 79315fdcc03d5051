"""One call of the reporter: the input's operation, its members, and the result (spec 16.3).

`state/report.json` holds the newest report, or null, and the steps told since the one before it.
"""

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from murmur_tooling.documents import read_json
from murmur_tooling.members import Members, ToolError, invalid, read_members
from murmur_tooling.outcome import Outcome, compact, passed, refused
from murmur_tooling.state import replace_file, sole_writer, unusable

NAME = "report.json"
OPERATIONS: Mapping[str, tuple[str, ...]] = {
    "report": ("status", "summary", "details", "data"),
    "progress": ("message", "done", "total"),
}
STATUSES = ("done", "partial", "blocked", "failed")
TEXT_BYTES = 64 * 1024
DATA_BYTES = 256 * 1024
STEPS_KEPT = 500
_MOST = 10**9


def tell(data: str | None, state: Callable[[], Path]) -> Outcome:
    """Carry one operation out in the store that `state` gives or refuses."""
    metadata = (("state_effect", "mutate"), ("resource_id", f"state:{NAME}"))
    try:
        operation, members = read_members(data, OPERATIONS)
        folder = state()
        if operation == "report":
            entry = _report(members)
        else:
            entry = _step(members)
        result = _store(folder, operation, entry)
    except ToolError as problem:
        return refused(problem, metadata)
    shown = entry["status"] if operation == "report" else entry["message"]
    return passed(f"{operation}: {shown}", result, metadata)


def _report(members: Members) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "status": members.choice("status", STATUSES),
        "summary": _text(members, "summary"),
    }
    if members.given("details"):
        entry["details"] = _text(members, "details")
    if members.given("data"):
        entry["data"] = members.mapping("data")
        try:
            size = len(compact(entry["data"]).encode())
        except UnicodeEncodeError:
            raise invalid("data holds half a surrogate pair") from None
        if size > DATA_BYTES:
            raise ToolError("too_large", f"data is {size} bytes; at most {DATA_BYTES} are kept")
    return entry


def _step(members: Members) -> dict[str, Any]:
    entry: dict[str, Any] = {"message": _text(members, "message")}
    if members.given("done") or members.given("total"):
        total = members.whole("total", None, 1, _MOST)
        entry |= {"done": members.whole("done", None, 0, total), "total": total}
    return entry


def _text(members: Members, key: str) -> str:
    value = members.text(key)
    if not value.strip():
        raise invalid(f"{key} is blank")
    if len(value.encode()) > TEXT_BYTES:
        message = f"{key} is {len(value.encode())} bytes; at most {TEXT_BYTES} are kept"
        raise ToolError("too_large", message)
    return value


def _store(folder: Path, operation: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    path = folder / NAME
    with sole_writer(folder, NAME):
        held = _held(path)
        at = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        if operation == "report":
            held["report"] = {"at": at, **entry}
        else:
            if held["report"] is not None:
                # What comes after a report is the next piece of work.
                held["report"], held["progress"], held["told"] = None, [], 0
            held["progress"] = [*held["progress"], {"at": at, **entry}][-STEPS_KEPT:]
            held["told"] += 1
        replace_file(path, (json.dumps(held, ensure_ascii=False, indent=2) + "\n").encode())
    return {"path": f"state/{NAME}", "at": at, "steps": held["told"]}


def _held(path: Path) -> dict[str, Any]:
    try:
        value = read_json(path.read_bytes())
        if isinstance(value["progress"], list) and isinstance(value["told"], int):
            return {key: value[key] for key in ("report", "progress", "told")}
    except FileNotFoundError:
        return {"report": None, "progress": [], "told": 0}
    except OSError as problem:
        raise unusable(path, problem) from None
    except (ValueError, KeyError, TypeError):
        pass
    # Written whole by every call: whoever changed it since may want it.
    message = f"{path} was not written by this tool; move it away"
    raise ToolError("state_unavailable", message)
