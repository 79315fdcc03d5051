"""The blocks about what the manifest grants: preopens, read-only paths, installs, the door."""

from murmur.core.diagnostics import MurmurError
from murmur.manifest.capsule import ArtifactEntry, Capsule
from murmur.manifest.grants import FilesystemGrant
from murmur.manifest.segments import check_scope
from murmur.session.scope.model import ScopeReport
from murmur.session.scope.text import harness_lines, install_lines, read_only_lines

WHOLE = "the whole accessible workdir"
SUBTREE = "one subtree of the accessible workdir"
KEY = "capabilities.filesystem.scope"


def preopens_block(capsule: Capsule) -> list[str]:
    """One line per tool, driver and hook entry, naming the folder that it works out of."""
    lines = ["Filesystem preopens"]
    ceiling = capsule.capabilities.filesystem_scope
    for entry in capsule.artifacts:
        if entry.runtime != "skill":
            own = entry.capabilities.filesystem if entry.capabilities else None
            lines.append(f"  - {entry.name} ({entry.runtime}): {_folder(entry, own, ceiling)}")
    return lines if len(lines) > 1 else [*lines, "  <none>"]


def _folder(entry: ArtifactEntry, own: FilesystemGrant | None, ceiling: str | None) -> str:
    scope = own.scope if own is not None and own.scope is not None else ceiling
    if entry.runtime == "hook":
        if own is not None and own.records:
            beside = "" if own.scope is None else f", and {SUBTREE} — {KEY}: {own.scope}"
            return f"hooks in the records directory — capabilities.filesystem.records: true{beside}"
        if own is None or own.scope is None:
            return f"no directory — no {KEY} declared"
    if scope is None:
        return f"{WHOLE} — no {KEY} declared"
    try:
        check_scope(scope, KEY)
    except MurmurError:
        return "<unresolved>"
    return f"{SUBTREE} — {KEY}: {scope}"


def read_only_block(report: ScopeReport) -> list[str]:
    """In the words of `mur run --explain-scope`."""
    return ["Read-only paths", *read_only_lines(report)]


def harness_block(report: ScopeReport) -> list[str]:
    """In the words of `mur run --explain-scope`; nothing for a capsule without a harness."""
    lines = harness_lines(report)
    return ["Harness grant", *lines] if lines else []


def install_block(report: ScopeReport) -> list[str]:
    """In the words of `mur run --explain-scope`."""
    return ["Install grant", *install_lines(report)]


def door_line(capsule: Capsule) -> str:
    """Who may call the capsule's door."""
    authentication = capsule.network.authentication
    if authentication is None:
        return "door: public (no network.authentication)"
    named = [
        f"{name} ({', '.join(held.scopes)})"
        for name, held in sorted(authentication.credentials.items())
    ]
    return f"door: bearer — {', '.join(['operator', *named])}"
