"""The capsule manifest as a whole, and its artifact entries.

seeds/manifest-schema.md, Capsule manifest; spec/formations-and-newer-manifest.md A3 and A4.
"""

from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from murmur.manifest import capsule as results
from murmur.manifest.endpoint import BadEndpoint, parse_endpoint
from murmur.manifest.models.base import Block, Filled, Flag, Text, refuse, require
from murmur.manifest.models.capabilities import CapabilitiesBlock
from murmur.manifest.models.inference import InferenceBlock
from murmur.manifest.models.session import (
    ContextBlock,
    ControlBlock,
    DeployBlock,
    ExportsBlock,
    LifecycleBlock,
    NetworkBlock,
    ObservabilityBlock,
    TraceBlock,
)
from murmur.manifest.names import NAME_RULE, is_full_name


class GatewayBlock(Block):
    result_type = results.Gateway
    endpoint: Text
    api_key: Text | None = None
    keyless: Flag = False

    @model_validator(mode="after")
    def _has_an_endpoint(self) -> Self:
        try:
            parse_endpoint(self.endpoint)
        except BadEndpoint as problem:
            refuse(str(problem), "endpoint")
        if self.keyless and self.api_key is not None:
            refuse("set together with keyless: true", "api_key")
        return self


class ArtifactBlock(Block):
    result_type = results.ArtifactEntry
    keeps_null: ClassVar[frozenset[str]] = frozenset(("config",))
    name: Text
    version: Filled | None = None
    runtime: Literal["tool", "driver", "hook", "skill"] = "tool"
    source: Filled | None = None
    local_source: Flag | None = None
    prompt_payload: Flag | None = None
    capabilities: CapabilitiesBlock | None = None
    config: Any = None
    on_overflow: Literal["drop", "block"] = "drop"
    gateway: GatewayBlock | None = None

    @model_validator(mode="after")
    def _is_named(self) -> Self:
        if not is_full_name(self.name):
            refuse(f"'{self.name}' is not <scope>/<name>, each {NAME_RULE}", "name")
        return self

    @model_validator(mode="after")
    def _has_a_version(self) -> Self:
        if self.source is None and self.version is None:
            require("version")
        return self

    @model_validator(mode="after")
    def _fits_its_role(self) -> Self:
        role, given = self.runtime, self.model_fields_set
        if role == "skill":
            for name in ("capabilities", "config", "gateway"):
                if name in given:
                    refuse("a skill takes none", name)
        if role != "hook":
            if "on_overflow" in given:
                refuse("only a hook has a queue", "on_overflow")
            for name in ("task_io", "conversation"):
                if self.capabilities is not None and name in self.capabilities.model_fields_set:
                    refuse("it can be granted to a hook only", f"capabilities.{name}")
        if self.source is not None and not self.opts_in(self.local_source):
            refuse(
                f"artifact '{self.name}' declares 'source:' but does not declare "
                f"'local_source: true' (runtime: {role})"
            )
        return self

    def opts_in(self, declared: bool | None) -> bool:
        """A flag that a skill has by default and every other role must write out."""
        return self.runtime == "skill" if declared is None else declared

    def result(self) -> results.ArtifactEntry:
        given = self.given()
        if "config" in given:
            given["config"] = results.ArtifactConfig(self.config)
        if self.source is not None:
            if self.version is not None:
                given["ignored_version"] = self.version
            given["version"] = results.LOCAL_VERSION
        given["local_source"] = self.opts_in(self.local_source)
        given["prompt_payload"] = self.opts_in(self.prompt_payload)
        return results.ArtifactEntry(**given)


class CapsuleBlock(Block):
    """The whole file. The packaging keys are accepted and mean nothing to a run."""

    result_type = results.Capsule
    name: Filled
    version: Filled
    description: Text | None = None
    mur_version: Text | None = None
    artifacts: list[ArtifactBlock] = Field(default_factory=list)
    capabilities: CapabilitiesBlock | None = None
    inference: InferenceBlock | None = None
    lifecycle: LifecycleBlock | None = None
    network: NetworkBlock | None = None
    context: ContextBlock | None = None
    trace: TraceBlock | None = None
    observability: ObservabilityBlock | None = None
    exports: ExportsBlock | None = None
    control: ControlBlock | None = None
    deploy: DeployBlock | None = None
    runtime: Any = None
    implementation: Any = None
    execution: Any = None
    requires_files: Any = None
    upstream_auth: Any = None
    programs: Any = None
    tags: Any = None

    packaging: ClassVar[frozenset[str]] = frozenset(
        (
            "runtime",
            "implementation",
            "execution",
            "requires_files",
            "upstream_auth",
            "programs",
            "tags",
        )
    )

    def result(self) -> results.Capsule:
        given = self.given()
        return results.Capsule(**{k: v for k, v in given.items() if k not in self.packaging})
