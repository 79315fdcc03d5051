"""What a capsule manifest makes its operator be told, besides old spellings and unknown keys.

Pure functions of the manifest and, where they are at hand, of its artifacts' own manifests. The
one function `manifest_warnings` serves `mur run`, `mur doctor` and `--explain-scope`, each of which
prints what spec/diagnostics.md 5.6 says that it prints; the order is that of its section 6.3.
"""

from collections.abc import Iterator, Mapping
from typing import Final, Literal

from murmur.core.diagnostics import Diagnostic, warning
from murmur.manifest.artifact import ArtifactManifest
from murmur.manifest.capsule import ArtifactEntry, Capsule
from murmur.manifest.endpoint import BadEndpoint, Endpoint, parse_endpoint
from murmur.manifest.grants import Capabilities
from murmur.manifest.network import BadRule, parse_rule
from murmur.manifest.session import AfterTask
from murmur.manifest.variables import SECRET_PARTS, SECRET_SEGMENTS, looks_secret, refused_by
from murmur.read_only.declarations import read_declarations
from murmur.read_only.interpreters import advisory_for

Reader = Literal["run", "doctor", "explain"]
Manifests = Mapping[str, ArtifactManifest]

_RUN: Final[frozenset[Reader]] = frozenset(("run",))
_RUN_AND_DOCTOR: Final[frozenset[Reader]] = frozenset(("run", "doctor"))
_ALL: Final[frozenset[Reader]] = frozenset(("run", "doctor", "explain"))

# spec/diagnostics.md 5.6, the column "From".
READERS: Final[dict[str, frozenset[Reader]]] = {
    "W-SEC-006": _RUN,
    "W-SEC-008": _RUN,
    "W-SEC-009": _RUN_AND_DOCTOR,
    "W-SEC-011": _RUN_AND_DOCTOR,
    "W-SEC-014": _RUN,
    "W-SEC-015": _RUN,
    "W-SEC-016": _RUN,
    "W-SEC-017": _RUN,
    "W-SEC-018": _RUN,
    "W-SEC-024": _ALL,
    "W-SEC-025": _ALL,
    "W-SEC-030": _ALL,
}

# The sub-blocks that mean something on an entry of each role.
_GOVERNING: Final[dict[str, frozenset[str]]] = {
    "hook": frozenset(("network", "filesystem", "state", "task_io", "conversation")),
    "tool": frozenset(("network", "filesystem", "state")),
    "driver": frozenset(("network", "filesystem", "state")),
    "skill": frozenset(),
}


def manifest_warnings(
    capsule: Capsule,
    reader: Reader,
    *,
    after_task: AfterTask | None = None,
    manifests: Manifests | None = None,
) -> tuple[Diagnostic, ...]:
    """The warnings of `capsule` that `reader` prints, in order.

    `after_task` is the resolved value where a flag replaces the manifest's. `manifests` are the
    artifacts' own, by full name; without them nothing is said that depends on one.
    """
    given = manifests if manifests is not None else {}
    sleeps = (after_task or capsule.lifecycle.after_task) == "sleep"
    found = [
        *_capsule_wide(capsule),
        *_widening(capsule),
        *_read_only(capsule),
        *_environment(capsule, sleeps),
        *_inert(capsule, given),
        *_gateways(capsule),
        *_schemas(capsule, given),
    ]
    return tuple(each for each in found if reader in READERS[each.code])


def _capsule_wide(capsule: Capsule) -> Iterator[Diagnostic]:
    """Grants that count on an artifact's own entry and stand in the capsule's block."""
    granted = capsule.capabilities
    if granted.state is not None:
        yield warning("W-SEC-014", field="capabilities.state", entry="an artifact's")
    if granted.filesystem is not None and granted.filesystem.records:
        yield warning("W-SEC-014", field="capabilities.filesystem.records", entry="a hook's")
    if granted.conversation is not None:
        yield warning("W-SEC-016")


def _widening(capsule: Capsule) -> Iterator[Diagnostic]:
    granted = capsule.capabilities
    for grant in granted.shell.interpreter_runtime if granted.shell else ():
        directories = ", ".join(
            f"{each.path} (list_dir)" if each.list_dir else each.path for each in grant.dirs
        )
        yield warning("W-SEC-009", binary=grant.binary, directories=directories)
    if granted.workdir_exec:
        yield warning("W-SEC-011")


def _read_only(capsule: Capsule) -> Iterator[Diagnostic]:
    granted = capsule.capabilities
    if granted.read_only:
        for binary in advisory_for(granted.shell_allow):
            yield warning("W-SEC-017", binary=binary)


def _environment(capsule: Capsule, sleeps: bool) -> Iterator[Diagnostic]:
    granted = capsule.capabilities
    strip = granted.shell.strip_env if granted.shell else ()
    clause = "; the capsule sleeps between tasks and holds it all the while" if sleeps else ""
    rule = (
        f"it contains {', '.join(SECRET_PARTS)}, or has a segment {', '.join(SECRET_SEGMENTS)}, "
        "in any case"
    )
    for name in dict.fromkeys(granted.env_allow):
        if refused_by(name, strip) is None and looks_secret(name):
            yield warning("W-SEC-024", name=name, rule=rule, clause=clause)


