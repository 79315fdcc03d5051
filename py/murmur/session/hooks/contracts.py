"""Which hooks a capsule has, and which of them hear an event. spec/artifacts.md 15.1."""

import dataclasses
from collections.abc import Mapping
from typing import Final, Literal

from murmur.manifest.artifact import hook_contract_of
from murmur.manifest.hook import BINDINGS, HookContract
from murmur.session.artifacts import StagedArtifact

Handler = Literal[
    "on-stage",
    "on-session-start",
    "on-task-start",
    "on-inference",
    "on-tool-call",
    "on-shell",
    "on-compaction",
    "on-task-end",
    "on-session-end",
]

ARTIFACT: Final = "artifact"
"""The arm of `on-inference`, which no commit policy spells."""


@dataclasses.dataclass(frozen=True, slots=True)
class StagedHook:
    """One `runtime: hook` entry, ready to be called. `name` is what traces and texts call it."""

    artifact: StagedArtifact
    contract: HookContract
    on_overflow: Literal["drop", "block"]

    @property
    def name(self) -> str:
        """The bare name: full ones may not stand in the name of its log."""
        return self.artifact.entry.bare_name

    @property
    def is_async(self) -> bool:
        return self.contract.execution_mode == "async"

    def hears(self, handler: Handler) -> bool:
        """Whether it is dispatched for that event. Without a binding: all, but async never
        `on-stage`.
        """
        if self.contract.binding is not None:
            return self.contract.binding == handler
        return not (self.is_async and handler == "on-stage")

    def honours(self, handler: Handler, arm: str) -> bool:
        """Whether the runtime does what that output of that handler says."""
        if handler == "on-inference":
            return arm == ARTIFACT and not self.is_async
        return arm == BINDINGS[handler] and arm == self.contract.commit_policy


def staged_hooks(artifacts: Mapping[str, StagedArtifact]) -> tuple[StagedHook, ...]:
    """The capsule's hooks in manifest order. Raises E-IO-003 for a contract that no hook may have.

    Staging has checked the contracts before it compiled anything.
    """
    return tuple(
        StagedHook(
            artifact, hook_contract_of(artifact.manifest, artifact.entry.label), entry.on_overflow
        )
        for artifact in artifacts.values()
        if (entry := artifact.entry).runtime == "hook"
    )


def compacts(hooks: tuple[StagedHook, ...]) -> bool:
    """Whether some hook hears `on-compaction`."""
    return any(hook.hears("on-compaction") for hook in hooks)
