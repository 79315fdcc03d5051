"""Calls of a capsule's hooks: environment, folders, limits and gate of each.

spec/artifacts.md 6 (the Hook row), 14 and 15.6. A hook has its own guest host and one instance of
the session; `on-stage` alone runs in an instance that is thrown away, before there is a gateway.
"""

import dataclasses
import json
from collections.abc import Mapping
from typing import Any, Final

from murmur.guest.calls import GateRules, GuestCall, GuestFailure, Limits, Preopen
from murmur.guest.client import Guests
from murmur.guest.processes import GuestsFailed
from murmur.guest.questions import LIFECYCLE_INTERFACE, Answering
from murmur.inference.gateway import Gateway
from murmur.inference.gateway_routes import GATEWAY_AUTHORITY, Route, new_token
from murmur.manifest.capsule import ArtifactEntry
from murmur.manifest.session import Evaluation
from murmur.session.hooks.answers import HookAnswer, read_answer
from murmur.session.hooks.contracts import Handler, StagedHook
from murmur.session.stage import Staged
from murmur.session.state import PREOPEN

REQUIRED_EXPORTS: Final = (
    "on-session-start",
    "on-inference",
    "on-tool-call",
    "on-shell",
    "on-compaction",
    "on-session-end",
)
_HOST_VARIABLES: Final = ("MURMUR_CASE_ID", "MURMUR_FORMATION_ID")


@dataclasses.dataclass(frozen=True, slots=True)
class _Furnished:
    """One hook with everything that a call of it needs."""

    hook: StagedHook
    env: tuple[tuple[str, str], ...]
    limits: Limits
    preopens: tuple[Preopen, ...]
    gate: GateRules | None

    def call(self, handler: Handler, event: Mapping[str, Any], *, lasting: bool) -> GuestCall:
        artifact = self.hook.artifact
        assert artifact.compiled is not None
        return GuestCall(
            artifact=artifact.entry.name,
            role="hook",
            compiled=artifact.compiled,
            key=artifact.key,
            function=f"{LIFECYCLE_INTERFACE}#{handler}",
            arguments=(dict(event),),
            env=self.env,
            preopens=self.preopens,
            limits=self.limits,
            gate=self.gate,
            in_task=False,
            lasting=lasting,
            must_export=REQUIRED_EXPORTS,
        )


class HookCalls:
    """Calls hooks by name, from any thread: calls of one hook queue up behind each other."""

    def __init__(
        self,
        staged: Staged,
        hooks: tuple[StagedHook, ...],
        guests: Guests,
        gateway: Gateway | None,
    ) -> None:
        """`gateway` None is staging, where no hook reaches a host."""
        self._guests = guests
        self._gateway = gateway
        self._tokens: list[str] = []
        self._furnished = {
            hook.name: _Furnished(
                hook=hook,
                env=tuple(hook_environment(staged, hook.artifact.entry).items()),
                limits=_limits(staged),
                preopens=_preopens(staged, hook.artifact.entry.name),
                gate=self._open_gate(staged, hook.artifact.entry),
            )
            for hook in hooks
        }

    def _open_gate(self, staged: Staged, entry: ArtifactEntry) -> GateRules | None:
        if self._gateway is None:
            return None
        attached = staged.gateways.get(entry.name)
        rules = staged.prepared.grants[entry.name].network
        token = new_token()
        self._tokens.append(token)
        target = attached.target if attached else None
        self._gateway.register(token, Route(artifact=entry.name, rules=rules, target=target))
        return GateRules(
            listener=self._gateway.address,
            token=token,
            rules=tuple(rule.text for rule in rules),
            gateway=target is not None,
        )

    def call(
        self,
        hook: StagedHook,
        handler: Handler,
        event: Mapping[str, Any],
        answering: Answering,
        *,
        lasting: bool = True,
    ) -> HookAnswer | None:
        """The handler's answer; None where the hook has no such handler. Never raises."""
        call = self._furnished[hook.name].call(handler, event, lasting=lasting)
        try:
            result = self._guests.invoke(call, answering=answering)
        except (GuestsFailed, OSError) as failure:
            reason = f"{call.subject} could not be called: {failure}"
            result = GuestFailure("load", reason)
        if isinstance(result, GuestFailure) and result.kind == "absent":
            return None if handler != "on-stage" else read_answer(result)
        return read_answer(result)

    def close(self) -> None:
        """Takes the hooks' routes away; no hook is called any more."""
        for token in self._tokens:
            assert self._gateway is not None
            self._gateway.unregister(token)
        self._furnished = {}
        self._tokens = []


def _limits(staged: Staged) -> Limits:
    declared = staged.capsule.capabilities.limits
    return Limits(
        memory_bytes=declared.memory_bytes,
        table_elements=declared.table_elements,
        instances=declared.instances,
        deadline_seconds=declared.hook_deadline,
    )


def _preopens(staged: Staged, name: str) -> tuple[Preopen, ...]:
    """The folders that a hook is granted, its durable store among them."""
    folders = [Preopen(each.root.fileno(), each.name) for each in staged.hook_folders[name]]
    if name in staged.state:
        folders.append(Preopen(staged.state[name].root.fileno(), PREOPEN))
    return tuple(folders)


def hook_environment(staged: Staged, entry: ArtifactEntry) -> dict[str, str]:
    """A hook's whole environment: runtime values alone. spec/artifacts.md 14."""
    values: dict[str, str] = {}
    attached = staged.gateways.get(entry.name)
    if attached is not None:
        values["MURMUR_GATEWAY_ENDPOINT"] = f"http://{GATEWAY_AUTHORITY}{attached.path}"
    config = staged.prepared.grants[entry.name].config
    if config is not None:
        values["MURMUR_ARTIFACT_CONFIG"] = config
    observability = staged.capsule.observability
    if observability.otel_endpoint:
        values["MURMUR_OTEL_ENDPOINT"] = observability.otel_endpoint
    if observability.eval is not None:
        values["MURMUR_EVAL_CONFIG"] = _evaluation(observability.eval)
        if observability.eval.dataset_id is not None:
            values["MURMUR_DATASET_ID"] = observability.eval.dataset_id
    host = staged.prepared.launch.environ
    values |= {name: host[name] for name in _HOST_VARIABLES if name in host}
    return values


def _evaluation(declared: Evaluation) -> str:
    """`MURMUR_EVAL_CONFIG`: the dataset's label and the scorers, keys that are not set left out."""
    scorers = [
        {key: value for key, value in dataclasses.asdict(scorer).items() if value is not None}
        for scorer in declared.scorers
    ]
    facts = {"dataset_id": declared.dataset_id, "scorers": scorers}
    return json.dumps(facts, separators=(",", ":"), ensure_ascii=False)
