"""`roster.yaml` on the wire. Unlike a manifest it refuses unknown keys, at any level.

spec/formations-and-newer-manifest.md B1.
"""

import re
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, Strict, model_validator

from murmur.manifest import roster as results
from murmur.manifest.models.base import Block, Filled, Flag, Text, refuse
from murmur.manifest.names import NAME_RULE, is_bare_name, is_full_name
from murmur.manifest.unknown import nearest

_MEMBER = re.compile(r"[a-z][a-z0-9-]{0,31}")
_RESERVED_VERSIONS = ("latest", "stable", "edge")


class ClosedBlock(Block):
    """A block that knows all of its keys."""

    @model_validator(mode="before")
    @classmethod
    def _knows_every_key(cls, data: Any) -> Any:
        known = list(cls.known_keys())
        for key in data if isinstance(data, dict) else ():
            if key not in known:
                meant = nearest(str(key), known)
                refuse("no such key here", str(key), f"did you mean {meant}?" if meant else "")
        return data


class MemberBlock(ClosedBlock):
    result_type = results.Member
    name: Text
    capsule: Text
    version: Filled
    entry: Flag = False

    @model_validator(mode="after")
    def _is_named(self) -> Self:
        if not _MEMBER.fullmatch(self.name):
            refuse(
                f"'{self.name}' does not begin with a letter, or holds something else than "
                "lowercase letters, digits and hyphens, or is longer than 32 characters",
                "name",
            )
        if not is_full_name(self.capsule):
            hint = f"write local/{self.capsule}" if is_bare_name(self.capsule) else ""
            refuse(f"'{self.capsule}' is not <scope>/<name>, each {NAME_RULE}", "capsule", hint)
        if self.version in _RESERVED_VERSIONS:
            refuse(f"'{self.version}' is no exact version", "version", "write one such as 1.0.0")
        return self


class RuleBlock(ClosedBlock):
    result_type = results.Rule
    source: Text = Field(alias="from")
    targets: list[Text] = Field(alias="to")

    @model_validator(mode="after")
    def _names_others(self) -> Self:
        if not self.targets:
            refuse("it names nobody", "to")
        if self.source in self.targets:
            refuse(f"it lists {self.source}, whose rule this is", "to")
        return self


class RosterBlock(ClosedBlock):
    """The whole file; `reachability: all` is taken out before."""

    result_type = results.Roster
    file_keys: ClassVar[tuple[str, ...]] = ("roster_version",)
    roster_version: Annotated[int, Strict()]
    members: list[MemberBlock]
    reachability: list[RuleBlock] = Field(default_factory=list)

    @model_validator(mode="after")
    def _is_of_this_version(self) -> Self:
        if self.roster_version != 1:
            reason = f"this mur reads version 1, and it is {self.roster_version}"
            refuse(reason, "roster_version")
        if not self.members:
            refuse("a formation has at least one member", "members")
        return self

    def result(self) -> results.Roster:
        given = {key: value for key, value in self.given().items() if key not in self.file_keys}
        return results.Roster(**given)
