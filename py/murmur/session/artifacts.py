"""A capsule's artifacts as staged: verified bytes, compiled component, or skill text.

spec/sessions.md 6.2 step 5. Nothing is compiled before its hash is verified against the store's
record and the lock's pin; grants come from the operator's entry alone.
"""

import dataclasses
from collections.abc import Mapping
from pathlib import Path

from murmur.core.diagnostics import Diagnostic, error
from murmur.guest.calls import PROCESS_DRIVER
from murmur.guest.client import CompileFailed, Guests
from murmur.guest.processes import GuestsFailed
from murmur.manifest.artifact import ArtifactManifest, hook_contract_of
from murmur.manifest.capsule import ArtifactEntry, Capsule
from murmur.manifest.checks import drivers_of
from murmur.manifest.harness_needs import BadHarnessNeeds, parse_harness_needs
from murmur.manifest.programs import BadPrograms, parse_programs
from murmur.session.inventory import Tool, ToolKind, first_line, schema_fault, schema_of
from murmur.session.local_source import LocalSkill
from murmur.session.prepare import Prepared, declared_artifact
from murmur.session.scratch import Scratch
from murmur.store.archive import MANIFEST, BadArchive
from murmur.store.checks import check_bytes
from murmur.store.compiled import CompiledCache, build_facts, is_withheld
from murmur.store.component import Contracts
from murmur.store.levels import misfits, served_level
from murmur.store.payload import Payload, unreadable

_PROCESS_INTERFACES = "murmur:driver/process@"
_SKILL_LIMIT = 1 << 20
_MANIFEST_LIMIT = 1 << 20


@dataclasses.dataclass(frozen=True, slots=True)
class StagedArtifact:
    """One declared artifact, ready to be used.

    `packed` is its own murmur.yaml as packed; `compiled` is the compiled form of a WASM artifact,
    `key` names its content to guest hosts; `skill` is the text of a skill, `program` the executable
    of a native tool.
    """

    entry: ArtifactEntry
    manifest: ArtifactManifest
    sha256: str
    packed: bytes
    compiled: Path | None = None
    key: str = ""
    skill: str | None = None
    program: bytes | None = None


def open_payloads(prepared: Prepared) -> tuple[dict[str, Payload], list[Diagnostic]]:
    """Every artifact's verified bytes by full name, in manifest order.

    Raises E-REG-002 for bytes that hash to something else than the store or the lock recorded,
    E-RUN-029 and E-RUN-030 for a driver that speaks another interface, E-RUN-062 for a malformed
    `programs:` or `harness_needs:` block, E-IO-003 for a contract that no hook may have.
    """
    payloads: dict[str, Payload] = {}
    warnings: list[Diagnostic] = []
    for entry in prepared.capsule.artifacts:
        if entry.source is not None:
            continue
        stored = prepared.stored[entry.name]
        payload = stored.open(prepared.launch.environ)
        declared = declared_artifact(prepared.capsule, entry)
        check_bytes(prepared.lock, declared, payload.sha256, prepared.platform)
        _check_role(entry, payload)
        _check_blocks(entry, payload)
        if entry.runtime == "driver":
            _check_driver_fit(prepared.capsule, entry, stored.contracts(payload))
        if entry.runtime == "hook":
            hook_contract_of(payload.manifest, entry.label)
        found = stored.platform_warning(payload)
        if found is not None:
            warnings.append(found)
        warnings += payload.manifest.warnings
        payloads[entry.name] = payload
    return payloads, warnings


def _check_role(entry: ArtifactEntry, payload: Payload) -> None:
    if payload.kind == "native" and entry.runtime == "tool":
        return
    wants_component = entry.runtime in ("tool", "driver", "hook")
    if wants_component != (payload.kind == "wasm"):
        raise error(
            "E-RUN-001",
            artifact=entry.label,
            reason=f"the capsule declares runtime: {entry.runtime}, and the artifact is packaged "
            f"as {payload.kind}",
            hint="declare the role that the artifact was built for",
        )


def _check_blocks(entry: ArtifactEntry, payload: Payload) -> None:
    manifest = payload.manifest
    try:
        parse_programs(manifest.programs, manifest.runtime)
        parse_harness_needs(manifest.harness_needs, manifest.runtime)
    except (BadPrograms, BadHarnessNeeds) as bad:
        raise error("E-RUN-062", artifact=entry.label, field=bad.field, reason=bad.reason) from None


def _check_driver_fit(capsule: Capsule, entry: ArtifactEntry, contracts: Contracts | None) -> None:
    """Raises E-RUN-029 and, for a process driver that is to be called over http, E-RUN-030."""
    found = misfits(contracts, served_level())
    if found:
        first = found[0]
        verb = "exports" if first.direction == "exports" else "imports"
        raise error(
            "E-RUN-029",
            artifact=entry.label,
            found=f"{verb} {first.found}",
            served=f"{first.package}@{first.served}" if first.served else "no version of it",
        )
    exports = contracts.exports if contracts is not None else ()
    processes = [each for each in exports if each.startswith(_PROCESS_INTERFACES)]
    inference = capsule.inference
    named = inference.driver.artifact if inference is not None and inference.driver else None
    if entry.name == named and inference is not None and inference.transport == "process":
        if PROCESS_DRIVER not in processes:
            raise error(
                "E-RUN-029",
                artifact=entry.label,
                found="does not export the interface of a process driver",
                served=PROCESS_DRIVER,
            )
    elif entry.name in drivers_of(capsule) and processes:
        raise error("E-RUN-030", artifact=entry.label, interface=processes[0])


