"""A tool's `programs:` block: what the host programs that it runs need, and pinned copies of them.

spec/formations-and-newer-manifest.md A15. `mur build` (E-BLD-008) and staging (E-RUN-062) read it
through this one parser. Which places below /etc hold credentials is open there; the list stands
here. Unknown keys are refused, since a misspelt one would vanish silently.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, get_args
from urllib.parse import urlsplit

from murmur.manifest.config import kind_of
from murmur.manifest.segments import relative_problem

Form = Literal["library", "file", "program_folder", "etc", "system"]

FORMS: Final[tuple[Form, ...]] = get_args(Form)
SYSTEM: Final = ("fonts", "ca_bundle")
CREDENTIAL_LOCATIONS: Final = (
    "NetworkManager/system-connections",
    "gshadow",
    "gshadow-",
    "krb5.keytab",
    "ppp/chap-secrets",
    "ppp/pap-secrets",
    "security/opasswd",
    "shadow",
    "shadow-",
    "ssh",
    "ssl/private",
    "sudoers",
    "sudoers.d",
    "wireguard",
)
_SYSTEM_ID: Final = re.compile(r"[a-z0-9][a-z0-9._-]*")
_PLATFORM: Final = re.compile(r"[a-z0-9]+-[a-z0-9_]+")
_SHA256: Final = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Need:
    """One thing that a program needs. `packages` say by os-release ID what provides it."""

    form: Form
    value: str
    beside: str | None = None
    packages: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Download:
    """A pinned copy for one platform. `run` is the executable inside a zip; None: a single file."""

    platform: str
    url: str
    sha256: str
    run: str | None = None


@dataclass(frozen=True, slots=True)
class Program:
    """One host program, by the name that `capabilities.shell.allow` knows it by."""

    name: str
    needs: tuple[Need, ...] = ()
    downloads: tuple[Download, ...] = ()

    def download_for(self, platform: str) -> Download | None:
        """The pinned copy for a platform tag such as `linux-x86_64`."""
        return next((each for each in self.downloads if each.platform == platform), None)


class BadPrograms(ValueError):
    """Why a block cannot be used: the `program`, its dotted `field`, and the `reason`."""

    def __init__(self, program: str, reason: str) -> None:
        super().__init__(f"programs.{program}: {reason}")
        self.program = program
        self.field = f"programs.{program}"
        self.reason = reason


def parse_programs(block: object, runtime: str | None = "tool") -> tuple[Program, ...]:
    """The programs of a tool with that role, in the order written; none without a block.

    Raises BadPrograms.
    """
    if block is None:
        return ()
    if runtime in ("driver", "hook", "skill"):
        raise BadPrograms("*", f"only a tool has programs, and this is a {runtime}")
    if not isinstance(block, Mapping):
        raise BadPrograms("*", f"it is {kind_of(block)}, not a mapping")
    return tuple(_program(name, entry) for name, entry in block.items())


def _program(name: object, entry: object) -> Program:
    if not isinstance(name, str) or not _is_bare(name):
        raise BadPrograms(str(name), "it is no bare program name")
    keys = _mapping(name, "", entry, ("needs", "download"))
    if not keys:
        raise BadPrograms(name, "it holds neither needs nor download")
    needs = tuple(
        _need(name, f"needs[{index}]", each)
        for index, each in enumerate(_list(name, "needs", keys.get("needs")))
    )
    libraries = {need.value for need in needs if need.form == "library"}
    for index, need in enumerate(needs):
        if need.beside is not None and need.beside not in libraries:
            where = f"needs[{index}].beside"
            raise BadPrograms(name, f"{where}: '{need.beside}' is no library of this program")
    downloads: list[Download] = []
    for index, each in enumerate(_list(name, "download", keys.get("download"))):
        found = _download(name, f"download[{index}]", each)
        if any(found.platform == other.platform for other in downloads):
            where = f"download[{index}].platform"
            raise BadPrograms(name, f"{where}: '{found.platform}' is given twice")
        downloads.append(found)
    return Program(name, needs, tuple(downloads))


def _need(program: str, where: str, entry: object) -> Need:
    keys = _mapping(program, where, entry, (*FORMS, "beside", "packages"))
    forms = [form for form in FORMS if form in keys]
    if len(forms) != 1:
        named = ", ".join(FORMS)
        found = " and ".join(forms) or "none"
        raise BadPrograms(program, f"{where}: it holds {found} of {named}, and must hold one")
    form = forms[0]
    value = _text(program, f"{where}.{form}", keys[form])
    if (problem := _value_problem(form, value)) is not None:
        raise BadPrograms(program, f"{where}.{form}: '{value}' {problem}")
    beside = None
    if "beside" in keys:
        beside = _text(program, f"{where}.beside", keys["beside"])
        if form != "file":
            raise BadPrograms(program, f"{where}.beside: '{beside}' stands beside no file")
    return Need(form, value, beside, _packages(program, f"{where}.packages", keys.get("packages")))


def _value_problem(form: Form, value: str) -> str | None:
    """What speaks against the value of a form, or None."""
    match form:
        case "library" | "file":
            return None if _is_bare(value) else "is no bare file name"
        case "system":
            return None if value in SYSTEM else f"is none of {', '.join(SYSTEM)}"
        case "program_folder":
            return _path_problem(value)
        case "etc":
            return _path_problem(value) or _credential_problem(value)


def _path_problem(path: str) -> str | None:
    if path.startswith("~") or "$" in path:
        return "holds something that only a shell expands"
    if problem := relative_problem(path):
        return f"is refused: {problem.replace('work folder', 'folder')}"
    return None


def _credential_problem(path: str) -> str | None:
    """Whether a place below /etc holds credentials, or holds a place that does."""
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    for location in CREDENTIAL_LOCATIONS:
        other = location.split("/")
        shared = min(len(parts), len(other))
        if parts[:shared] == other[:shared]:
            return f"holds credentials (/etc/{location})"
    return None


def _packages(program: str, where: str, value: object) -> dict[str, str]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise BadPrograms(program, f"{where}: it is {kind_of(value)}, not a mapping")
    result = {}
    for key, name in value.items():
        if not isinstance(key, str) or not _SYSTEM_ID.fullmatch(key):
            raise BadPrograms(program, f"{where}.{key}: it is no lowercase os-release ID")
        result[key] = _text(program, f"{where}.{key}", name)
    return result


def _download(program: str, where: str, entry: object) -> Download:
    keys = _mapping(program, where, entry, ("platform", "url", "sha256", "run"))
    found = {
        key: _text(program, f"{where}.{key}", keys.get(key))
        for key in ("platform", "url", "sha256")
    }
    for key, problem in (
        ("platform", not _PLATFORM.fullmatch(found["platform"])),
        ("url", not _is_https(found["url"])),
        ("sha256", not _SHA256.fullmatch(found["sha256"])),
    ):
        if problem:
            raise BadPrograms(program, f"{where}.{key}: '{found[key]}' is no {_WANTED[key]}")
    run = None
    if keys.get("run") is not None:
        run = _text(program, f"{where}.run", keys["run"])
        if (why := _path_problem(run)) is not None:
            raise BadPrograms(program, f"{where}.run: '{run}' {why}")
    return Download(**found, run=run)


_WANTED: Final = {
    "platform": "platform tag such as linux-x86_64",
    "url": "https:// address",
    "sha256": "SHA-256 in 64 lowercase hexadecimal digits",
}


def _is_https(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme == "https" and bool(parts.hostname) and parts.username is None
    except ValueError:
        return False


def _is_bare(name: str) -> bool:
    """Whether a name is one path component that can be looked up on PATH or in a folder."""
    return name not in ("", ".", "..") and not any(c in "/\\\0" or c.isspace() for c in name)


def _mapping(
    program: str, where: str, value: object, accepted: tuple[str, ...]
) -> dict[str, object]:
    """A mapping's entries that have a value; a key that is none of `accepted` is refused."""
    prefix = f"{where}: " if where else ""
    if not isinstance(value, Mapping):
        raise BadPrograms(program, f"{prefix}it is {kind_of(value)}, not a mapping")
    for key in value:
        if key not in accepted:
            dot = f"{where}." if where else ""
            raise BadPrograms(program, f"{dot}{key}: it is none of {', '.join(accepted)}")
    return {str(key): item for key, item in value.items() if item is not None}


def _list(program: str, where: str, value: object) -> list[object]:
    if value is None:
        return []
    if not isinstance(value, list) or not value:
        found = kind_of(value) if not isinstance(value, list) else "empty"
        raise BadPrograms(program, f"{where}: it is {found}, not a list of entries")
    return value


def _text(program: str, where: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        found = kind_of(value) if not isinstance(value, str) else "blank"
        raise BadPrograms(program, f"{where}: it is {found}, not a text")
    return value
