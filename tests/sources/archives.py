"""Real archives with real (empty) components, and the index that describes them."""

import hashlib

from murmur.store.archive import Entry, archive_bytes
from murmur.store.index import Index, IndexArtifact, IndexFile, IndexVersion, render_index
from murmur.store.payload import open_payload
from murmur.store.platforms import split_tag

PREAMBLE = b"\0asm\x0d\0\1\0"
SERVED = "murmur:tool/run@0.2.0"
STALE = "murmur:tool/run@0.1.0"


def _section(number: int, body: bytes) -> bytes:
    assert len(body) < 128
    return bytes([number, len(body)]) + body


def component(*exports: str) -> bytes:
    """A component that exports these interfaces, as instances."""
    out = PREAMBLE
    for name in exports:
        raw = name.encode()
        out += _section(11, bytes([1, 0, len(raw)]) + raw + b"\x05\x02\0")
    return out


def wasm(
    name: str,
    version: str = "1.0.0",
    interface: str | None = SERVED,
    padding: bytes = b"",
    runtime: str = "tool",
) -> tuple[str, bytes]:
    """A WASM artifact's asset: file name and bytes. Without an interface it can be compiled."""
    manifest = f"name: {name}\nversion: {version}\nruntime: {runtime}\n".encode()
    entries = [
        Entry("murmur.yaml", manifest),
        Entry("capsule.wasm", component(*filter(None, [interface]))),
    ]
    if padding:
        entries.append(Entry("padding", padding))
    return f"{name}-{version}.mur.zip", archive_bytes(entries)


def native(name: str, version: str, platform: str) -> tuple[str, bytes]:
    """A native artifact's asset for one platform."""
    manifest = f"name: {name}\nversion: {version}\nruntime: tool\nimplementation: native\n".encode()
    script = f"#!/bin/sh\n# {platform}\n".encode()
    entries = [Entry("murmur.yaml", manifest), Entry(f"bin/{name}", script, executable=True)]
    return f"{name}-{version}-{platform}.mur.zip", archive_bytes(entries)


def skill(name: str, version: str = "1.0.0") -> tuple[str, bytes]:
    manifest = f"name: {name}\nversion: {version}\nruntime: skill\n".encode()
    return f"{name}-{version}.mur.zip", archive_bytes(
        [Entry("murmur.yaml", manifest), Entry("skill.md", b"Do it well.\n")]
    )


def index(scope: str, releases: dict[str, dict[str, bytes]]) -> bytes:
    """The index of the archives in some releases."""
    found: dict[str, dict[str, IndexVersion]] = {}
    roles = {}
    for tag, assets in releases.items():
        for name, data in assets.items():
            payload = open_payload(data, name)
            manifest = payload.manifest
            roles[manifest.name] = manifest.runtime or "tool"
            file = IndexFile(name, hashlib.sha256(data).hexdigest(), split_tag(name)[1])
            held = found.setdefault(manifest.name, {}).get(manifest.version)
            files = (*held.files, file) if held else (file,)
            contracts = payload.contracts
            found[manifest.name][manifest.version] = (
                IndexVersion(manifest.version, tag, files, contracts)
                if contracts
                else IndexVersion(manifest.version, tag, files)
            )
    artifacts = [
        IndexArtifact(name, roles[name], tuple(versions.values()))
        for name, versions in found.items()
    ]
    return render_index(Index(scope, tuple(artifacts)))
