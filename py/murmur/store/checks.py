"""Whether declared artifacts agree with `murmur.lock`. spec/registry.md 11, diagnostics 6.1, 6.3.

`mur run` asks in two steps: `check_pins` before anything is resolved, `check_bytes` once the
bytes are at hand. Both are skipped where there is no lock; `source:` entries are never asked.
"""

import dataclasses
from collections.abc import Iterable

from murmur.core.diagnostics import error
from murmur.store.lock import Lock, Pin
from murmur.store.names import FullName


@dataclasses.dataclass(frozen=True, slots=True)
class Declared:
    """What a check needs to know of one declared artifact. `role` is the manifest's runtime."""

    name: FullName
    version: str
    role: str = "tool"
    has_gateway: bool = False
    is_system_prompt: bool = False

    @property
    def reference(self) -> str:
        return f"{self.name}@{self.version}"


def check_pins(lock: Lock | None, declared: Iterable[Declared], platform: str) -> None:
    """Entry, version and a hash for this host, for every artifact. Raises E-RUN-003."""
    if lock is None:
        return
    for artifact in declared:
        pin = lock.find(artifact.name)
        if pin is None:
            raise error(
                "E-RUN-003",
                what="murmur.lock does not agree with murmur.yaml",
                reason=f"it holds no entry for {artifact.reference}",
                hint="run `mur install`",
            )
        if pin.resolved_version != artifact.version:
            raise error(
                "E-RUN-003",
                what="murmur.lock does not agree with murmur.yaml",
                reason=f"it pins {artifact.name} at {pin.resolved_version}, and murmur.yaml "
                f"declares {artifact.version}",
                hint="run `mur install`, or declare the pinned version",
            )
        if pin.sha256_for(platform) is None:
            raise error(
                "E-RUN-003",
                what="murmur.lock does not cover this host",
                reason=f"it pins {artifact.reference} for {', '.join(sorted(pin.platforms))}, "
                f"and this host is {platform}",
                hint="run `mur install` on this host",
            )


def check_origin(lock: Lock | None, artifact: Declared) -> None:
    """A pin that a session's pull wrote may not take a privileged role. Raises E-RUN-043."""
    pin = lock.find(artifact.name) if lock else None
    if pin is None or pin.origin != "runtime":
        return
    role = declared_role(artifact)
    if role is not None:
        role = f"declared with {role}"
        raise error("E-RUN-043", artifact=artifact.reference, session=pin.session, role=role)


def declared_role(artifact: Declared) -> str | None:
    """The declaration that a pin of a session's pull may not have; None for a plain one."""
    if artifact.role in ("hook", "driver"):
        return f"runtime: {artifact.role}"
    if artifact.has_gateway:
        return "gateway:"
    if artifact.is_system_prompt:
        return "inference.system_prompt_artifact"
    return None


def check_bytes(lock: Lock | None, artifact: Declared, sha256: str, platform: str) -> None:
    """The installed bytes are the pinned ones. Raises E-REG-002, as `mur run` does."""
    pin = lock.find(artifact.name) if lock else None
    expected = pin.sha256_for(platform) if pin else None
    if expected is not None and expected != sha256:
        raise error(
            "E-REG-002",
            artifact=artifact.reference,
            recorded="murmur.lock",
            expected=expected,
            found=sha256,
            hint="install it again, or delete murmur.lock and run `mur install`",
        )


def conflict(pin: Pin, new: Pin) -> str | None:
    """Why `new` may not replace `pin` at install: same version, other bytes, or another owner.

    A different version re-pins. spec/registry.md 11 (what `mur install` does) and 13 (owner id).
    """
    if pin.owner_id is not None and new.owner_id not in (None, pin.owner_id):
        return f"its scope belonged to owner {pin.owner_id} and now to {new.owner_id}"
    if pin.resolved_version != new.resolved_version:
        return None
    if pin.any is not None and new.any is not None and pin.any != new.any:
        return f"the lock pins sha256 {pin.any}, and these bytes hash to {new.any}"
    for tag, sha256 in new.platforms.items():
        held = pin.platforms.get(tag)
        if held is not None and held != sha256:
            return f"the lock pins sha256 {held} for {tag}, and these bytes hash to {sha256}"
    return None
