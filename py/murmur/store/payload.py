"""One artifact's bytes, opened: its hash, its archive, its manifest and what it needs of WIT."""

import dataclasses
import functools
import os
from collections.abc import Mapping
from typing import Final

from murmur.core.diagnostics import error
from murmur.manifest.artifact import ArtifactManifest, parse_artifact_manifest
from murmur.store.archive import (
    MANIFEST,
    Archive,
    BadArchive,
    NoPayload,
    decompression_ceiling,
)
from murmur.store.component import Contracts, read_contracts
from murmur.store.content import Content
from murmur.store.platforms import HEAD_BYTES, identify

MANIFEST_LIMIT: Final = 1 << 20


@dataclasses.dataclass(frozen=True)
class Payload:
    """An artifact as packed. `content` is the whole zip; `label` names it in messages."""

    label: str
    content: Content = dataclasses.field(repr=False)
    archive: Archive = dataclasses.field(repr=False)
    manifest: ArtifactManifest

    @property
    def sha256(self) -> str:
        """Over the whole zip, lowercase hex."""
        return self.content.sha256

    @property
    def kind(self) -> str:
        """The packaging type: `wasm`, `native` or `static`."""
        return self.manifest.execution

    @functools.cached_property
    def contracts(self) -> Contracts | None:
        """What the root component imports and exports; None without a readable component."""
        if self.kind != "wasm":
            return None
        try:
            return read_contracts(self.archive.stream(self.archive.component_name()))
        except BadArchive:
            return None

    def component(self) -> bytes:
        """The component to compile. Raises E-RUN-001 without exactly one, E-IO-003 when damaged."""
        try:
            return self.archive.component()
        except NoPayload as bad:
            raise error(
                "E-RUN-001",
                artifact=self.label,
                reason=str(bad),
                hint="rebuild the artifact with one root .wasm, or name it capsule.wasm",
            ) from None
        except BadArchive as bad:
            raise unreadable(self.label, str(bad)) from None

    @property
    def native_entry(self) -> str:
        """The entry that holds a native tool's executable."""
        return f"bin/{self.manifest.name}"

    def native_platform(self) -> str | None:
        """What the native executable's first bytes say it was built for; None when unknown."""
        try:
            return identify(self.archive.head(self.native_entry, HEAD_BYTES))
        except BadArchive:
            return None


def unreadable(label: str, reason: str) -> Exception:
    """The refusal of an archive that cannot be read: E-IO-003."""
    return error(
        "E-IO-003",
        what=f"the artifact {label} cannot be read",
        reason=reason,
        hint="build it again with `mur build`, or install it again",
    )


def open_payload(
    data: Content | bytes, label: str, environ: Mapping[str, str] | None = None
) -> Payload:
    """Opens the bytes of a `.mur.zip`.

    Raises E-IO-003 for an archive that cannot be read or holds no `murmur.yaml`, and what
    `parse_artifact_manifest` raises for the manifest in it.
    """
    content = data if isinstance(data, Content) else Content.of(data)
    try:
        archive = Archive(
            content, decompression_ceiling(os.environ if environ is None else environ)
        )
        manifest = archive.read(MANIFEST, MANIFEST_LIMIT)
    except BadArchive as bad:
        raise unreadable(label, str(bad)) from None
    return Payload(
        label,
        content,
        archive,
        parse_artifact_manifest(manifest, f"{label}: {MANIFEST}"),
    )
