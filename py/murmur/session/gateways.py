"""The credential gateways of a capsule's entries, and its driver's model limits.

spec/artifacts.md 12.1 to 12.4. Resolved at staging, before any directory exists; keys stay in
this process and reach guests never.
"""

import dataclasses
from collections.abc import Mapping

from murmur.core.diagnostics import Diagnostic, MurmurError, error, warning
from murmur.inference.credentials import (
    Credential,
    InjectedCredential,
    referenced_variable,
    resolve_key,
)
from murmur.inference.gateway_routes import GatewayTarget
from murmur.inference.limits import (
    NO_MODEL,
    Choice,
    ModelLimits,
    check_budget,
    resolve_limits,
)
from murmur.manifest.artifact import ArtifactManifest, upstream_auth_of
from murmur.manifest.capsule import ArtifactEntry, Capsule, LoadedCapsule
from murmur.manifest.checks import drivers_of
from murmur.manifest.document import Path
from murmur.manifest.endpoint import parse_endpoint
from murmur.manifest.inference import Alternate
from murmur.manifest.lowering import dotted
from murmur.session.launch import Launch
from murmur.session.prepare import Prepared


@dataclasses.dataclass(frozen=True, slots=True)
class EntryGateway:
    """One entry's gateway. `source` is where its key comes from; `metered` the driver's alone."""

    artifact: str
    target: GatewayTarget
    credential: Credential | None
    source: str
    metered: bool

    @property
    def path(self) -> str:
        """The endpoint's path without a trailing `/`, which the guest's address ends with."""
        return self.target.endpoint.path

    def record(self) -> dict[str, object]:
        """The element of `session_start.gateways`."""
        return {
            "artifact": self.artifact,
            "host": self.target.endpoint.authority,
            "credential_source": self.source,
            "metered": self.metered,
        }


def resolve_gateways(
    prepared: Prepared, manifests: Mapping[str, ArtifactManifest]
) -> tuple[dict[str, EntryGateway], list[Diagnostic]]:
    """The gateways by full name, the configured driver's first, then by name.

    Raises E-CAP-017 for a native tool, E-RUN-025 for an artifact that says no header for the key,
    E-CAP-018 and E-MAN-003 for a key that cannot be had, and E-CAP-018 for a driver that needs a
    gateway and has none.
    """
    entry_of_driver = prepared.capsule.driver_entry
    driver = entry_of_driver.name if entry_of_driver is not None else None
    called = drivers_of(prepared.capsule)
    gateways: dict[str, EntryGateway] = {}
    warnings: list[Diagnostic] = []
    for index, entry in enumerate(prepared.capsule.artifacts):
        manifest = manifests[entry.name]
        if entry.gateway is not None:
            found, told = _resolve(prepared, entry, manifest, index, metered=entry.name == driver)
            gateways[entry.name] = found
            warnings += told
        elif entry.name in called and manifest.declares_upstream_auth:
            # Required exactly of a driver that declares where its key goes (decisions 6).
            raise error(
                "E-MAN-003",
                at=prepared.loaded.at(("artifacts", index, "name")),
                field=f"artifacts[{index}].gateway",
                reason=f"{entry.label} reaches its provider through a gateway, and its entry "
                "declares none",
                hint="add gateway: {endpoint: https://..., api_key: ${NAME}} to the entry",
            )
    ordered = sorted(gateways, key=lambda name: (name != driver, name))
    return {name: gateways[name] for name in ordered}, warnings


def _resolve(
    prepared: Prepared,
    entry: ArtifactEntry,
    manifest: ArtifactManifest,
    index: int,
    *,
    metered: bool,
) -> tuple[EntryGateway, tuple[Diagnostic, ...]]:
    assert entry.gateway is not None
    if manifest.execution == "native":
        raise error("E-CAP-017", artifact=entry.label)
    launch = prepared.launch
    field: Path = ("artifacts", index, "gateway", "api_key")
    auth = upstream_auth_of(manifest, entry.label)
    injected = _injected(prepared.capsule, entry)
    if injected is not None:
        target = GatewayTarget(
            endpoint=parse_endpoint(entry.gateway.endpoint),
            header=auth.header,
            value_template=auth.value,
            key=injected,
        )
        return EntryGateway(entry.name, target, injected, injected.source, metered), ()
    alternates = _alternates_of(prepared.capsule, entry)
    resolved = resolve_key(
        entry.gateway,
        artifact=entry.label,
        at=prepared.loaded.at(field),
        field=dotted(field),
        config=launch.home.config,
        environ=launch.environ,
        may_be_missing=bool(alternates) and not metered,
    )
    told = list(resolved.warnings)
    if resolved.missing is not None:
        told += [
            warning(
                "W-RUN-003",
                choice=each.name,
                driver=entry.label,
                model=each.model,
                variable=resolved.missing,
            )
            for each in alternates
        ]
    target = GatewayTarget(
        endpoint=parse_endpoint(entry.gateway.endpoint),
        header=auth.header,
        value_template=auth.value,
        key=resolved.credential,
    )
    return (
        EntryGateway(entry.name, target, resolved.credential, resolved.source, metered),
        tuple(told),
    )


