"""The component of a script capsule: found beside its manifest, compiled at staging.

spec/sessions.md 24; spec/registry.md 16 (a capsule's own component is keyed by its own hash).
"""

import dataclasses
import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

from murmur.core.diagnostics import error
from murmur.core.regular import read_regular
from murmur.core.safefs import TooLarge
from murmur.guest.client import CompileFailed, Guests
from murmur.guest.processes import GuestsFailed
from murmur.session.launch import Launch
from murmur.session.scratch import Scratch
from murmur.store.archive import NoPayload, decompression_ceiling, select_component
from murmur.store.compiled import CompiledCache, build_facts


@dataclasses.dataclass(frozen=True, slots=True)
class Script:
    """A compiled script component. `key` names its content to guest hosts."""

    path: Path
    compiled: Path
    key: str


def find_component(launch: Launch) -> Path:
    """`capsule.wasm` in the manifest's directory, else the only other `.wasm` there.

    Of an installed capsule, the root component of its archive. Raises E-RUN-004 naming what was
    found, E-IO-003 for a directory that cannot be listed.
    """
    directory, package = launch.directory, launch.package
    if package is not None:
        names = list(package.payload.archive.names)
        return package.path(_select(names, package.path("")))
    try:
        names = sorted(
            entry.name for entry in os.scandir(directory) if entry.name.endswith(".wasm")
        )
    except OSError as failure:
        raise error(
            "E-IO-003", what=str(directory), reason=str(failure.strerror), hint="mend its mode"
        ) from None
    return directory / _select(names, directory)


def _select(names: Sequence[str], directory: Path) -> str:
    try:
        return select_component(names)
    except NoPayload:
        components = [name for name in names if name.endswith(".wasm")]
        found = ", ".join(components) if components else "no .wasm file"
        raise error("E-RUN-004", directory=directory, found=found) from None


def compile_component(
    path: Path, launch: Launch, guests: Guests, cache: CompiledCache, scratch: Scratch
) -> Script:
    """Compiles the component, or loads its compiled form; `scratch` takes a form that the cache
    cannot keep.

    Raises E-IO-003 for a file that cannot be read or is larger than an artifact may be, E-RUN-001
    for one that does not compile.
    """
    if launch.package is not None:
        data = launch.package.payload.component()
    else:
        data = _read(path, decompression_ceiling(launch.environ))

    def compile_form(component: bytes, target: int) -> None:
        try:
            guests.compile(component, target)
        except (CompileFailed, GuestsFailed) as failure:
            raise error(
                "E-RUN-001",
                artifact=path.name,
                reason=f"it could not be compiled: {failure}",
                hint="build it again as a component of the world murmur:runtime-guest/capsule",
            ) from None

    digest = hashlib.sha256(data).hexdigest()
    key = guests.engine_key(*build_facts(launch.environ))
    try:
        form = cache.ensure(digest, key, lambda: data, compile_form)
    except OSError:
        form = cache.ensure(digest, key, lambda: data, compile_form, scratch.folder())
    return Script(path, form.path, f"{digest}-{key}")


def _read(path: Path, ceiling: int) -> bytes:
    try:
        return read_regular(path, ceiling)
    except TooLarge:
        reason = f"it is larger than {ceiling} bytes"
    except OSError as failure:
        reason = failure.strerror or str(failure)
    raise error("E-IO-003", what=str(path), reason=reason, hint="mend the file")