def compiled_cache(prepared: Prepared) -> CompiledCache:
    """The machine's cache, withheld where the work folder holds it."""
    home = prepared.launch.home
    return CompiledCache(home, withheld=is_withheld(home, prepared.place.given))


def compile_artifacts(
    prepared: Prepared, payloads: Mapping[str, Payload], guests: Guests, scratch: Scratch
) -> dict[str, StagedArtifact]:
    """Compiles each component, or loads its compiled form, and reads each skill.

    `scratch` takes the forms that the cache cannot keep. Raises E-RUN-001.
    """
    return {
        entry.name: _local(entry, prepared.local[entry.name])
        if entry.source is not None
        else stage_payload(prepared, entry, payloads[entry.name], guests, scratch)
        for entry in prepared.capsule.artifacts
    }


def _local(entry: ArtifactEntry, skill: LocalSkill) -> StagedArtifact:
    return StagedArtifact(
        entry=entry,
        manifest=skill.manifest,
        sha256=skill.sha256,
        packed=skill.packed,
        skill=skill.text,
    )


def stage_payload(
    prepared: Prepared, entry: ArtifactEntry, payload: Payload, guests: Guests, scratch: Scratch
) -> StagedArtifact:
    """One artifact, ready to be used; as `compile_artifacts`."""
    if payload.kind == "wasm":
        cache = compiled_cache(prepared)
        key = guests.engine_key(*build_facts(prepared.launch.environ))
        return _compiled(entry, payload, cache, key, guests, scratch)
    return StagedArtifact(
        entry=entry,
        manifest=payload.manifest,
        sha256=payload.sha256,
        packed=_packed_manifest(entry, payload),
        skill=_skill_text(entry, payload),
        program=_program(entry, payload),
    )


def _compiled(
    entry: ArtifactEntry,
    payload: Payload,
    cache: CompiledCache,
    key: str,
    guests: Guests,
    scratch: Scratch,
) -> StagedArtifact:
    def compile_form(component: bytes, target: int) -> None:
        try:
            guests.compile(component, target)
        except (CompileFailed, GuestsFailed) as failure:
            raise error(
                "E-RUN-001",
                artifact=entry.label,
                reason=f"it could not be compiled: {failure}",
                hint="rebuild the artifact for this mur, or install another version",
            ) from None

    try:
        form = cache.ensure(payload.sha256, key, payload.component, compile_form)
    except OSError:
        form = cache.ensure(payload.sha256, key, payload.component, compile_form, scratch.folder())
    return StagedArtifact(
        entry=entry,
        manifest=payload.manifest,
        sha256=payload.sha256,
        packed=_packed_manifest(entry, payload),
        compiled=form.path,
        key=f"{payload.sha256}-{key}",
    )


def _packed_manifest(entry: ArtifactEntry, payload: Payload) -> bytes:
    try:
        return payload.archive.read(MANIFEST, _MANIFEST_LIMIT)
    except BadArchive as bad:
        raise unreadable(entry.label, str(bad)) from None


def _skill_text(entry: ArtifactEntry, payload: Payload) -> str | None:
    if entry.runtime != "skill":
        return None
    try:
        return payload.archive.read("skill.md", _SKILL_LIMIT).decode("utf-8")
    except BadArchive as bad:
        raise unreadable(entry.label, str(bad)) from None
    except UnicodeDecodeError:
        raise unreadable(entry.label, "skill.md is not UTF-8") from None


def _program(entry: ArtifactEntry, payload: Payload) -> bytes | None:
    if payload.kind != "native":
        return None
    try:
        return payload.archive.read(payload.native_entry)
    except BadArchive as bad:
        raise unreadable(entry.label, str(bad)) from None


def tool_of(artifact: StagedArtifact) -> Tool | None:
    """The artifact as the model sees it; None for a driver or a hook."""
    entry, manifest = artifact.entry, artifact.manifest
    if entry.runtime not in ("tool", "skill"):
        return None
    if artifact.skill is not None:
        return Tool(
            name=entry.bare_name,
            kind=ToolKind.SKILL,
            version=entry.version,
            description=manifest.description or first_line(artifact.skill),
            schema=schema_of(None),
            artifact=entry.name,
        )
    return Tool(
        name=entry.bare_name,
        kind=ToolKind.WASM if artifact.program is None else ToolKind.NATIVE,
        version=entry.version,
        description=manifest.description,
        schema=schema_of(manifest.input_schema),
        artifact=entry.name,
        fault=schema_fault(manifest.input_schema),
    )