def _inert(capsule: Capsule, manifests: Manifests) -> Iterator[Diagnostic]:
    """Blocks of entries that nothing acts on: W-SEC-006, W-SEC-008 and W-SEC-015."""
    for entry in capsule.artifacts:
        native = _is_native(entry, manifests)
        blocks = ", ".join(inert_blocks(entry, native=native))
        if blocks and entry.runtime == "hook":
            yield warning("W-SEC-006", artifact=entry.name, blocks=blocks)
        elif blocks:
            yield warning("W-SEC-008", artifact=entry.name, blocks=blocks)
        if native and entry.config is not None:
            yield warning("W-SEC-015", artifact=entry.name)


def inert_blocks(entry: ArtifactEntry, *, native: bool = False) -> tuple[str, ...]:
    """The sub-blocks of an entry's `capabilities` that do not govern it, as the manifest has them.

    A native tool is governed by none. Inside a governing block, what only a capsule can declare
    (`filesystem.read_only` and the like) is named with its dotted key.
    """
    granted = entry.capabilities
    if granted is None:
        return ()
    governing = frozenset() if native else _GOVERNING[entry.runtime]
    whole = [name for name in granted.declared if name not in governing]
    return (*whole, *(each for each in _inner(entry, granted) if each.split(".")[0] in governing))


def _inner(entry: ArtifactEntry, granted: Capabilities) -> Iterator[str]:
    if granted.unix_sockets:
        yield "network.unix_sockets"
    if granted.read_only:
        yield "filesystem.read_only"
    if granted.workdir_exec:
        yield "filesystem.workdir_exec"
    if granted.filesystem is not None and granted.filesystem.records and entry.runtime != "hook":
        yield "filesystem.records"


def _is_native(entry: ArtifactEntry, manifests: Manifests) -> bool:
    manifest = manifests.get(entry.name)
    return entry.runtime == "tool" and manifest is not None and manifest.execution == "native"


def _gateways(capsule: Capsule) -> Iterator[Diagnostic]:
    """Network entries that name a gateway's upstream, then gateways that count for no ceiling."""
    endpoints = dict(_endpoints(capsule))
    seen: set[str] = set()
    for text in capsule.capabilities.network_allow:
        for endpoint in endpoints.values():
            if text not in seen and _admits(text, endpoint):
                seen.add(text)
                yield warning("W-SEC-025", entry=text, endpoint=endpoint.authority)
    for entry in capsule.artifacts:
        own = entry.capabilities.network_allow if entry.capabilities else ()
        for text in own if entry.name in endpoints else ():
            if text not in seen and _admits(text, endpoints[entry.name]):
                yield warning("W-SEC-025", entry=text, endpoint=endpoints[entry.name].authority)
    metered = _metered(capsule)
    for entry in capsule.artifacts:
        if entry.gateway is not None and entry.name not in metered:
            yield warning("W-SEC-030", artifact=entry.label)


def _endpoints(capsule: Capsule) -> Iterator[tuple[str, Endpoint]]:
    for entry in capsule.artifacts:
        if entry.gateway is not None:
            try:
                yield entry.name, parse_endpoint(entry.gateway.endpoint)
            except BadEndpoint:  # refused at parse; a capsule built in code may hold one
                continue


def _admits(text: str, endpoint: Endpoint) -> bool:
    """Whether a network entry reaches the endpoint; an entry that is none is E-CAP-001's."""
    try:
        rule = parse_rule(text)
    except BadRule:
        return False
    return rule.matches(endpoint.scheme, endpoint.host, endpoint.port)


def _metered(capsule: Capsule) -> frozenset[str]:
    """The drivers of agent turns, whose spending counts. spec/formations A4, Metering."""
    inference = capsule.inference
    if inference is None or inference.transport != "http":
        return frozenset()
    named = {choice.driver.artifact for choice in inference.alternates}
    return frozenset(named | ({inference.driver.artifact} if inference.driver else set()))


def _schemas(capsule: Capsule, manifests: Manifests) -> Iterator[Diagnostic]:
    if not capsule.capabilities.read_only:
        return
    for entry in capsule.artifacts:
        manifest = manifests.get(entry.name)
        if entry.runtime != "tool" or manifest is None:
            continue
        left = read_declarations(manifest.parameters).unjudged()
        if left:
            yield warning("W-SEC-018", tool=entry.name, properties=_properties(left))


def _properties(names: list[str]) -> str:
    if len(names) == 1:
        return (
            f"read_only judges its property {names[0]} by name alone, since its schema does not "
            "say whether it is a destination"
        )
    return (
        f"read_only judges its properties {', '.join(names)} by name alone, since its schema does "
        "not say whether they are destinations"
    )
