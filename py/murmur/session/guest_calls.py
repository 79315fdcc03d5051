"""Calls of the capsule's WASM artifacts: environment, folders, limits and gate of each.

spec/artifacts.md 6 (what each role is linked with) and 14 (environment by role).
"""

import dataclasses
import json
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from murmur.core.safefs import Root
from murmur.guest.calls import (
    GateRules,
    GuestCall,
    GuestFailure,
    GuestResult,
    Limits,
    Preopen,
    Role,
    ToolInput,
)
from murmur.guest.client import Guests
from murmur.guest.processes import GuestsFailed
from murmur.guest.questions import Answering, unserved
from murmur.inference.gateway import Gateway
from murmur.inference.gateway_routes import GATEWAY_AUTHORITY, Route, new_token
from murmur.manifest.capsule import ArtifactEntry
from murmur.session.accessible import accessible_folder
from murmur.session.artifacts import StagedArtifact
from murmur.session.gateways import EntryGateway
from murmur.session.grants import EntryGrants, pulled_grants, tools_manage
from murmur.session.stage import Staged
from murmur.session.state import PREOPEN

OnEvent = Callable[[str, dict[str, Any]], None]

_RUNTIME_PREFIX: Final = "MURMUR_"


@dataclasses.dataclass(frozen=True, slots=True)
class _Callable:
    """One WASM artifact with everything a call of it needs, the gate's token excepted."""

    artifact: StagedArtifact
    env: tuple[tuple[str, str], ...]
    limits: Limits
    folder: Root
    preopens: tuple[Preopen, ...]
    rules: tuple[str, ...]
    route: Route


class GuestCalls:
    """Calls tools and the driver by artifact name, one at a time, from the worker thread.

    The driver's routes are its client's; a tool's route exists while the tool runs.
    """

    def __init__(self, staged: Staged, guests: Guests, gateway: Gateway, url: str) -> None:
        """Raises E-IO-003 for a filesystem scope that is no plain folder."""
        self._staged = staged
        self._guests = guests
        self._gateway = gateway
        self._url = url
        self._manages = tools_manage(staged.capsule)
        self._callables = {
            name: _prepare(staged, artifact, staged.prepared.grants[name], url)
            for name, artifact in staged.artifacts.items()
            if artifact.compiled is not None
            and artifact.entry.runtime != "hook"
            and not (artifact.entry.runtime == "driver" and staged.harness is not None)
        }

    def add(self, artifact: StagedArtifact) -> None:
        """Takes on a tool that was pulled. Raises E-IO-003 as the constructor.

        It is kept until `close` even when it is removed: it may be the tool that asks for that.
        """
        name = artifact.entry.name
        made = _prepare(self._staged, artifact, pulled_grants(self._staged.capsule), self._url)
        before = self._callables.get(name)
        self._callables[name] = made
        if before is not None:
            before.folder.close()

    def route(self, artifact: str) -> Route:
        """Where the artifact's requests may go, for whoever registers it."""
        return self._callables[artifact].route

    def folder(self, artifact: str) -> Root:
        """The folder that the artifact sees as `.`, held until `close`."""
        return self._callables[artifact].folder

    def call_tool(
        self,
        artifact: str,
        given: ToolInput,
        *,
        on_event: OnEvent | None = None,
        answering: Answering = unserved,
        cancel: threading.Event | None = None,
        within: float | None = None,
    ) -> GuestResult:
        """Calls a tool; whatever the guest does, this returns.

        `within` is how many seconds are left to whoever asked for it, who may be a guest himself.
        """
        known = self._callables[artifact]
        token = new_token()
        self._gateway.register(token, known.route)
        try:
            return self._call(
                known,
                given,
                token,
                on_event=on_event,
                answering=answering,
                cancel=cancel,
                within=within,
            )
        finally:
            self._gateway.unregister(token)

    def call_driver(
        self,
        artifact: str,
        payload: str,
        token: str,
        on_event: OnEvent | None,
        cancel: threading.Event,
    ) -> GuestResult:
        """Calls the driver under a route that its client has registered."""
        known = self._callables[artifact]
        return self._call(
            known,
            ToolInput(payload),
            token,
            on_event=on_event,
            answering=unserved,
            cancel=cancel,
        )

    def _call(
        self,
        known: _Callable,
        given: ToolInput,
        token: str,
        *,
        on_event: OnEvent | None,
        answering: Answering,
        cancel: threading.Event | None,
        within: float | None = None,
    ) -> GuestResult:
        compiled = known.artifact.compiled
        assert compiled is not None
        role: Role = "driver" if known.artifact.entry.runtime == "driver" else "tool"
        call = GuestCall(
            artifact=known.artifact.entry.name,
            role=role,
            compiled=compiled,
            key=known.artifact.key,
            input=given,
            env=known.env,
            preopens=known.preopens,
            limits=known.limits if within is None else _at_most(known.limits, within),
            gate=GateRules(
                listener=self._gateway.address,
                token=token,
                rules=known.rules,
                gateway=known.route.target is not None,
            ),
            manages=self._manages and role == "tool",
        )
        try:
            return self._guests.call(call, on_event=on_event, answering=answering, cancel=cancel)
        except (GuestsFailed, OSError) as failure:
            return GuestFailure("load", f"{call.subject} could not be called: {failure}")

    def close(self) -> None:
        """Closes the folders held for preopens."""
        for known in self._callables.values():
            known.folder.close()


