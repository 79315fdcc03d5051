"""One call of the corpus: the input's operation, its members, and the result (spec 16.3)."""

import uuid
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from murmur_tooling.members import Members, ToolError, invalid, read_members
from murmur_tooling.outcome import Outcome, passed, refused

from corpus_tool import lines
from corpus_tool.ranking import rank
from corpus_tool.schema import violations
from corpus_tool.settings import Settings, read_settings

OPERATIONS: Mapping[str, tuple[str, ...]] = {
    "append": ("type", "record"),
    "get": ("id",),
    "read_recent": ("type", "limit"),
    "search": ("query", "type", "k"),
    "verify": (),
}
RESOURCE = ("resource_id", f"state:{lines.NAME}")
_SHOWN_VIOLATIONS = 10
_SHOWN_PROBLEMS = 50


def keep(data: str | None, state: Callable[[], Path], environ: Mapping[str, str]) -> Outcome:
    """Carry one operation out in the store that `state` gives or refuses."""
    metadata: tuple[tuple[str, str], ...] = ()
    try:
        operation, members = read_members(data, OPERATIONS)
        effect = "mutate" if operation == "append" else "read"
        metadata = (("state_effect", effect), RESOURCE)
        # What this call needs of its operator comes before what is wrong with its input.
        folder = state()
        settings = read_settings(environ)
        result = _DO[operation](members, folder, settings)
    except ToolError as problem:
        return refused(problem, metadata)
    return passed(f"{operation}: {_summary(operation, result)}", result, metadata)


def _append(members: Members, folder: Path, settings: Settings) -> dict[str, Any]:
    kind = settings.types[members.choice("type", tuple(settings.types))]
    record = members.mapping("record")
    broken = list(violations(record, kind.schema))
    if broken:
        shown = "; ".join(broken[:_SHOWN_VIOLATIONS])
        more = len(broken) - _SHOWN_VIOLATIONS
        text = f"{shown}; and {more} more" if more > 0 else shown
        raise ToolError("schema_violation", f"the record is no {kind.name}: {text}")
    try:
        line = lines.append(
            folder,
            {
                "id": f"{kind.prefix}_{uuid.uuid4().hex}",
                "type": kind.name,
                "schema_version": kind.schema_version,
                "config_version": settings.config_version,
                "at": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
                "record": record,
            },
        )
    except UnicodeEncodeError:
        raise invalid("record holds half a surrogate pair") from None
    return {key: line[key] for key in ("id", "type", "seq", "at", "sha256")}


def _get(members: Members, folder: Path, settings: Settings) -> dict[str, Any]:
    wanted = members.text("id")
    for line in lines.newest_lines(folder):
        if line.value.get("id") == wanted:
            return {"entry": _shown(line.value)}
    raise ToolError("not_found", f"the corpus has no record {wanted}")


def _read_recent(members: Members, folder: Path, settings: Settings) -> dict[str, Any]:
    usual, most = settings.read_recent
    limit = members.whole("limit", usual, 1, most)
    kind = _type(members, settings)
    entries = []
    for line in lines.newest_lines(folder):
        if kind in (None, line.value.get("type")):
            entries.append(_shown(line.value))
        if len(entries) == limit:
            break
    return {"entries": entries}


def _search(members: Members, folder: Path, settings: Settings) -> dict[str, Any]:
    usual, most = settings.search
    query = members.text("query")
    if not query.strip():
        raise invalid("query is blank; it must name what to look for")
    count = members.whole("k", usual, 1, most)
    kind = _type(members, settings)
    held = [
        line.value
        for line in lines.lines(folder)
        if line.problem is None and kind in (None, line.value.get("type"))
    ]
    found = rank(query, [value.get("record") for value in held], count)
    return {
        "entries": [{"score": score, **_shown(held[place])} for place, score in found],
        "searched": len(held),
    }


def _verify(members: Members, folder: Path, settings: Settings) -> dict[str, Any]:
    """Every line's hash, the chain through them, and whether each record fits its type today."""
    problems: list[dict[str, Any]] = []
    sound = 0
    previous: Mapping[str, Any] = {}
    for line in lines.lines(folder):
        found = [line.problem] if line.problem else _breaks(line.value, previous, settings)
        problems += [{"line": line.number, "problem": each} for each in found]
        if line.problem is None:
            sound += 1
            previous = line.value
    return {
        "sound": not problems,
        "records": sound,
        "problems": problems[:_SHOWN_PROBLEMS],
        "problem_count": len(problems),
    }


def _breaks(value: Mapping[str, Any], previous: Mapping[str, Any], settings: Settings) -> list[str]:
    found = []
    if value.get("previous") != previous.get("sha256"):
        found.append("it does not follow the sound line before it")
    kind = settings.types.get(str(value.get("type")))
    if kind is None:
        found.append(f"config.types has no type {value.get('type')}")
    elif kind.schema_version == value.get("schema_version"):
        found += list(violations(value.get("record"), kind.schema))[:1]
    return found


def _type(members: Members, settings: Settings) -> str | None:
    return members.choice("type", tuple(settings.types)) if members.given("type") else None


def _shown(value: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value.get(key) for key in ("id", "type", "schema_version", "seq", "at", "record")}


def _summary(operation: str, result: Mapping[str, Any]) -> str:
    if operation == "append":
        return str(result["id"])
    if operation == "get":
        return str(result["entry"]["id"])
    if operation == "verify":
        return f"{result['records']} sound records, {result['problem_count']} problems"
    return f"{len(result['entries'])} records"


_DO: Mapping[str, Callable[[Members, Path, Settings], dict[str, Any]]] = {
    "append": _append,
    "get": _get,
    "read_recent": _read_recent,
    "search": _search,
    "verify": _verify,
}
