"""The scope report for people: its blocks in their order, as lines without a newline.

spec/containment.md 6; CLI reference, *mur run*, `--explain-scope` and *The Images block*. Doctor
prints some of the blocks and so calls the same functions.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from murmur.core.diagnostics import printable
from murmur.session.floors import Floor
from murmur.session.scope.model import (
    HostDirectory,
    HostPath,
    KeptDirectory,
    PinnedProgram,
    ScopeReport,
    TempDirectory,
)

NONE: Final = "<none>"
RUNTIME_WRITES: Final = "paths are relative to the work folder"
ENFORCED: Final = "enforced for every tool call and every shell command the dispatch check can read"


def report_lines(report: ScopeReport, floor: Floor, missing: str) -> list[str]:
    """The whole report. `missing` says why nobody could ask the host, empty when it was asked."""
    blocks = [
        containment_block(report, floor, missing),
        *([_not_protected(report)] if report.filesystem_boundary.not_protected else []),
        *directory_blocks(report),
        ["Effective grants", *_grants(report)],
        _resource_plane(report),
        images_block(report),
        _runtime_writes(report),
    ]
    return join(blocks)


def join(blocks: Iterable[Sequence[str]]) -> list[str]:
    """Blocks with one empty line between them; what they quote cannot steer a terminal."""
    lines: list[str] = []
    for block in blocks:
        if lines:
            lines.append("")
        lines += [printable(line) for line in block]
    return lines


def containment_block(report: ScopeReport, floor: Floor, missing: str) -> list[str]:
    """Declared, achieved, floor, mechanism, grant of user namespaces, and the routes present."""
    asked = f" ({', '.join(floor.sources)})" if floor.sources else " (nothing declared)"
    met = "yes" if report.floor_met else f"no — {report.shortfall_reason}"
    lines = [
        "Containment",
        f"  declared: {report.declared_containment}{asked}",
        f"  achieved: {report.achieved_containment}",
        f"  floor met: {met}",
        f"  mechanism: {report.enforcement_tier}",
        f"  host: {report.host_containment}" + (f" — not asked: {missing}" if missing else ""),
        f"  userns grant: {report.userns_grant}",
        f"  landlock abi: {report.landlock_abi}",
        "  routes:",
    ]
    present = [route for route in report.routes if route.present]
    for route in present:
        names = f" ({', '.join(route.artifacts)})" if route.artifacts else ""
        note = f" — {route.note}" if route.note else ""
        if not route.under_class:
            note = f" — outside the class: {route.note}"
        lines.append(f"    - {route.route}: {route.mechanism}{names}{note}")
    return lines if present else [*lines[:-1], f"  routes: {NONE}"]


def _not_protected(report: ScopeReport) -> list[str]:
    return [
        "Not protected here",
        *(f"  - {text}" for text in report.filesystem_boundary.not_protected),
    ]


def directory_blocks(report: ScopeReport) -> list[list[str]]:
    """*Runtime directory*, *Records directory*, *Temporary folder*."""
    return [
        _kept("Runtime directory", report.runtime_dir),
        [
            *_kept("Records directory", report.records_dir),
            "  commands write in: tmp, home",
        ],
        _temporary(report.temp_dir),
    ]


def _kept(title: str, kept: KeptDirectory) -> list[str]:
    held = (
        f"yes ({kept.enforced_by})"
        if kept.read_only_to_commands
        else f"no — {kept.not_protected_because}"
    )
    return [title, f"  path: {kept.path}", f"  read-only to commands: {held}"]


def _temporary(folder: TempDirectory) -> list[str]:
    reaches = "reaches this folder" if folder.maps_tmp else "does not reach this folder"
    return [
        "Temporary folder",
        f"  path: {folder.path}",
        f"  TMPDIR: {folder.tmpdir}",
        f"  literal /tmp: {reaches}",
    ]


def _grants(report: ScopeReport) -> list[str]:
    return [
        f"  filesystem scope: {report.filesystem_scope or NONE}",
        f"  workdir exec: {_yes(report.workdir_exec)}",
        *_list("preopens", (f"{each.artifact}: {each.path}" for each in report.preopens)),
        *_list("network allow", report.network_allow),
        f"  unix sockets: {_yes(report.unix_sockets)}",
        *_list("shell allow", report.shell_allow),
        *_list("spawn allow", report.spawn_allow),
        *_list("env allow", report.env_allow),
        *_list(
            "interpreter runtime",
            (
                f"{each.binary}: {_directory(one)}"
                for each in report.interpreter_runtime_grants
                for one in each.dirs
            ),
        ),
        *_list(
            "staged runtime",
            (
                f"{each.binary}: {each.source_path} (pin: {each.pin})"
                for each in report.staged_runtime_grants
            ),
        ),
        *_list("derived interpreter runtime", _derived(report)),
        *_list("trust store", map(_directory, report.trust_store)),
        *_list("name resolution", report.name_resolution),
        *_list("host paths", map(_host_path, report.host_paths)),
        *harness_lines(report),
        *_list(
            "declared needs", (f"{each.artifact}: {each.path}" for each in report.declared_needs)
        ),
        *_list("pinned programs", map(_pinned, report.pinned_programs)),
        *_list("state stores", (f"{each.artifact}: {each.store}" for each in report.state_stores)),
        *_list("artifact config", report.configured_artifacts),
        f"  plan submit: {_yes(report.plan_submit)}",
        *read_only_lines(report),
        *install_lines(report),
    ]


def harness_lines(report: ScopeReport) -> list[str]:
    """What the harness reaches of the host, beside its program; nothing where there is none."""
    if report.harness_paths is None or report.harness_hosts is None:
        return []
    return [
        *_list("harness paths", map(_host_path, report.harness_paths)),
        *_list("harness hosts", report.harness_hosts),
    ]


def _derived(report: ScopeReport) -> list[str]:
    lines: list[str] = []
    for each in report.derived_interpreter_runtime:
        lines += [f"{each.binary}: {_directory(one)}" for one in each.dirs]
        if each.files:
            noun = "file" if len(each.files) == 1 else "files"
            lines.append(f"{each.binary}: {len(each.files)} {noun} that its modules load")
    return lines


def read_only_lines(report: ScopeReport) -> list[str]:
    """The protected subtrees and whether their protection is enforced."""
    lines = _list("read_only", report.read_only_paths)
    if not report.read_only_paths:
        return lines
    binaries = ", ".join(report.read_only_advisory_for)
    if binaries:
        how = f"{ENFORCED}; advisory against what {binaries} writes by itself"
    else:
        how = ENFORCED
    return [*lines, f"  read_only enforcement: {how}"]


def install_lines(report: ScopeReport) -> list[str]:
    """What `capabilities.install` lets a component install, and where from."""
    return [
        *_list("install skill", report.install_skill),
        *_list("install tool", report.install_tool),
        *(_list("install from", report.install_from) if report.install_from else ()),
    ]


def _resource_plane(report: ScopeReport) -> list[str]:
    files, peers = report.exports_files, report.peer_files
    scope, io = report.cgroup_scope, report.io_max
    ttl = "" if peers is None or peers.max_ttl is None else f", at most {peers.max_ttl} s"
    shown = NONE if files is None else f"{files.root} ({files.mode}, {files.max_bytes} bytes)"
    handed = NONE if peers is None else f"{peers.root} ({peers.max_bytes} bytes{ttl})"
    return [
        "Resource plane",
        f"  exports files: {shown}",
        f"  exports peer_files: {handed}",
        f"  exports peer_tasks: {'accepted' if report.peer_tasks else 'refused'}",
        *_list("peer fetch", report.peer_fetch_allow),
        f"  cgroup scope: {_status(scope.status, scope.hierarchy, scope.reason)}",
        f"  io.max: {_status(io.status, f'{io.declared_bytes_per_sec} bytes/s', io.reason)}",
    ]


def images_block(report: ScopeReport) -> list[str]:
    """The `context.images` limits, in words that hold under either transport."""
    images = report.images
    keep = per_turn = ""
    if not images.keep_applies:
        keep = " (does nothing here: the harness holds the conversation)"
        per_turn = " (counts the images of one tool call here)"
    return [
        "Images",
        f"  max_bytes:     {images.max_bytes}",
        f"  keep:          {images.keep}{keep}",
        f"  max_per_turn:  {images.max_per_turn}{per_turn}",
    ]


def _runtime_writes(report: ScopeReport) -> list[str]:
    return [
        "Runtime writes",
        f"  {RUNTIME_WRITES}",
        *(f"  - {each.path} ({each.kind}, {each.condition})" for each in report.runtime_writes),
    ]


def scope_line(report: ScopeReport) -> str:
    """Doctor's `cgroup scope:` line."""
    scope = report.cgroup_scope
    return f"cgroup scope: {_status(scope.status, scope.hierarchy, scope.reason)}"


def _status(status: str, held: str | None, reason: str | None) -> str:
    shown = f"{status} ({held})" if held else status
    return f"{shown} — {reason}" if reason else shown


def _directory(each: HostDirectory) -> str:
    return f"{each.path} (list_dir)" if each.list_dir else each.path


def _pinned(each: PinnedProgram) -> str:
    return f"{each.artifact}: {each.program} ({each.platform}): {each.source}, " + (
        each.reason or each.path or ""
    )


def _host_path(each: HostPath) -> str:
    how = each.mechanism if each.mechanism != "none" else "not granted"
    secrets = ", a place of credentials" if each.credential_location else ""
    return f"{each.path} ({each.access}, {how}{secrets})"


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _list(name: str, entries: Iterable[str]) -> list[str]:
    held = [f"    - {entry}" for entry in entries]
    return [f"  {name}:", *held] if held else [f"  {name}: {NONE}"]
