"""What an install may store: a payload that was opened, checked and found to fit."""

import dataclasses
from collections.abc import Callable

from murmur.core.diagnostics import error
from murmur.store.component import Contracts
from murmur.store.levels import misfits, served_level
from murmur.store.lock import Lock
from murmur.store.names import FullName
from murmur.store.payload import Payload

OwnerCheck = Callable[[str, str, int], None]
"""Raises E-REG-005 for an artifact (as named in messages) whose scope has another owner id now."""


@dataclasses.dataclass(frozen=True, slots=True)
class Ready:
    """One payload that may be stored. `tag` is the platform it is filed under.

    `present` says that the target store holds these very bytes already; `pinned` is off for a
    payload that belongs into the store and not into the lock, being another platform's.
    """

    name: FullName
    payload: Payload
    tag: str | None
    owner_id: int | None = None
    present: bool = False
    pinned: bool = True

    @property
    def reference(self) -> str:
        return f"{self.name}@{self.payload.manifest.version}"


def require_fit(reference: str, contracts: Contracts | None) -> None:
    """Raises E-WIT-LEVEL-001 unless every interface is the served one."""
    level = served_level()
    wrong = misfits(contracts, level)
    if wrong:
        raise error(
            "E-WIT-LEVEL-001",
            artifact=reference,
            level=level.number,
            reason="; ".join(str(misfit) for misfit in wrong),
        )


def native_tag(payload: Payload, named: str | None) -> str | None:
    """The platform that a payload is filed under: `named`, else what its binary says; no fat one's.

    None for a payload that is not native.
    """
    if payload.kind != "native":
        return None
    tag = named or payload.native_platform()
    return None if tag == "darwin" else tag


def owner_check(lock: Lock | None) -> OwnerCheck:
    """The check of a scope's owner against every entry of that scope in the lock, and against
    what it was asked about before. An entry without an id says nothing. spec/registry.md 13."""
    seen: dict[str, tuple[str, int]] = {}
    for pin in lock.pins if lock is not None else ():
        if pin.owner_id is not None:
            seen.setdefault(pin.name.scope, (f"{pin.name} is pinned", pin.owner_id))

    def check(artifact: str, scope: str, owner_id: int) -> None:
        what, held = seen.setdefault(scope, (f"{artifact} comes", owner_id))
        if held != owner_id:
            raise error(
                "E-REG-005",
                artifact=artifact,
                reason=f"{what} from owner {held}, and the scope '{scope}' now belongs to owner "
                f"{owner_id}",
                hint=f"if that owner is the one you trust, remove the entries of {scope}/ from "
                "murmur.lock and install again",
            )

    return check