def _alternates_of(capsule: Capsule, entry: ArtifactEntry) -> list[Alternate]:
    """The alternates that the entry's driver serves."""
    declared = capsule.inference.alternates if capsule.inference is not None else ()
    return [each for each in declared if each.driver.artifact == entry.name]


def _injected(capsule: Capsule, entry: ArtifactEntry) -> InjectedCredential | None:
    """The key of an entry that a controller is to supply: it is looked up nowhere."""
    secrets = capsule.control.secrets if capsule.control is not None else ()
    name = referenced_variable(entry.gateway.api_key) if entry.gateway is not None else None
    return InjectedCredential(name) if name is not None and name in secrets else None


def foresee_keys(
    loaded: LoadedCapsule, launch: Launch
) -> tuple[list[Diagnostic], list[MurmurError]]:
    """What the keys of every `gateway:` would warn about (W-SEC-027) and be refused for.

    For reports: no artifact is read, and no key leaves this function.
    """
    warnings: list[Diagnostic] = []
    refusals: list[MurmurError] = []
    for index, entry in enumerate(loaded.capsule.artifacts):
        if entry.gateway is None or _injected(loaded.capsule, entry) is not None:
            continue
        primary = loaded.capsule.driver_entry
        may_be_missing = entry != primary and bool(_alternates_of(loaded.capsule, entry))
        field: Path = ("artifacts", index, "gateway", "api_key")
        try:
            resolved = resolve_key(
                entry.gateway,
                artifact=entry.label,
                at=loaded.at(field),
                field=dotted(field),
                config=launch.home.config,
                environ=launch.environ,
                may_be_missing=may_be_missing,
            )
        except MurmurError as refused:
            refusals.append(refused)
        else:
            warnings += [found for found in resolved.warnings if found.code == "W-SEC-027"]
    return warnings, refusals


def driver_limits(
    prepared: Prepared, manifests: Mapping[str, ArtifactManifest]
) -> tuple[ModelLimits, tuple[Diagnostic, ...]]:
    """The model limits of the primary choice; `NO_MODEL` for a script capsule, and where a harness
    calls the model.

    Raises E-RUN-052 and E-RUN-055; warns W-RUN-009.
    """
    inference = prepared.capsule.inference
    if inference is None or inference.transport == "process":
        return NO_MODEL, ()
    entry = prepared.capsule.driver_entry
    assert entry is not None
    model = inference.model or ""
    limits, warnings = resolve_limits(
        Choice("primary", entry.name, entry.version, model),
        manifests[entry.name].models,
        max_tokens=inference.max_tokens,
        context_max_tokens=prepared.capsule.context.max_tokens,
    )
    compaction = inference.compaction
    if compaction.max_tokens is not None:
        choice = Choice("compaction", entry.name, entry.version, compaction.model or model)
        check_budget(limits, choice, compaction.max_tokens)
    return limits, warnings


def alternate_limits(
    prepared: Prepared, manifests: Mapping[str, ArtifactManifest]
) -> tuple[dict[str, ModelLimits], list[Diagnostic]]:
    """The model limits of every alternate, by its name. Raises and warns as `driver_limits`."""
    inference = prepared.capsule.inference
    found: dict[str, ModelLimits] = {}
    warnings: list[Diagnostic] = []
    for each in inference.alternates if inference is not None else ():
        entry = prepared.capsule.artifact(each.driver.artifact)
        assert entry is not None
        found[each.name], told = resolve_limits(
            Choice(each.name, entry.name, entry.version, each.model),
            manifests[entry.name].models,
            max_tokens=inference.max_tokens if inference is not None else None,
            context_max_tokens=prepared.capsule.context.max_tokens,
        )
        warnings += told
    return found, warnings
