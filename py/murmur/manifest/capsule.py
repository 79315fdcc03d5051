"""A capsule manifest after validation: frozen data, defaults filled in, names in full.

`Capsule.as_dict` is its plain form (dicts, lists, strings, numbers), for JSON and for reports.
"""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from murmur.core.diagnostics import Diagnostic
from murmur.manifest.document import Path
from murmur.manifest.grants import Capabilities
from murmur.manifest.inference import Inference
from murmur.manifest.names import bare_name
from murmur.manifest.session import (
    Context,
    Control,
    Deploy,
    Exports,
    Lifecycle,
    Network,
    Observability,
    Trace,
)

Role = Literal["tool", "driver", "hook", "skill"]

LOCAL_VERSION = "local"


@dataclass(frozen=True, slots=True)
class Gateway:
    """The credential gateway of one entry. `api_key` is `${NAME}` or a literal; never print it."""

    endpoint: str
    api_key: str | None = field(default=None, repr=False)
    keyless: bool = False


@dataclass(frozen=True, slots=True)
class ArtifactConfig:
    """A `config:` block as written, its shape still unchecked (`config.render_config`)."""

    value: object


@dataclass(frozen=True, slots=True)
class ArtifactEntry:
    """One entry of `artifacts`.

    `version` is `local` for an entry read from `source`; `ignored_version` is one that was written
    beside it.
    """

    name: str
    version: str
    runtime: Role = "tool"
    source: str | None = None
    local_source: bool = False
    prompt_payload: bool = False
    capabilities: Capabilities | None = None
    config: ArtifactConfig | None = None
    on_overflow: Literal["drop", "block"] = "drop"
    gateway: Gateway | None = None
    ignored_version: str | None = None

    @property
    def bare_name(self) -> str:
        """The name the model sees."""
        return bare_name(self.name)

    @property
    def label(self) -> str:
        """`name@version`, as diagnostics write it."""
        return f"{self.name}@{self.version}"


@dataclass(frozen=True, slots=True)
class Capsule:
    """A whole capsule manifest."""

    name: str
    version: str
    description: str | None = None
    mur_version: str | None = None
    artifacts: tuple[ArtifactEntry, ...] = ()
    capabilities: Capabilities = field(default_factory=Capabilities)
    inference: Inference | None = None
    lifecycle: Lifecycle = field(default_factory=Lifecycle)
    network: Network = field(default_factory=Network)
    context: Context = field(default_factory=Context)
    trace: Trace = field(default_factory=Trace)
    observability: Observability = field(default_factory=Observability)
    exports: Exports = field(default_factory=Exports)
    control: Control | None = None
    deploy: Deploy = field(default_factory=Deploy)

    def artifact(self, name: str) -> ArtifactEntry | None:
        """The entry with that full name."""
        return next((entry for entry in self.artifacts if entry.name == name), None)

    @property
    def version_pin(self) -> str | None:
        """The mur version that the manifest asks for, by whichever of the two keys it has."""
        return self.mur_version if self.mur_version is not None else self.deploy.mur_version

    @property
    def driver_entry(self) -> ArtifactEntry | None:
        """The entry that the inference block names as its driver."""
        if self.inference is None or self.inference.driver is None:
            return None
        return self.artifact(self.inference.driver.artifact)

    def as_dict(self) -> dict[str, object]:
        """The manifest as plain data. Holds gateway keys as written: not for printing."""
        result = plain(self)
        assert isinstance(result, dict)
        return result


@dataclass(frozen=True, slots=True)
class LoadedCapsule:
    """A capsule, the text it was read from, and what its reader wants the operator to know.

    `warnings` are W-MAN-001 and W-SEC-019 in that order; `at` tells `file:line:column` of a field,
    for refusals that come later.
    """

    capsule: Capsule
    path: str
    text: str
    warnings: tuple[Diagnostic, ...]
    at: Callable[[Path], str] = field(repr=False, compare=False)


def plain(value: object) -> object:
    """`value` with dataclasses as dicts, tuples and sets as lists; other values as they are."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, frozenset | set):
        return sorted(plain(item) for item in value)  # type: ignore[type-var]
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    return value
