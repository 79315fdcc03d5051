"""An installed capsule, run by name instead of from a project: `mur run --capsule`.

Its manifest and the files that the manifest names are the artifact's own entries, read from its
bytes; no murmur.yaml and no murmur.lock of any folder is looked at. CLI reference, *mur run*;
spec/formations-and-newer-manifest.md A9.
"""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from murmur.core.diagnostics import error
from murmur.core.home import Home
from murmur.store.archive import MANIFEST, BadArchive
from murmur.store.names import parse_full_name
from murmur.store.payload import Payload, unreadable
from murmur.store.platforms import host_platform
from murmur.store.stores import global_store, project_store, resolve_all

_LARGEST: Final = 4 << 20


@dataclasses.dataclass(frozen=True, slots=True)
class Package:
    """The artifact that a capsule is packed in; `label` is `<scope>/<name>@<version>`."""

    label: str
    payload: Payload

    @property
    def manifest(self) -> Path:
        """How its manifest is named in reports."""
        return self.path(MANIFEST)

    def path(self, name: str) -> Path:
        """How one of its entries is named in reports."""
        return Path(f"{self.label}!") / name

    def holds(self, name: str) -> bool:
        return name in self.payload.archive.names

    def text(self, name: str) -> str:
        """An entry as text. Raises FileNotFoundError without it, E-IO-003 for a damaged one."""
        if not self.holds(name):
            raise FileNotFoundError(2, "No such file or directory", str(self.path(name)))
        try:
            return self.payload.archive.read_text(name, _LARGEST)
        except BadArchive as bad:
            raise unreadable(self.label, str(bad)) from None


def find_package(
    name: str, version: str, folder: Path, home: Home, environ: Mapping[str, str]
) -> Package:
    """The capsule `name` from the project store of `folder`, then from the global one.

    Raises E-REG-007 for a bare name, E-RUN-008 when it is not installed, E-REG-002 for bytes that
    are not those that were installed, E-IO-001 for an artifact that is no capsule.
    """
    stores = (project_store(folder), global_store(home.artifacts))
    wanted = parse_full_name(name)
    hint = f"run `mur install -g {name}@{version}`"
    (stored,) = resolve_all([(wanted, version)], stores, host_platform(), hint)
    package = Package(f"{name}@{version}", stored.open(environ))
    if not package.holds(MANIFEST):
        raise error("E-IO-001", what=MANIFEST, path=package.label, hint="install a capsule")
    return package
