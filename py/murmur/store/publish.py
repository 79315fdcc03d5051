"""`mur publish`: a built archive becomes `local/<name>` in the global store. spec/registry.md 8."""

import dataclasses
import os
from pathlib import Path

from murmur.core.diagnostics import error
from murmur.manifest.artifact import parse_artifact_manifest
from murmur.store.archive import MANIFEST, SUFFIX
from murmur.store.build import check_name
from murmur.store.content import hold_file
from murmur.store.names import LOCAL_SCOPE, RESERVED_VERSIONS, FullName
from murmur.store.payload import Payload, open_payload
from murmur.store.platforms import UNKNOWN, host_platform
from murmur.store.stores import Store, StoredArtifact


@dataclasses.dataclass(frozen=True, slots=True)
class Published:
    """What was published; `detected` is the tag that was taken from the host, if it was."""

    artifact: StoredArtifact
    detected: str | None


def default_archive(folder: str) -> str:
    """`<name>-<version>.mur.zip` of the manifest in `folder`.

    Raises E-IO-001 when there is no manifest, or no such archive.
    """
    path = os.path.join(folder, MANIFEST)
    try:
        data = Path(path).read_bytes()
    except FileNotFoundError:
        raise error(
            "E-IO-001", what=MANIFEST, path=path, hint="name the .mur.zip to publish"
        ) from None
    except OSError as failure:
        raise error(
            "E-IO-003", what=f"{path} cannot be read", reason=failure.strerror, hint=""
        ) from failure
    manifest = parse_artifact_manifest(data, path)
    return os.path.join(folder, f"{manifest.name}-{manifest.version}{SUFFIX}")


def read_archive_file(path: str) -> Payload:
    """The payload in a file that the operator named. Raises E-IO-001, E-IO-002, E-IO-003, E-MAN-*
    and E-BLD-001 for a name that no store can hold."""
    try:
        data = hold_file(path)
    except (FileNotFoundError, NotADirectoryError):
        raise error(
            "E-IO-001", what="artifact", path=path, hint="build it first: mur build"
        ) from None
    except PermissionError as failure:
        raise error("E-IO-002", path=path, reason=failure.strerror) from failure
    except OSError as failure:
        raise error(
            "E-IO-003", what=f"{path} cannot be read", reason=failure.strerror, hint=""
        ) from failure
    payload = open_payload(data, path)
    check_name(payload.manifest.name, f"rename it in the {MANIFEST} of {path} and build it again")
    return payload


def publish(path: str, store: Store, platform: str | None = None) -> Published:
    """Puts the archive at `path` into the global store.

    `platform` is the tag of a native artifact; the host's without one. Raises E-REG-004 for a
    reserved version, E-REG-003 when it is there already, and what `read_archive_file` raises.
    """
    if platform is not None:
        _check_tag(platform)
    payload = read_archive_file(path)
    version = payload.manifest.version
    if version in RESERVED_VERSIONS:
        raise error("E-REG-004", version=version)
    tag = detected = None
    if payload.kind == "native":
        tag = platform
        if tag is None:
            tag = detected = _detect()
    name = FullName.of(LOCAL_SCOPE, payload.manifest.name)
    return Published(store.put(name, payload, tag, overwrite=False), detected)


def _check_tag(tag: str) -> None:
    system, _, machine = tag.partition("-")
    if not system or not machine or not tag.replace("-", "").replace("_", "").isalnum():
        raise error(
            "E-IO-003",
            what=f"--platform {tag}",
            reason="a platform is <os>-<arch>",
            hint="write for example linux-x86_64 or darwin-aarch64",
        )


def _detect() -> str:
    tag = host_platform()
    if tag == UNKNOWN:
        raise error(
            "E-IO-003",
            what="this host's platform is not known",
            reason="a native artifact is filed under the platform it runs on",
            hint="pass --platform, for example --platform linux-x86_64",
        )
    return tag
