"""Hooks whose components are scripted: everything around them is the session's own."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal, cast

from murmur.core.safefs import Root
from murmur.guest.questions import Answer, Answering, Question
from murmur.manifest.grants import Capabilities
from murmur.manifest.hook import parse_contract
from murmur.session.hooks.answers import HookAnswer, Output
from murmur.session.hooks.contracts import Handler, StagedHook
from murmur.session.hooks.dispatch import Hooks
from murmur.session.hooks.faults import Faults
from murmur.session.hooks.imports import Imports
from murmur.session.hooks.scope import Scope

Answers = HookAnswer | None | Callable[[Mapping[str, Any], Answering], HookAnswer | None]


def hook(
    name: str = "h",
    *,
    binding: str | None = None,
    mode: str = "blocking",
    policy: str = "none",
    granted: Capabilities | None = None,
    on_overflow: Literal["drop", "block"] = "drop",
) -> StagedHook:
    """A staged hook without a component."""
    entry = SimpleNamespace(bare_name=name, name=f"local/{name}", capabilities=granted)
    artifact = cast(Any, SimpleNamespace(entry=entry))
    return StagedHook(artifact, parse_contract(binding, mode, policy), on_overflow)


@dataclasses.dataclass(slots=True)
class Script:
    """What each hook answers to each handler; `none` where nothing is said."""

    said: dict[tuple[str, str], Answers] = dataclasses.field(default_factory=dict)
    heard: list[tuple[str, str, Mapping[str, Any]]] = dataclasses.field(default_factory=list)

    def on(self, name: str, handler: Handler, answer: Answers) -> "Script":
        self.said[name, handler] = answer
        return self

    def call(
        self, hook: StagedHook, handler: Handler, event: Mapping[str, Any], answering: Answering
    ) -> HookAnswer | None:
        self.heard.append((hook.name, handler, event))
        answer = self.said.get((hook.name, handler), Output())
        return answer(event, answering) if callable(answer) else answer

    def names(self, handler: Handler) -> list[str]:
        """Who heard of an event, in order."""
        return [name for name, heard, _ in self.heard if heard == handler]


def hooks_of(
    script: Script, staged: Sequence[StagedHook], records: Root, imports: Imports | None = None
) -> Hooks:
    """The hooks of a session, answered by the script."""
    scope = imports.scope if imports is not None else Scope()
    return Hooks(staged, script.call, imports or Imports(scope, None, None), scope, Faults(records))


def log_of(folder: Path, name: str = "h") -> str:
    """A hook's log; empty without one."""
    path = folder / "logs" / f"hook-{name}.log"
    return path.read_text() if path.exists() else ""


def ask(answering: Answering, interface: str, function: str, *arguments: Any) -> Answer:
    """Asks as a hook's component does."""
    return answering(Question(interface, function, arguments, deadline=0.0))
