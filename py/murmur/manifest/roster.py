"""`roster.yaml`: the members of a formation and who may call whom, as far as the file alone says.

The checks are those that touch no store, in their order: E-ROS-001, 003, 002, 004 and 008.
spec/formations-and-newer-manifest.md B1 and B2; spec/diagnostics.md 4.12 and 6.5.
"""

from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any, Final, Literal

from murmur.core.diagnostics import MurmurError, error
from murmur.manifest.document import BadDocument, Document, Path, parse_document
from murmur.manifest.lowering import dotted
from murmur.manifest.refusal import Finding, findings, first_of

FILE: Final = "roster.yaml"


@dataclass(frozen=True, slots=True)
class Member:
    """One member: a capsule at an exact version under a name of the roster's own."""

    name: str
    capsule: str
    version: str
    entry: bool = False


@dataclass(frozen=True, slots=True)
class Rule:
    """`source` may call each member of `targets`."""

    source: str
    targets: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Roster:
    """A roster whose shape and names have passed. `reachability` "all" is every ordered pair."""

    members: tuple[Member, ...]
    reachability: Literal["all"] | tuple[Rule, ...] = ()

    def member(self, name: str) -> Member | None:
        return next((member for member in self.members if member.name == name), None)

    @property
    def entry(self) -> Member:
        """The member that the formation's task goes to."""
        return next(member for member in self.members if member.entry)

    def callees(self, name: str) -> tuple[str, ...]:
        """Whom the rules let `name` call, in roster order; nobody under "all" (B1 decides then)."""
        if self.reachability == "all":
            return ()
        called = {
            each for rule in self.reachability if rule.source == name for each in rule.targets
        }
        return tuple(member.name for member in self.members if member.name in called)


def load_roster(text: str, path: str = FILE) -> Roster:
    """The roster that `text` declares; `path` is where it was read from.

    Raises E-ROS-001, E-ROS-003, E-ROS-002, E-ROS-004 and E-ROS-008, the first that applies.
    """
    from pydantic import ValidationError

    from murmur.manifest.models.roster import RosterBlock

    if PurePath(path).name != FILE:
        raise _refusal(FILE, "the file", f"a roster is a file named {FILE}, and this is {path}")
    try:
        document = parse_document(text)
    except BadDocument as bad:
        at = f"{FILE}:{bad.place}" if bad.place else FILE
        raise _refusal(
            at, "the file", f"not a YAML document that mur reads: {bad.reason}"
        ) from None
    mapping = _with_versions(document)
    everyone = isinstance(mapping, dict) and mapping.get("reachability") == "all"
    if isinstance(mapping, dict) and everyone:
        mapping = {key: value for key, value in mapping.items() if key != "reachability"}
    try:
        block = RosterBlock.model_validate(mapping)
    except ValidationError as problem:
        raise _invalid(document, first_of(findings(problem))) from None
    roster = block.result()
    assert isinstance(roster, Roster)
    if everyone:
        roster = replace(roster, reachability="all")
    _check_names(roster, document)
    return roster


def _with_versions(document: Document) -> object:
    """The document with every unquoted number of a `version` as the text that stands there."""
    value = {} if document.value is None else document.value
    members = value.get("members") if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(members, list):
        return value
    read: list[Any] = []
    for index, member in enumerate(members):
        text = document.numbers.get(("members", index, "version"))
        if isinstance(member, dict) and text is not None:
            member = {**member, "version": text}
        read.append(member)
    return {**value, "members": read}


def _refusal(at: str, key: str, reason: str, hint: str = "") -> MurmurError:
    return error("E-ROS-001", at=at, key=key, reason=reason, hint=hint)


def _at(document: Document, path: Path) -> str:
    return f"{FILE}:{document.place(path)}"


def _invalid(document: Document, found: Finding) -> MurmurError:
    """E-ROS-001 for what validation found; inside a member it names the member too."""
    key = dotted(found.path) or "the file"
    name = _member_name(document, found.path)
    if name is not None:
        key += f" (member {name})"
    if found.path == ("reachability",) and found.is_type:
        reason, hint = f"{found.reason.replace('a list', 'all or a list', 1)}", ""
    elif found.missing:
        reason, hint = "the required key is missing", f"add `{found.path[-1]}:` there"
    else:
        reason, hint = found.reason, found.hint
    return _refusal(_at(document, found.path), key, reason, hint)


def _member_name(document: Document, path: Path) -> str | None:
    if len(path) < 2 or path[0] != "members" or not isinstance(path[1], int):
        return None
    value: Any = document.value
    member = value["members"][path[1]]
    name = member.get("name") if isinstance(member, dict) else None
    return name if isinstance(name, str) else None


def _check_names(roster: Roster, document: Document) -> None:
    """What the names say together: E-ROS-003, 002, 004, 008."""
    names: set[str] = set()
    for index, member in enumerate(roster.members):
        if member.name in names:
            at = _at(document, ("members", index, "name"))
            raise error("E-ROS-003", at=at, name=member.name)
        names.add(member.name)
    entries = [(index, each.name) for index, each in enumerate(roster.members) if each.entry]
    if len(entries) != 1:
        claimants = ", ".join(name for _, name in entries)
        reason = f"{claimants} all have entry: true" if entries else "no member has entry: true"
        path: Path = ("members", entries[1][0], "entry") if entries else ("members",)
        raise error("E-ROS-002", at=_at(document, path), reason=reason)
    if roster.reachability == "all":
        return
    for index, rule in enumerate(roster.reachability):
        for key, name in (("from", rule.source), *(("to", each) for each in rule.targets)):
            if name not in names:
                at = _at(document, ("reachability", index, key))
                raise error("E-ROS-004", at=at, source=rule.source, name=name)
    entry = entries[0][1]
    for index, rule in enumerate(roster.reachability):
        if entry in rule.targets:
            at = _at(document, ("reachability", index, "to"))
            raise error("E-ROS-008", at=at, source=rule.source, entry=entry)
