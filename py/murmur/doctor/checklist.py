"""The checklist: one line per declared artifact, then the pins that nobody declares.

CLI reference, *mur doctor* and *Lock integrity*; the order of decisions is spec/registry.md 20.
"""

import dataclasses
from collections.abc import Mapping, Sequence

from murmur.core.diagnostics import MurmurError, printable, warning
from murmur.doctor.findings import Findings
from murmur.doctor.wit_level import wanted
from murmur.manifest.artifact import ArtifactManifest
from murmur.manifest.capsule import ArtifactEntry, Capsule
from murmur.session.prepare import declared_artifact
from murmur.store.checks import declared_role
from murmur.store.levels import misfits, served_level
from murmur.store.lock import Lock
from murmur.store.names import FullName
from murmur.store.payload import Payload
from murmur.store.platforms import Verdict, judge
from murmur.store.stores import Store, StoredArtifact, resolve

INDEPENDENT = "platform-independent"


@dataclasses.dataclass(frozen=True, slots=True)
class Row:
    """One line: its mark, what it is about, what stands in the platform column, and the finding."""

    mark: str
    reference: str
    platform: str = ""
    finding: str = ""
    details: tuple[str, ...] = ()
    fix: str = ""

    def lines(self, width: int) -> list[str]:
        columns = [f"{self.reference:<{width}}"]
        columns += [column for column in (self.platform, self.finding) if column]
        line = f"  {self.mark}  {'   '.join(columns).rstrip()}"
        return [printable(each) for each in (line, *(f"        {d}" for d in self.details))]


@dataclasses.dataclass(frozen=True, slots=True)
class Checklist:
    """The rows in manifest order, and the manifest of each artifact that is there."""

    rows: tuple[Row, ...]
    manifests: Mapping[str, ArtifactManifest]

    def lines(self) -> list[str]:
        width = max((len(row.reference) for row in self.rows), default=0)
        return [line for row in self.rows for line in row.lines(width)]


def check_artifacts(
    capsule: Capsule,
    stores: Sequence[Store],
    lock: Lock | None,
    platform: str,
    environ: Mapping[str, str],
    findings: Findings,
) -> Checklist:
    """Checks every declared artifact and counts what it finds."""
    rows: list[Row] = []
    manifests: dict[str, ArtifactManifest] = {}
    for entry in capsule.artifacts:
        row, manifest = _Check(capsule, entry, lock, platform).row(stores, environ)
        rows.append(row)
        if manifest is not None:
            manifests[entry.name] = manifest
        if row.mark == "✗":
            findings.errors.append(row.fix)
            continue
        findings.passed += 1
        if row.mark == "⚠":
            findings.warnings.append(row.fix)
    return Checklist((*rows, *_pulled(capsule, lock)), manifests)


def _pulled(capsule: Capsule, lock: Lock | None) -> list[Row]:
    """Pins that a session pulled and the project does not declare."""
    declared = {entry.name for entry in capsule.artifacts}
    return [
        Row(
            "·",
            f"{pin.name}@{pin.resolved_version}",
            f"pulled at runtime by session {pin.session} — not declared in murmur.yaml, so mur "
            "run does not stage it",
        )
        for pin in (lock.pins if lock else ())
        if pin.origin == "runtime" and pin.name.text not in declared
    ]


