"""The record beside a stored payload, `.meta.json`. spec/registry.md 9."""

import dataclasses
import json
from collections.abc import Mapping
from typing import Any, Self

from murmur.store.component import Contracts
from murmur.store.names import FullName
from murmur.store.payload import Payload


@dataclasses.dataclass(frozen=True, slots=True)
class Record:
    """What a store says about one payload. `runtime` is the packaging type, `role` its role."""

    name: str
    version: str
    runtime: str
    role: str
    platforms: tuple[tuple[str, str], ...] = ()
    description: str | None = None
    tags: tuple[str, ...] = ()
    contracts: Contracts | None = None
    owner_id: int | None = None

    @classmethod
    def of(
        cls, full_name: FullName, payload: Payload, tag: str | None, owner_id: int | None
    ) -> Self:
        """The record of a payload, with its contracts derived from its own bytes."""
        manifest = payload.manifest
        system, _, machine = (tag or "").partition("-")
        return cls(
            name=full_name.text,
            version=manifest.version,
            runtime=payload.kind,
            role=manifest.runtime or "tool",
            platforms=((system, machine),) if tag else (),
            description=manifest.description or None,
            tags=manifest.tags,
            contracts=payload.contracts,
            owner_id=owner_id,
        )

    def render(self) -> bytes:
        """The file's content: pretty JSON under the one key `meta`."""
        meta: dict[str, Any] = {
            "name": self.name,
            "version": self.version,
            "runtime": self.runtime,
            "artifact_runtime": self.role,
            "platforms": [list(pair) for pair in self.platforms],
            "description": self.description,
            "tags": list(self.tags),
        }
        if self.contracts is not None:
            meta["wit_contracts"] = {
                "exports": list(self.contracts.exports),
                "imports": list(self.contracts.imports),
            }
        if self.owner_id is not None:
            meta["owner_id"] = self.owner_id
        return (json.dumps({"meta": meta}, indent=2, ensure_ascii=False) + "\n").encode()


def parse_record(data: bytes) -> Record | None:
    """The record written in `data`; None when it is malformed, which readers treat as absent."""
    try:
        meta = json.loads(data)["meta"]
        platforms = tuple((str(pair[0]), str(pair[1])) for pair in meta.get("platforms", ()))
        return Record(
            name=_text(meta, "name"),
            version=_text(meta, "version"),
            runtime=_text(meta, "runtime"),
            role=_text(meta, "artifact_runtime"),
            platforms=platforms,
            description=None if meta.get("description") is None else _text(meta, "description"),
            tags=tuple(str(tag) for tag in meta.get("tags", ())),
            contracts=_contracts(meta.get("wit_contracts")),
            owner_id=_owner(meta.get("owner_id")),
        )
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
        return None


def _text(meta: Mapping[str, object], key: str) -> str:
    value = meta[key]
    if not isinstance(value, str):
        raise TypeError(key)
    return value


def _contracts(value: object) -> Contracts | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise TypeError("wit_contracts")
    sides = []
    for side in ("exports", "imports"):
        names = value[side]
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise TypeError(side)
        sides.append(tuple(names))
    return Contracts(*sides)


def _owner(value: object) -> int | None:
    if value is None:
        return None
    if type(value) is not int or not 0 <= value < 1 << 64:
        raise TypeError("owner_id")
    return value
