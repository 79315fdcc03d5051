"""Where a gateway's key comes from, and when it is looked at again.

`gateway.api_key` is `${NAME}` or a literal. A reference is read from `credentials.NAME` of
`~/.murmur/config.yaml`, watched while the session runs, else from the environment, once.
spec/formations-and-newer-manifest.md A4, spec/registry.md 21.
"""

import os
import re
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, Protocol

from murmur.core.diagnostics import Diagnostic, error, warning
from murmur.inference.gateway_routes import CredentialUnavailable, KeySource
from murmur.inference.secret import Secret
from murmur.manifest.capsule import Gateway

Source = Literal["config", "environment", "manifest", "keyless", "injected"]
Unreadable = Literal[
    "missing", "unreadable", "unparseable", "no_entry", "empty_entry", "not_injected"
]

_REFERENCE: Final = re.compile(r"\$\{([A-Z_][A-Z0-9_]*)\}", re.ASCII)
_LARGEST_CONFIG: Final = 1 << 20
_NEVER_WAITS: Final = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
_Stamp = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class CredentialChange:
    """What a `gateway_credential` line says, fields as in spec/observability.md 5.7."""

    source: Source
    credential: str | None
    change: Literal["rotated", "rejected", "unreadable"]
    trigger: Literal["file_changed", "rejection"] | None = None
    status: int | None = None
    retried: bool | None = None
    reason: Unreadable | None = None


Report = Callable[[CredentialChange], None]


class Credential(KeySource, Protocol):
    """A KeySource that can say what it is without saying the key."""

    @property
    def source(self) -> Source: ...
    @property
    def origin(self) -> str:
        """Where the key came from, in words that E-RUN-027 uses."""
        ...

    @property
    def report(self) -> Report: ...
    @report.setter
    def report(self, to: Report) -> None: ...


@dataclass(frozen=True, slots=True)
class Resolved:
    """The credential of one entry (None: keyless) and what the launch warns about.

    `missing` names the variable of a key that is held nowhere, where that is allowed.
    """

    credential: Credential | None
    source: Source
    warnings: tuple[Diagnostic, ...] = ()
    missing: str | None = None


def ignore(change: CredentialChange) -> None:
    """The Report before a trace is open."""


class FixedCredential:
    """A key read once at launch: a literal, or an environment variable."""

    def __init__(self, secret: Secret, source: Source, name: str | None) -> None:
        self._secret = secret
        self.source: Source = source
        self._name = name
        self.report: Report = ignore

    @property
    def origin(self) -> str:
        if self._name is None:
            return "a literal in gateway.api_key"
        return f"the environment variable {self._name}"

    def current(self) -> Secret:
        """The key."""
        return self._secret

    def reread(self) -> Secret:
        """The same key: this source is read once."""
        return self._secret

    def rejected(self, *, retried: bool) -> None:
        """Reports the rejection."""
        self.report(
            CredentialChange(self.source, self._name, "rejected", status=401, retried=retried)
        )


class StoredCredential:
    """`credentials.NAME` of the global config, re-read when the file changes.

    Removing or breaking the entry keeps the last key; each such state is reported once. One that
    never was there is waited for: until it is, there is no key.
    """

    source: Source = "config"

    def __init__(
        self, secret: Secret | None, name: str, config: Path, stamp: _Stamp | None
    ) -> None:
        self._secret = secret
        self._name = name
        self._config = config
        self._stamp = stamp
        self._trouble: Unreadable | None = None
        self.report: Report = ignore

    @property
    def origin(self) -> str:
        return f"credentials.{self._name} in {self._config}"

    def current(self) -> Secret:
        """The key as the file holds it now; inode, size and times tell whether to read it.

        Raises CredentialUnavailable.
        """
        if _stamp(self._config) != self._stamp:
            self._load("file_changed")
        return self._held()

    def reread(self) -> Secret:
        """The key after reading the file whatever its times say. Raises CredentialUnavailable."""
        self._load("rejection")
        return self._held()

    def _held(self) -> Secret:
        if self._secret is None:
            raise CredentialUnavailable(self._name)
        return self._secret

    def rejected(self, *, retried: bool) -> None:
        """Reports the rejection."""
        self.report(CredentialChange("config", self._name, "rejected", status=401, retried=retried))

    def _load(self, trigger: Literal["file_changed", "rejection"]) -> None:
        self._stamp = _stamp(self._config)
        found = read_entry(self._config, self._name)
        if isinstance(found, Secret):
            self._trouble = None
            if found != self._secret:
                self._secret = found
                self.report(CredentialChange("config", self._name, "rotated", trigger=trigger))
        elif found != self._trouble:
            self._trouble = found
            self.report(CredentialChange("config", self._name, "unreadable", reason=found))


