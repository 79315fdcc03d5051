"""Rules for paths and names in a manifest that become directories.

These are refused at staging and by `--explain-scope`, not at parse. spec/diagnostics.md 4.2.
"""

from collections.abc import Iterable
from typing import Final

from murmur.core.diagnostics import error
from murmur.manifest.capsule import Capsule
from murmur.manifest.session import AfterTask

# seconds: the longest a handle of a capsule that sleeps may be good for
LONGEST_HANDLE: Final = 900


def relative_problem(path: str) -> str | None:
    """Why `path` does not stay inside the folder it is relative to, or None when it does.

    `a/../b` stays inside; `.` is the folder itself.
    """
    if path.startswith("/"):
        return "it is absolute"
    if "\0" in path:
        return "it holds a NUL character"
    depth = 0
    for part in path.split("/"):
        depth += -1 if part == ".." else (0 if part in ("", ".") else 1)
        if depth < 0:
            return "it leaves the work folder through '..'"
    return None


def check_scope(scope: str, where: str) -> None:
    """Refuses a `filesystem.scope` outside the work folder with E-CAP-002."""
    if problem := relative_problem(scope):
        raise error("E-CAP-002", field=where, scope=scope, reason=problem)


def check_read_only(paths: Iterable[str]) -> None:
    """Refuses a `filesystem.read_only` entry outside the work folder with E-CAP-012."""
    for path in paths:
        if problem := relative_problem(path):
            raise error("E-CAP-012", path=path, reason=problem)


def segment_problem(name: str) -> str | None:
    """Why `name` cannot name one directory, or None. seeds/manifest-schema.md, State store name."""
    if not name:
        return "it is empty"
    if "/" in name:
        return "it holds a '/'"
    if "\0" in name:
        return "it holds a NUL character"
    if name.startswith("."):
        return "it begins with '.'"
    if len(name.encode("utf-8", "surrogateescape")) > 255:
        return "it is longer than 255 bytes"
    return None


def check_store(name: str) -> None:
    """Refuses a durable store's name with E-CAP-009."""
    if problem := segment_problem(name):
        raise error("E-CAP-009", store=name, reason=problem)


def check_context_name(value: str, where: str) -> None:
    """Refuses `context.record_store` or `--context` with E-CAP-011; `where` names which."""
    if problem := segment_problem(value):
        raise error("E-CAP-011", field=where, value=value, reason=problem)


def check_record_store(capsule: Capsule) -> None:
    """Refuses a `context.record_store` with E-CAP-011; one without a record is inert."""
    context = capsule.context
    if context.record == "on" and context.record_store is not None:
        check_context_name(context.record_store, "context.record_store")


def check_handle_lifetime(capsule: Capsule, after_task: AfterTask) -> None:
    """Refuses handles of a capsule that sleeps without a short ceiling: E-CAP-008."""
    exported = capsule.exports.peer_files
    if exported is None or after_task != "sleep":
        return
    if exported.max_ttl is None or exported.max_ttl > LONGEST_HANDLE:
        found = exported.max_ttl
        declared = "none is declared" if found is None else f"{found} seconds are declared"
        raise error("E-CAP-008", ceiling=LONGEST_HANDLE, declared=declared)


def check_staged(capsule: Capsule, after_task: AfterTask) -> None:
    """Lifetimes and paths that staging judges by the manifest alone.

    Raises E-CAP-008, then E-CAP-012. spec/diagnostics.md 6.3, rows 9 and 12.
    """
    check_handle_lifetime(capsule, after_task)
    check_read_only(capsule.capabilities.read_only)
