"""`config.yaml`: the operator's global file and a project's, each read once, and how they merge.

`~/.murmur/config.yaml` and `<cwd>/.murmur/config.yaml`, spec/registry.md 21. Keys that no field
claims are ignored. The values under `credentials` are not kept: who needs one reads it when it is
needed (design/decisions.md 5 and 10). Nothing here quotes a value of a file, which may hold keys.
"""

import dataclasses
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal

from murmur.core.config_file import load, read_text
from murmur.core.diagnostics import MurmurError, error
from murmur.core.home import Home

CREDENTIAL_NAME: Final = re.compile(r"[A-Z_][A-Z0-9_]*", re.ASCII)
CLASSES: Final = ("advisory", "scoped", "sealed")
RESERVED_SCOPES: Final = ("local", "murmur")
"""Scopes of artifacts that no owner of a repository can have. spec/registry.md 1."""
_REFERENCE: Final = re.compile(r"\$\{[A-Z_][A-Z0-9_]*\}", re.ASCII)
_LARGEST_COUNT: Final = (1 << 63) - 1


@dataclasses.dataclass(frozen=True, slots=True)
class Source:
    """One `registry.sources` entry; `repository` is `owner/name`."""

    name: str
    repository: str
    token: str | None = dataclasses.field(default=None, repr=False)


@dataclasses.dataclass(frozen=True, slots=True)
class HostPath:
    """One `host_paths` entry: what commands may reach outside the work folder."""

    path: str
    access: Literal["read", "read-write"] = "read"


@dataclasses.dataclass(frozen=True, slots=True)
class Config:
    """One file, or two merged. `cgroup_optional`: commands may run without a cgroup scope here.

    `warnings` are lines for standard error about what a project's file may not set.
    """

    sources: tuple[Source, ...] = ()
    index_url: str = ""
    provider: str = ""
    model: str = ""
    endpoint: str = ""
    api_key: str = dataclasses.field(default="", repr=False)
    credential_names: tuple[str, ...] = ()
    containment: str | None = None
    machine_tokens_per_day: int | None = None
    beta: tuple[str, ...] = ()
    cgroup_optional: bool = False
    host_paths: tuple[HostPath, ...] = ()
    warnings: tuple[str, ...] = ()


def project_file(directory: Path) -> Path:
    """The project's file: below the current directory alone, never further up."""
    return directory / ".murmur" / "config.yaml"


def read_config(home: Home, directory: Path) -> Config:
    """The effective configuration of a command that runs in `directory`.

    Raises E-IO-003 for a file that cannot be read or a value that is none of the allowed ones.
    """
    mine = home.config
    project = project_file(directory)
    # In the operator's own home directory both names are one file, which is then the global one.
    same = project.parent.resolve() == mine.parent.resolve()
    return merge(read_file(mine), Config() if same else read_file(project))


def read_global_config(home: Home) -> Config:
    """The operator's file alone. Raises E-IO-003 as `read_config` does."""
    return read_file(home.config)


def read_file(path: Path) -> Config:
    """One file as it stands; a missing or empty one sets nothing. Raises E-IO-003."""
    return _Reader(path, load(path, read_text(path))).config()


def merge(mine: Config, project: Config) -> Config:
    """The global file and a project's as one. spec/registry.md 21, column *Merge*.

    A project adds sources and beta features and may tighten what the operator allows; keys and
    credentials, `sandbox` and `host_paths` are the operator's alone.
    """
    limits = [n for n in (mine.machine_tokens_per_day, project.machine_tokens_per_day) if n]
    classes = [c for c in (mine.containment, project.containment) if c is not None]
    sources = {source.name: source for source in (*mine.sources, *project.sources)}
    return dataclasses.replace(
        mine,
        sources=tuple(sources.values()),
        index_url=project.index_url or mine.index_url,
        provider=project.provider or mine.provider,
        model=project.model or mine.model,
        endpoint=project.endpoint or mine.endpoint,
        containment=max(classes, key=CLASSES.index, default=None),
        machine_tokens_per_day=min(limits, default=None),
        beta=tuple(dict.fromkeys((*mine.beta, *project.beta))),
        warnings=(*mine.warnings, *_ignored(project)),
    )


def is_literal_key(value: str) -> bool:
    """Whether a key is written out, not named as `${NAME}`."""
    return bool(value) and _REFERENCE.fullmatch(value) is None


def _ignored(project: Config) -> list[str]:
    lines = []
    place = "./.murmur/config.yaml"
    if is_literal_key(project.api_key):
        lines.append(
            f"warning: {place} holds a literal inference.api_key, which has no effect: the key "
            "is taken from ~/.murmur/config.yaml alone"
        )
    if project.credential_names:
        lines.append(
            f"warning: {place} holds credentials ({', '.join(project.credential_names)}), which "
            "have no effect: they are read from ~/.murmur/config.yaml alone"
        )
    return lines


