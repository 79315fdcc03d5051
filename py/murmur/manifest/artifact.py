"""The manifest that ships inside an artifact: identity, packaging, and what its role needs.

seeds/manifest-schema.md, Artifact manifest; spec/artifacts.md 7, 8.1 and 12. Its
`capabilities:` are never read: only the operator's manifest grants.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from murmur.core.diagnostics import Diagnostic, error, warning
from murmur.manifest.hook import BadContract, HookContract, parse_contract
from murmur.manifest.model_table import ModelLimits, parse_models
from murmur.manifest.parse import read_mapping
from murmur.manifest.refusal import Refusals, findings
from murmur.manifest.upstream import BadUpstreamAuth, UpstreamAuth, parse_upstream_auth

if TYPE_CHECKING:
    from murmur.manifest.models.packaged import PackagedBlock

Execution = Literal["wasm", "native", "static"]

_NO_PARAMETERS: Mapping[str, object] = {"type": "object", "properties": {}}
_OLD_AUTH, _AUTH = "inference_auth", "upstream_auth"


@dataclass(frozen=True, slots=True)
class ArtifactManifest:
    """One artifact's own manifest.

    `name` is as written, also where no artifact may be called so (`names.is_bare_name`). `runtime`
    is free text: an unknown role counts as a tool. `upstream_auth`, `models`, `programs`,
    `harness_needs` and `contract` are as written; each has a parser of its own.
    """

    name: str
    version: str
    runtime: str | None = None
    implementation: Literal["wasm", "native"] = "wasm"
    execution: Execution = "wasm"
    requires_files: tuple[str, ...] = ()
    requires_files_declared: bool = False
    description: str = ""
    tags: tuple[str, ...] = ()
    input_schema: object = None
    output_schema: object = None
    contract: tuple[object, object, object] = (None, None, None)
    upstream_auth: object = None
    models: object = None
    programs: object = None
    harness_needs: object = None
    warnings: tuple[Diagnostic, ...] = field(default=(), compare=False)

    @property
    def parameters(self) -> Mapping[str, object]:
        """The input schema offered to the model; an empty object's where there is none."""
        return self.input_schema if isinstance(self.input_schema, Mapping) else _NO_PARAMETERS

    @property
    def declares_upstream_auth(self) -> bool:
        """Whether the artifact sends requests that a gateway can put a key on."""
        return self.upstream_auth is not None


def parse_artifact_manifest(data: bytes | str, file: str = "murmur.yaml") -> ArtifactManifest:
    """The manifest in `data`; `file` names it in messages.

    Raises E-MAN-001, E-MAN-002 and E-MAN-003.
    """
    from pydantic import ValidationError

    from murmur.manifest.models.packaged import PackagedBlock

    try:
        text = data if isinstance(data, str) else data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise Refusals(file).syntax(f"not UTF-8 text: {problem.reason}") from None
    document, mapping = read_mapping(text, file)
    refusals = Refusals(file, document)
    warnings: tuple[Diagnostic, ...] = ()
    if mapping.get(_OLD_AUTH) is not None:
        if mapping.get(_AUTH) is not None:
            reason = f"it is the old spelling of {_AUTH}, and both are set"
            raise refusals.rejected((_OLD_AUTH,), reason)
        mapping = {**mapping, _AUTH: mapping[_OLD_AUTH]}
        warnings = (warning("W-MAN-001", file=file, old=f"{_OLD_AUTH}:", new=f"{_AUTH}:"),)
    try:
        block = PackagedBlock.model_validate(mapping)
    except ValidationError as problem:
        raise refusals.invalid(findings(problem)) from None
    return _manifest(block, warnings)


def _manifest(block: "PackagedBlock", warnings: tuple[Diagnostic, ...]) -> ArtifactManifest:
    implementation = block.implementation or "wasm"
    files = block.requires_files
    return ArtifactManifest(
        name=block.name,
        version=block.version,
        runtime=block.runtime,
        implementation=implementation,
        execution=block.execution or _derived(block.runtime, implementation),
        requires_files=tuple(files if files is not None else _default_files(block.runtime)),
        requires_files_declared=files is not None,
        description=(block.description or "").strip(),
        tags=tuple(block.tags),
        input_schema=_schema(block.input_schema if block.input_schema is not None else block.input),
        output_schema=_schema(block.output_schema),
        contract=(block.binding, block.execution_mode, block.commit_policy),
        upstream_auth=block.upstream_auth,
        models=block.models,
        programs=block.programs,
        harness_needs=block.harness_needs,
        warnings=warnings,
    )


def _derived(runtime: str | None, implementation: str) -> Execution:
    if runtime == "skill":
        return "static"
    return "native" if runtime == "tool" and implementation == "native" else "wasm"


def _default_files(runtime: str | None) -> tuple[str, ...]:
    return ("skill.md",) if runtime == "skill" else ()


def _schema(value: object) -> object:
    """A schema as data; a string holds JSON. None when it cannot be read."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return None


def upstream_auth_of(manifest: ArtifactManifest, label: str) -> UpstreamAuth:
    """The header for the key of the entry `label` (`name@version`). Raises E-RUN-025."""
    try:
        return parse_upstream_auth(manifest.upstream_auth)
    except BadUpstreamAuth as problem:
        raise error("E-RUN-025", artifact=label, reason=str(problem)) from None


def models_of(manifest: ArtifactManifest) -> dict[str, ModelLimits]:
    """The driver's limits by model id. Raises model_table.BadModelTable."""
    return parse_models(manifest.models)


def hook_contract_of(manifest: ArtifactManifest, label: str) -> HookContract:
    """The hook's contract. Raises E-IO-003 for a field or a pairing that no hook may have."""
    try:
        return parse_contract(*manifest.contract)
    except BadContract as problem:
        raise error(
            "E-IO-003", what=f"hook {label} invalid config", reason=str(problem), hint=""
        ) from None