@dataclasses.dataclass(frozen=True, slots=True)
class _Check:
    """The decision on one entry."""

    capsule: Capsule
    entry: ArtifactEntry
    lock: Lock | None
    platform: str

    def row(
        self, stores: Sequence[Store], environ: Mapping[str, str]
    ) -> tuple[Row, ArtifactManifest | None]:
        entry = self.entry
        if entry.source is not None:
            return Row("✓", entry.label, "local source"), None
        try:
            stored = resolve(FullName(entry.name), entry.version, stores, self.platform)
            if stored is None:
                return self._failed("missing", f"mur install {entry.label}"), None
            payload = stored.open(environ)
        except MurmurError as refused:
            fix = refused.hint or f"mur install {entry.label}"
            return self._failed(refused.message, f"{entry.name}: {fix}"), None
        return self._judged(stored, payload), payload.manifest

    def _judged(self, stored: StoredArtifact, payload: Payload) -> Row:
        return (
            self._lock_problem(payload)
            or self._refused_origin()
            or self._wrong_platform(payload)
            or self._stale(stored, payload)
            or self._pulled_pin()
            or self._untagged(stored, payload)
            or Row("✓", self.entry.label, self._runs_on(payload))
        )

    def _failed(self, finding: str, fix: str, details: tuple[str, ...] = ()) -> Row:
        return Row("✗", self.entry.label, self.platform, f"— {finding}", details, fix)

    def _lock_problem(self, payload: Payload) -> Row | None:
        """One of the four disagreements with murmur.lock."""
        entry, install = self.entry, f"mur install {self.entry.label}"
        if self.lock is None:
            return None
        pin = self.lock.find(FullName(entry.name))
        if pin is None:
            return self._failed(f"murmur.lock missing artifact entry for '{entry.name}'", install)
        if pin.resolved_version != entry.version:
            return self._failed(
                f"murmur.lock version mismatch for '{entry.name}': manifest requested "
                f"{entry.version}, lock pinned {pin.resolved_version}",
                f"{entry.name}: edit the version in murmur.yaml, then run mur install",
            )
        expected = pin.sha256_for(self.platform)
        if expected is None:
            pinned = ", ".join(sorted(pin.platforms))
            return self._failed(
                f"murmur.lock has no sha256 for '{entry.name}' on {self.platform}: it pins "
                f"{pinned}",
                install,
            )
        if expected == payload.sha256:
            return None
        return self._failed(
            f"artifact integrity check failed for {entry.label}",
            f"{entry.name}: artifact on disk does not match murmur.lock — re-publish or delete "
            "the lock",
            (
                f"expected sha256 (murmur.lock): {expected}",
                f"actual sha256 (on disk):       {payload.sha256}",
            ),
        )

    def _session(self) -> str | None:
        """The session whose pull wrote the pin."""
        pin = self.lock.find(FullName(self.entry.name)) if self.lock else None
        return pin.session if pin is not None and pin.origin == "runtime" else None

    def _refused_origin(self) -> Row | None:
        session = self._session()
        role = declared_role(declared_artifact(self.capsule, self.entry))
        if session is None or role is None:
            return None
        return Row(
            "✗",
            self.entry.label,
            finding=f"— murmur.lock pins '{self.entry.name}' from a runtime pull by session "
            f"{session}; murmur.yaml declares it with {role}",
            fix=f"mur install {self.entry.label}",
        )

    def _wrong_platform(self, payload: Payload) -> Row | None:
        found = _built_for(payload)
        if payload.kind != "native" or judge(found, self.platform) is not Verdict.MISMATCH:
            return None
        return self._failed(
            f"native binary is built for {found}, this host is {self.platform}",
            f"{self.entry.name}: native binary is built for {found} — reinstall "
            f"{self.entry.label} on this host",
        )

    def _stale(self, stored: StoredArtifact, payload: Payload) -> Row | None:
        found = misfits(stored.contracts(payload), served_level())
        if not found:
            return None
        first = found[0]
        more = f" (+{len(found) - 1} more)" if len(found) > 1 else ""
        return Row(
            "✗",
            self.entry.label,
            finding=f"— built against {first.found}, {first.serving}{more}",
            fix=f"{self.entry.name}: pin a release built against {wanted(found)} in murmur.yaml, "
            "then run mur install",
        )

    def _pulled_pin(self) -> Row | None:
        session = self._session()
        if session is None:
            return None
        return Row(
            "⚠",
            self.entry.label,
            finding=f"— pulled at runtime by session {session}",
            fix=f"mur install {self.entry.label}",
        )

    def _untagged(self, stored: StoredArtifact, payload: Payload) -> Row | None:
        if stored.platform_warning(payload) is None:
            return None
        found = warning("W-REG-001", artifact=self.entry.label)
        return Row(
            "⚠",
            self.entry.label,
            self.platform,
            f"— native artifact with no recorded platform (warning[{found.code}])",
            fix=f"mur install {self.entry.label}",
        )

    def _runs_on(self, payload: Payload) -> str:
        if payload.kind != "native":
            return INDEPENDENT
        if judge(_built_for(payload), self.platform) is Verdict.RUNNABLE:
            return self.platform
        return "platform unverified"


def _built_for(payload: Payload) -> str | None:
    return payload.native_platform() if payload.kind == "native" else None