def _prepare(staged: Staged, artifact: StagedArtifact, grants: EntryGrants, url: str) -> _Callable:
    entry = artifact.entry
    attached = staged.gateways.get(entry.name)
    folder = accessible_folder(staged.directories.work_root, grants.scope)
    preopens = [Preopen(folder.fileno(), ".")]
    if entry.name in staged.state:
        preopens.append(Preopen(staged.state[entry.name].root.fileno(), PREOPEN))
    return _Callable(
        artifact=artifact,
        env=tuple(guest_environment(staged, entry, grants, attached, url).items()),
        limits=call_limits(staged),
        folder=folder,
        preopens=tuple(preopens),
        rules=tuple(rule.text for rule in grants.network),
        route=Route(
            artifact=entry.name,
            rules=grants.network,
            target=attached.target if attached else None,
        ),
    )


def _at_most(limits: Limits, seconds: float) -> Limits:
    """The limits, with no more time than that; never none at all."""
    deadline = max(0.001, min(limits.deadline_seconds, seconds))
    return dataclasses.replace(limits, deadline_seconds=deadline)


def call_limits(staged: Staged) -> Limits:
    """The ceiling of one call of a tool, a driver or a script capsule. spec/sessions.md 25."""
    declared = staged.capsule.capabilities.limits
    return Limits(
        memory_bytes=declared.memory_bytes,
        table_elements=declared.table_elements,
        instances=declared.instances,
        deadline_seconds=declared.call_deadline,
    )


def inference_environment(staged: Staged) -> dict[str, str]:
    """The `MURMUR_INFERENCE_*` variables that tools, drivers and commands share; none of them
    without `inference:`.
    """
    inference = staged.capsule.inference
    if inference is None:
        return {}
    assert inference.driver is not None
    values = {
        "MURMUR_INFERENCE_TRANSPORT": inference.transport,
        "MURMUR_INFERENCE_MODEL": inference.model or "",
        "MURMUR_INFERENCE_ENDPOINT": "",
        "MURMUR_INFERENCE_DRIVER": inference.driver.artifact,
    }
    if inference.driver.config is not None:
        values["MURMUR_INFERENCE_DRIVER_CONFIG"] = json.dumps(
            inference.driver.config, separators=(",", ":"), ensure_ascii=False
        )
    return values


def identity_environment(staged: Staged, url: str) -> dict[str, str]:
    """The variables that say which capsule and session this is."""
    return {
        "MURMUR_CAPSULE_NAME": staged.capsule.name,
        "MURMUR_CAPSULE_VERSION": staged.capsule.version,
        "MURMUR_SESSION_ID": staged.session_id,
        "MURMUR_CAPSULE_URL": url,
    }


def _granted(staged: Staged, names: Iterable[str]) -> dict[str, str]:
    """Those of the allowed variables that are set, the runtime's own names excepted."""
    host = staged.prepared.launch.environ
    return {
        name: host[name] for name in names if name in host and not name.startswith(_RUNTIME_PREFIX)
    }


def capsule_environment(staged: Staged, url: str) -> Mapping[str, str]:
    """A script capsule's whole environment."""
    names = staged.capsule.capabilities.env_allow
    return _granted(staged, names) | identity_environment(staged, url)


def guest_environment(
    staged: Staged,
    entry: ArtifactEntry,
    grants: EntryGrants,
    attached: EntryGateway | None,
    url: str,
) -> Mapping[str, str]:
    """A tool's or driver's whole environment; the runtime's own values win."""
    values = _granted(staged, grants.env)
    values |= inference_environment(staged)
    values |= identity_environment(staged, url)
    if attached is not None:
        address = f"http://{GATEWAY_AUTHORITY}{attached.path}"
        values["MURMUR_GATEWAY_ENDPOINT"] = address
        if entry.runtime == "driver":
            values["MURMUR_INFERENCE_ENDPOINT"] = address
            if entry.name != values["MURMUR_INFERENCE_DRIVER"]:
                # An alternate's driver: the declared config is the primary's.
                values["MURMUR_INFERENCE_DRIVER"] = entry.name
                values.pop("MURMUR_INFERENCE_DRIVER_CONFIG", None)
    if grants.config is not None:
        values["MURMUR_ARTIFACT_CONFIG"] = grants.config
    return values
