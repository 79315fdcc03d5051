"""The tools that a session can call now: those it was staged with, and what was pulled since.

spec/sessions.md 11.1 and 15.9; spec/registry.md 18. Everything that looks a tool up reads the same
views: gate, dispatch, plans, and the list that the model is sent. A pulled artifact's name is no
other tool's (`Management` sees to that), and none of them is known under it before or after.
"""

from collections.abc import Collection, Mapping
from types import MappingProxyType

from murmur.session.artifacts import StagedArtifact, tool_of
from murmur.session.guest_calls import GuestCalls
from murmur.session.inventory import Tool
from murmur.session.protection import Protection
from murmur.session.stage import Staged


class CallableTools:
    """Tools by bare name, the texts of skills, which were pulled: views that are always current.

    Changes come from the thread of a call that is under way. `guest_calls` and `protection` learn
    of a tool before it can be found here.
    """

    def __init__(
        self, staged: Staged, guest_calls: GuestCalls, protection: Protection | None
    ) -> None:
        self._guest_calls = guest_calls
        self._protection = protection
        self._scope = staged.capsule.capabilities.filesystem_scope
        self._tools = dict(staged.tools)
        self._skills = {
            artifact.entry.bare_name: artifact.skill
            for artifact in staged.artifacts.values()
            if artifact.skill is not None
        }
        self._pulled = {
            artifact.entry.bare_name
            for name, artifact in staged.artifacts.items()
            if staged.prepared.pulled_by(name) is not None
        }

    @property
    def tools(self) -> Mapping[str, Tool]:
        return MappingProxyType(self._tools)

    @property
    def skills(self) -> Mapping[str, str]:
        return MappingProxyType(self._skills)

    @property
    def pulled(self) -> Collection[str]:
        return self._pulled

    def add(self, artifact: StagedArtifact) -> None:
        """Takes on a tool or skill that was pulled. Raises E-IO-003 for a folder that cannot be
        used."""
        tool = tool_of(artifact)
        assert tool is not None
        if artifact.compiled is not None:
            self._guest_calls.add(artifact)
        if self._protection is not None:
            self._protection.add(tool, self._scope)
        if artifact.skill is not None:
            self._skills[tool.name] = artifact.skill
        self._pulled.add(tool.name)
        self._tools[tool.name] = tool

    def remove(self, name: str) -> None:
        """From now on nothing is found by that bare name; one that is not there is no error.

        What a call of it needs stays: a step of a plan may be making one.
        """
        self._tools.pop(name, None)