class _Reader:
    """Takes the known keys out of one file's mapping, each of the type it must have."""

    def __init__(self, path: Path, document: Mapping[Any, Any]) -> None:
        self._path = path
        self._document = document

    def config(self) -> Config:
        registry, inference = self._block("registry"), self._block("inference")
        credentials = self._block("credentials")
        return Config(
            sources=self._sources(registry.get("sources")),
            index_url=self._text(registry, "registry", "index_url"),
            provider=self._text(inference, "inference", "provider"),
            model=self._text(inference, "inference", "model"),
            endpoint=self._text(inference, "inference", "endpoint"),
            api_key=self._text(inference, "inference", "api_key"),
            credential_names=tuple(str(name) for name in credentials),
            containment=self._choice(self._document, "", "containment", CLASSES),
            machine_tokens_per_day=self._tokens(self._block("spend")),
            beta=self._texts(self._block("beta"), "beta", "enabled"),
            cgroup_optional=self._choice(
                self._block("sandbox"), "sandbox.", "cgroup", ("required", "optional")
            )
            == "optional",
            host_paths=self._host_paths(self._document.get("host_paths")),
        )

    def bad(self, field: str, reason: str) -> MurmurError:
        return error(
            "E-IO-003",
            what=str(self._path),
            reason=f"{field} {reason}",
            hint="mend the file, or remove it",
        )

    def _block(self, key: str) -> Mapping[Any, Any]:
        value = self._document.get(key)
        if value is None:
            return {}
        if not isinstance(value, Mapping):
            raise self.bad(key, "is not a mapping")
        return value

    def _text(self, block: Mapping[Any, Any], name: str, key: str) -> str:
        value = block.get(key)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise self.bad(f"{name}.{key}", "is not a string; put it in quotes")
        return value

    def _texts(self, block: Mapping[Any, Any], name: str, key: str) -> tuple[str, ...]:
        value = block.get(key)
        if value is None:
            return ()
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.bad(f"{name}.{key}", "is not a list of strings")
        return tuple(dict.fromkeys(value))

    def _choice(
        self, block: Mapping[Any, Any], prefix: str, key: str, known: tuple[str, ...]
    ) -> str | None:
        value = block.get(key)
        if value is None:
            return None
        if value not in known:
            raise self.bad(prefix + key, f"is none of {', '.join(known)}")
        return str(value)

    def _tokens(self, spend: Mapping[Any, Any]) -> int | None:
        value = spend.get("machine_tokens_per_day")
        if value is None:
            return None
        number = isinstance(value, int) and not isinstance(value, bool)
        if not number or not 1 <= value <= _LARGEST_COUNT:
            raise self.bad("spend.machine_tokens_per_day", "is no integer of at least 1")
        return int(value)

    def _sources(self, entries: object) -> tuple[Source, ...]:
        found: dict[str, Source] = {}
        for index, entry in enumerate(self._list(entries, "registry.sources")):
            field = f"registry.sources[{index}]"
            if not isinstance(entry, Mapping):
                raise self.bad(field, "is not a mapping")
            name, repository = entry.get("name"), entry.get("repo")
            if entry.get("type", "github") != "github":
                raise self.bad(f"{field}.type", "is not github")
            if not isinstance(name, str) or not name.strip():
                raise self.bad(f"{field}.name", "is missing, or not a string")
            if not isinstance(repository, str) or not re.fullmatch(r"[^/\s]+/[^/\s]+", repository):
                raise self.bad(f"{field}.repo", "is not owner/name")
            owner = repository.partition("/")[0].lower()
            if owner in RESERVED_SCOPES:
                raise self.bad(f"{field}.repo", f"names the owner {owner}: that scope is reserved")
            token = entry.get("token")
            if token is not None and not isinstance(token, str):
                raise self.bad(f"{field}.token", "is not a string; put it in quotes")
            found[name] = Source(name, repository, token)
        return tuple(found.values())

    def _host_paths(self, entries: object) -> tuple[HostPath, ...]:
        found = []
        for index, entry in enumerate(self._list(entries, "host_paths")):
            field = f"host_paths[{index}]"
            if not isinstance(entry, Mapping):
                raise self.bad(field, "is not a mapping")
            path = entry.get("path")
            if not isinstance(path, str) or not path.startswith("/") or "\0" in path:
                raise self.bad(f"{field}.path", "is not an absolute path")
            access = self._choice(entry, f"{field}.", "access", ("read", "read-write"))
            found.append(HostPath(path, "read-write" if access == "read-write" else "read"))
        return tuple(found)

    def _list(self, value: object, field: str) -> list[Any]:
        if value is None:
            return []
        if not isinstance(value, list):
            raise self.bad(field, "is not a list")
        return value