class InjectedCredential:
    """A key that a controller supplies while the session runs, held in memory alone.

    It is looked up nowhere. Each period without a value is reported once, when a request meets it.
    spec/door.md 19.
    """

    source: Source = "injected"

    def __init__(self, name: str) -> None:
        self.name = name
        self._secret: Secret | None = None
        self._told = False
        self.report: Report = ignore

    @property
    def origin(self) -> str:
        return f"the controller, as the secret {self.name}"

    @property
    def held(self) -> bool:
        """Whether there is a value now."""
        return self._secret is not None

    def supply(self, secret: Secret) -> None:
        """Takes a value, in place of one that was there."""
        self._secret, self._told = secret, False

    def forget(self) -> None:
        """Drops the value."""
        self._secret, self._told = None, False

    def current(self) -> Secret:
        """The key. Raises CredentialUnavailable."""
        if self._secret is None:
            if not self._told:
                self._told = True
                self.report(
                    CredentialChange("injected", self.name, "unreadable", reason="not_injected")
                )
            raise CredentialUnavailable(self.name)
        return self._secret

    def reread(self) -> Secret:
        """The same: nothing else holds it. Raises CredentialUnavailable."""
        return self.current()

    def rejected(self, *, retried: bool) -> None:
        """Reports the rejection."""
        self.report(
            CredentialChange("injected", self.name, "rejected", status=401, retried=retried)
        )


def resolve_key(
    gateway: Gateway,
    *,
    artifact: str,
    at: str,
    field: str,
    config: Path,
    environ: Mapping[str, str],
    may_be_missing: bool = False,
) -> Resolved:
    """The key of one `gateway:` block, at staging, before any session directory exists.

    `at` names the manifest and `field` the dotted field for messages. Raises E-CAP-018 when there
    is neither key nor `keyless`, and E-MAN-003 for a reference held nowhere or a key that no header
    can carry. With `may_be_missing`, a reference held nowhere is a key that comes later. Warns
    W-SEC-027 for a key read once and W-SEC-028 for a config others may read.
    """
    if gateway.keyless:
        return Resolved(None, "keyless")
    api_key = gateway.api_key
    if api_key is None or not api_key.strip():
        raise error("E-CAP-018", field=field, artifact=artifact, endpoint=gateway.endpoint)
    reference = _REFERENCE.fullmatch(api_key.strip())
    if reference is None:
        secret = _secret(api_key, at, field, "the literal")
        fixed = FixedCredential(secret, "manifest", None)
        return Resolved(fixed, "manifest", (_read_once(artifact, fixed.origin, "<NAME>"),))
    name = reference[1]
    stamp = _stamp(config)
    found = read_entry(config, name)
    if isinstance(found, Secret):
        stored = StoredCredential(found, name, config, stamp)
        return Resolved(stored, "config", _open_to_others(config))
    if found == "unparseable" and not environ.get(name):
        reason = f"credentials.{name} in {config} holds no value that can be sent in a header"
        raise error("E-MAN-003", at=at, field=field, reason=reason, hint=_store(name))
    if not environ.get(name, "").strip() and may_be_missing:
        return Resolved(StoredCredential(None, name, config, stamp), "config", missing=name)
    if not environ.get(name, "").strip():
        reason = (
            f"{artifact} needs {name}, and neither credentials.{name} in {config} nor the "
            f"environment variable {name} holds a value"
        )
        raise error("E-MAN-003", at=at, field=field, reason=reason, hint=_store(name))
    secret = _secret(environ[name], at, field, f"the environment variable {name}")
    held = FixedCredential(secret, "environment", name)
    return Resolved(held, "environment", (_read_once(artifact, held.origin, name),))


def referenced_variable(api_key: str | None) -> str | None:
    """NAME of a key written `${NAME}`; None for a literal or no key."""
    match = _REFERENCE.fullmatch(api_key.strip()) if api_key is not None else None
    return match[1] if match else None


def read_entry(config: Path, name: str) -> Secret | Unreadable:
    """`credentials.<name>` of the config file as it is now, or why it cannot be had."""
    import yaml

    try:
        # Asked on the event loop, which a pipe of that name must not hold up.
        descriptor = os.open(config, os.O_RDONLY | _NEVER_WAITS)
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return "unreadable"
            data = file.read(_LARGEST_CONFIG + 1)
    except FileNotFoundError:
        return "missing"
    except OSError:
        return "unreadable"
    if len(data) > _LARGEST_CONFIG:
        return "unparseable"
    try:
        document = yaml.safe_load(data)
    except (yaml.YAMLError, ValueError, RecursionError):
        return "unparseable"
    entries = document.get("credentials") if isinstance(document, dict) else None
    if not isinstance(entries, dict) or name not in entries:
        return "no_entry"
    value = entries[name]
    if value is None or (isinstance(value, str) and not value.strip()):
        return "empty_entry"
    try:
        return Secret(value.strip()) if isinstance(value, str) else "unparseable"
    except ValueError:
        return "unparseable"


def _secret(text: str, at: str, field: str, what: str) -> Secret:
    try:
        return Secret(text.strip())
    except ValueError:
        reason = f"{what} holds characters that no header can carry"
        raise error("E-MAN-003", at=at, field=field, reason=reason, hint="") from None


def _store(name: str) -> str:
    return f"run `mur config set -g credentials.{name} <key>`, or set {name} in the environment"


def _read_once(artifact: str, origin: str, name: str) -> Diagnostic:
    return warning("W-SEC-027", artifact=artifact, origin=origin, name=name)


def _stamp(path: Path) -> _Stamp | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def _open_to_others(config: Path) -> tuple[Diagnostic, ...]:
    try:
        mode = stat.S_IMODE(os.stat(config).st_mode)
    except OSError:
        return ()
    if os.name != "posix" or not mode & 0o077:
        return ()
    shown, remedy = f"{mode:04o}", f"chmod 600 {config}"
    return (warning("W-SEC-028", path=config, holds="holds keys", mode=shown, remedy=remedy),)
