"""Refusals of a manifest: which field, what stands there, what would be accepted.

E-MAN-001, E-MAN-002 and E-MAN-003, spec/diagnostics.md 4.9. The first missing field is reported
before the first wrong one. Values of fields that hold secrets are never quoted.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from murmur.core.diagnostics import MurmurError, error
from murmur.manifest.config import kind_of
from murmur.manifest.document import START, Document, Path, Place
from murmur.manifest.lowering import dotted

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

_STEP = re.compile(r"([^.\[\]]+)|\[(\d+)\]")
_SECRET = ("api_key", "endpoint")
_SHOWN = 60


class Refusals:
    """Makes the refusals of one file; knows its name, its places and its lowered spellings."""

    def __init__(
        self,
        file: str,
        document: Document | None = None,
        origins: Mapping[Path, Path] | None = None,
    ) -> None:
        self._file = file
        self._document = document
        self._origins = origins or {}

    def at(self, path: Path) -> str:
        """`file:line:column` of a field, by its new spelling or the author's."""
        place = self._document.place(self.spelled(path)) if self._document else START
        return f"{self._file}:{place}"

    def spelled(self, path: Path) -> Path:
        """`path` as the author wrote it, before old spellings were lowered."""
        return self._origins.get(path, path)

    def syntax(self, reason: str, place: Place = START) -> MurmurError:
        """E-MAN-002: no YAML document that can be used."""
        at = f"{self._file}:{place}"
        return error("E-MAN-002", at=at, reason=reason)

    def missing(self, path: Path) -> MurmurError:
        """E-MAN-001: a required field is absent."""
        path = self.spelled(path)
        field = dotted(path)
        return error("E-MAN-001", at=self.at(path), field=field, key=path[-1])

    def rejected(self, path: Path, reason: str, hint: str = "") -> MurmurError:
        """E-MAN-003: a value of the wrong type, or one that murmur does not take."""
        path = self.spelled(path)
        field = dotted(path) or "the file"
        return error("E-MAN-003", at=self.at(path), field=field, reason=reason, hint=hint)

    def invalid(self, found: list["Finding"], before: MurmurError | None = None) -> MurmurError:
        """The refusal for what validation found: a missing field before a wrong one.

        `before` is an E-MAN-003 that was known before the validation; only E-MAN-001 precedes it.
        """
        for each in found:
            if each.missing and _decision(each) is None:
                return self.missing(each.path)
        if before is not None:
            return before
        first = found[0]
        if first.missing:
            return self.rejected(first.path, _decision(first) or "")
        if _is_peer_tasks(first.path) and first.is_type:
            place = self._document.place(first.path) if self._document else START
            return self.syntax(f"{dotted(first.path)}: {first.reason}", place)
        return self.rejected(first.path, first.reason, first.hint)


@dataclass(frozen=True, slots=True)
class Finding:
    """What one validation failed on. `is_type` is false for a block's own rules."""

    path: Path
    reason: str = ""
    hint: str = ""
    missing: bool = False
    is_type: bool = True


def findings(problem: "ValidationError") -> list[Finding]:
    """What pydantic found, in the order of the models."""
    return [_finding(detail) for detail in problem.errors(include_url=False)]


def first_of(found: list[Finding]) -> Finding:
    """The one to report where every missing key comes before a wrong value."""
    return next((each for each in found if each.missing), found[0])


def _finding(detail: "ErrorDetails") -> Finding:
    path = _path(detail["loc"])
    if detail["type"] == "missing":
        return Finding(path, missing=True)
    context = detail.get("ctx", {})
    if detail["type"] == "murmur_required":
        return Finding(path + _steps(str(context["field"])), missing=True, is_type=False)
    if detail["type"] == "murmur_refused":
        path += _steps(str(context["field"]))
        return Finding(path, str(context["reason"]), str(context["hint"]), is_type=False)
    reason = f"it must be {_accepted(detail)}, and is {_found(path, detail['input'])}"
    quoted = detail["type"] == "string_type" and isinstance(detail["input"], int | float)
    return Finding(path, reason, "put the value in quotes" if quoted else "")


def _decision(found: Finding) -> str | None:
    """The reason of E-MAN-003 where a missing key is filed under it; None for E-MAN-001."""
    names = tuple(part for part in found.path if isinstance(part, str))[-2:]
    return _DECISIONS.get(dotted(names)) if found.is_type else None


# Required fields whose absence the reference files under E-MAN-003: a choice never inferred.
_DECISIONS = {
    f"{block}.{key}": f"it is never inferred: write {key}: true or {key}: false"
    for block, key in (
        ("task_io", "read"),
        ("conversation", "read"),
        ("plan", "submit"),
        ("dirs", "list_dir"),
        ("peer_tasks", "accept"),
    )
} | {
    "gateway.endpoint": "a gateway needs the base URL of its upstream",
    "peer_fetch.allow": "the list is missing; leave the whole block out to allow no peer",
    "keep_working.message": "keep_working needs both message and limit",
    "keep_working.limit": "keep_working needs both message and limit",
}


def _is_peer_tasks(path: Path) -> bool:
    # spec/formations-and-newer-manifest.md A8 files these two under E-MAN-002.
    return path[:2] == ("exports", "peer_tasks")


def _path(location: tuple[int | str, ...]) -> Path:
    return tuple(part for part in location if part != "[key]")


def _steps(field: str) -> Path:
    """The path that a block's own rule names within the block: `allow[0]`."""
    return tuple(int(i) if i else name for name, i in _STEP.findall(field))


def _accepted(detail: "ErrorDetails") -> str:
    """What would be accepted, in words."""
    context: dict[str, Any] = detail.get("ctx", {})
    match detail["type"]:
        case "string_type":
            return "a string"
        case "bool_type":
            return "true or false"
        case "int_type" | "int_from_float":
            return "an integer"
        case "float_type" | "finite_number":
            return "a number"
        case "list_type":
            return "a list"
        case "dict_type" | "model_type" | "model_attributes_type":
            return "a mapping"
        case "literal_error":
            return str(context["expected"])
        case "greater_than":
            return f"above {context['gt']}"
        case "greater_than_equal":
            return f"at least {context['ge']}"
        case "less_than_equal":
            return f"at most {context['le']}"
        case "less_than":
            return f"below {context['lt']}"
        case _:
            return f"something else ({detail['msg']})"


def _found(path: Path, value: object) -> str:
    """What stands there, in words; short, and only the kind of it where it may be a secret."""
    secret = any(part in _SECRET for part in path)
    if secret or value is None or isinstance(value, Mapping | list):
        return kind_of(value)
    if isinstance(value, bool):
        return str(value).lower()
    text = str(value)
    shown = text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
    return f"'{shown}'" if isinstance(value, str) else shown
