"""Platform tags and what a native binary was built for. spec/registry.md 10."""

import enum
import platform
import sys
from typing import Final

from murmur.store.names import FullName

PLATFORMS: Final = ("darwin-aarch64", "darwin-x86_64", "linux-aarch64", "linux-x86_64")
UNKNOWN: Final = "unknown"
HEAD_BYTES: Final = 64
SUFFIX: Final = ".mur.zip"

_ELF_MACHINES: Final = {0x3E: "linux-x86_64", 0xB7: "linux-aarch64"}
_MACH_CPUS: Final = {0x01000007: "darwin-x86_64", 0x0100000C: "darwin-aarch64"}


class Verdict(enum.Enum):
    """Whether this host can run a binary, as far as its first bytes tell."""

    RUNNABLE = "runnable"
    INDETERMINATE = "indeterminate"
    MISMATCH = "mismatch"


def host_platform() -> str:
    """This host's tag, or `unknown`, which matches nothing."""
    system = {"linux": "linux", "darwin": "darwin"}.get(sys.platform)
    machine = {"x86_64": "x86_64", "amd64": "x86_64", "arm64": "aarch64", "aarch64": "aarch64"}.get(
        platform.machine().lower()
    )
    return f"{system}-{machine}" if system and machine else UNKNOWN


def identify(head: bytes) -> str | None:
    """The platform that a binary's first 64 bytes name; `darwin` for a fat Mach-O; else None."""
    if head[:4] == b"\x7fELF":
        if len(head) < HEAD_BYTES or head[4] != 2 or head[5] not in (1, 2):
            return None
        machine = head[18:20] if head[5] == 1 else head[19:17:-1]
        return _ELF_MACHINES.get(int.from_bytes(machine, "little"))
    if head[:4] == b"\xca\xfe\xba\xbe":
        return "darwin"
    magic = int.from_bytes(head[:4], "little")
    if len(head) >= 8 and magic in (0xFEEDFACF, 0xCFFAEDFE):
        cpu = head[4:8] if magic == 0xFEEDFACF else head[7:3:-1]
        return _MACH_CPUS.get(int.from_bytes(cpu, "little", signed=True))
    return None


def judge(found: str | None, host: str) -> Verdict:
    """Whether a binary identified as `found` runs on `host`."""
    if found is None or host == UNKNOWN:
        return Verdict.INDETERMINATE
    if found == host or (found == "darwin" and host.startswith("darwin-")):
        return Verdict.RUNNABLE
    return Verdict.MISMATCH


def split_tag(file_name: str) -> tuple[str, str | None]:
    """A `.mur.zip` file name without its suffix, and the platform tag split off its end.

    Only one of the four tags behind a `-` and a non-empty head is a tag; any other ending is part
    of the name. Raises ValueError for a name that does not end `.mur.zip`.
    """
    if not file_name.endswith(SUFFIX):
        raise ValueError(f"{file_name!r} does not end in {SUFFIX}")
    stem = file_name[: -len(SUFFIX)]
    for tag in PLATFORMS:
        if stem.endswith("-" + tag) and len(stem) > len(tag) + 1:
            return stem[: -len(tag) - 1], tag
    return stem, None


def payload_stem(name: FullName | str, version: str, tag: str | None) -> str:
    """`<bare name>-<version>[-<platform>]`, the stem of every file of one payload."""
    bare = name.name if isinstance(name, FullName) else name
    return f"{bare}-{version}" + (f"-{tag}" if tag else "")
