"""The scope report: what a session may do and what holds it to that.

Computed once; `session_start.effective_grants` records this very object. Keys: spec/containment.md
6. What the capsule does not declare is `[]`, null or false, never missing.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from murmur.sandbox.policy import CommandPolicy
from murmur.sandbox.probe import CLASSES, MECHANISMS, Tier
from murmur.session.inventory import ToolKind

if TYPE_CHECKING:
    from murmur.sandbox.cgroup import Scope
    from murmur.session.stage import Staged

_GUEST_HOST: Final = "guest-host"
_NOT_MEDIATED: Final = {
    "enforced": (
        "names, sizes and times of files outside the granted folders can be seen",
        "a path that exists refuses only when it is opened",
    ),
    "advisory": ("no mechanism mediates paths: a command reads what the operator can read",),
}


def scope_report(
    staged: "Staged",
    *,
    guests_contained: bool,
    guests_reason: str | None,
    policy: CommandPolicy | None,
    scope: "Scope | None",
) -> dict[str, Any]:
    """The report of a session whose guests and commands are decided. JSON values only."""
    capabilities = staged.capsule.capabilities
    containment = staged.containment
    reading = containment.reading
    applied: Tier = "Full" if reading.tier == "Sealed" else reading.tier
    images = staged.capsule.context.images
    return {
        "declared_containment": containment.declared,
        "achieved_containment": containment.achieved,
        "host_containment": CLASSES[reading.tier],
        "floor_met": True,
        "enforcement_tier": MECHANISMS[applied],
        "routes": _routes(staged, applied, guests_contained, guests_reason),
        "userns_grant": reading.userns_grant,
        "landlock_abi": reading.landlock_abi,
        "filesystem_scope": capabilities.filesystem_scope,
        "workdir_exec": capabilities.workdir_exec,
        "read_only_paths": [],
        "read_only_advisory_for": [],
        "preopens": _preopens(staged),
        "network_allow": list(capabilities.network_allow),
        "unix_sockets": capabilities.unix_sockets,
        "shell_allow": list(capabilities.shell_allow),
        "spawn_allow": [],
        "spawn_workdir_snapshot": False,
        "parent_workdir": None,
        "images": {
            "keep": images.keep,
            "max_bytes": images.max_bytes,
            "max_per_turn": images.max_per_turn,
            "keep_applies": True,
        },
        "env_allow": list(capabilities.env_allow),
        "plan_submit": False,
        "install_skill": [],
        "install_tool": [],
        "install_from": [],
        "interpreter_runtime_grants": [],
        "derived_interpreter_runtime": [],
        "trust_store": list(policy.trust_store) if policy else [],
        "declared_needs": [],
        "pinned_programs": [],
        "name_resolution": list(policy.name_resolution) if policy else [],
        "host_paths": [],
        "exports_files": None,
        "peer_files": None,
        "peer_tasks": False,
        "peer_fetch_allow": [],
        "state_stores": [],
        "configured_artifacts": [
            entry.name for entry in staged.capsule.artifacts if entry.config is not None
        ],
        "staged_runtime_grants": [],
        "runtime_writes": [
            {"path": "peer-in", "kind": "directory", "condition": "peer-fetch"},
            {"path": "out", "kind": "directory", "condition": "script-session"},
        ],
        "io_max": _io_max(staged, scope),
        "cgroup_scope": _cgroup_scope(scope),
        "filesystem_boundary": _boundary(applied),
        "runtime_dir": _kept(str(staged.directories.runtime), applied, policy),
        "records_dir": _kept(str(staged.directories.records), applied, policy),
        "temp_dir": _temp_dir(staged, policy),
    }


def _routes(
    staged: "Staged", tier: Tier, guests_contained: bool, reason: str | None
) -> list[dict[str, Any]]:
    shell = bool(staged.capsule.capabilities.shell_allow)
    tools = [
        tool.artifact
        for tool in staged.tools.values()
        if tool.kind is ToolKind.WASM and tool.artifact is not None
    ]
    drivers = [entry.name for entry in staged.capsule.artifacts if entry.runtime == "driver"]
    commands_held = tier in ("Full", "Sealed")
    guest = tier if guests_contained else _GUEST_HOST
    note = None if guests_contained else reason
    return [
        _route("shell", shell, commands_held, tier if commands_held else "host process"),
        _route("plan-shell-steps", False, commands_held, tier),
        _route("wasm-tools", bool(tools), guests_contained, guest, note, tools),
        _route("drivers", bool(drivers), guests_contained, guest, note, drivers),
        _route("hooks", False, guests_contained, guest),
        _route("process-harness", False, commands_held, tier),
        _route("harness-tools", False, commands_held, tier),
    ]


def _route(
    name: str,
    present: bool,
    under_class: bool,
    mechanism: str,
    note: str | None = None,
    artifacts: list[str] | None = None,
) -> dict[str, Any]:
    return {
        "route": name,
        "present": present,
        "under_class": under_class,
        "mechanism": mechanism,
        "note": note,
        "artifacts": artifacts or [],
    }


def _preopens(staged: "Staged") -> list[dict[str, Any]]:
    work = str(staged.directories.work)
    return [
        {
            "artifact": name,
            "path": f"{work}/{scope}" if (scope := staged.prepared.grants[name].scope) else work,
        }
        for name, artifact in staged.artifacts.items()
        if artifact.compiled is not None
    ]


def _io_max(staged: "Staged", scope: "Scope | None") -> Mapping[str, Any] | None:
    if scope is None:
        return None
    declared = staged.capsule.capabilities.resources.cgroup_io_bytes_per_sec
    return {
        "bytes_per_sec": declared,
        "applies": scope.io_refusal is None,
        "reason": scope.io_refusal,
    }


def _cgroup_scope(scope: "Scope | None") -> Mapping[str, Any] | None:
    if scope is None:
        return None
    return {"hierarchy": scope.hierarchy, "optional": False}


def _boundary(tier: Tier) -> dict[str, Any]:
    restriction = "enforced" if tier in ("Full", "Sealed") else "advisory"
    return {"restriction": restriction, "not_protected": list(_NOT_MEDIATED[restriction])}


def _kept(path: str, tier: Tier, policy: CommandPolicy | None) -> dict[str, Any]:
    """A directory that commands may read and not change; null without a mechanism that says so."""
    if tier not in ("Full", "Sealed"):
        why = "this host has no Landlock" if policy else None
        return _directory(path, not policy, None, why)
    return _directory(path, True, "landlock", None)


def _directory(path: str, held: bool, by: str | None, why: str | None) -> dict[str, Any]:
    parent = path.rpartition("/")[0]
    return {
        "path": f"{parent}/<session-id>",
        "read_only_to_commands": held,
        "enforced_by": by,
        "not_protected_because": why,
    }


def _temp_dir(staged: "Staged", policy: CommandPolicy | None) -> dict[str, Any]:
    parent = str(staged.directories.records).rpartition("/")[0]
    folder = f"{parent}/<session-id>/tmp"
    mapped = policy is not None and policy.maps_tmp
    return {"path": folder, "tmpdir": "/tmp" if mapped else folder, "maps_tmp": mapped}
