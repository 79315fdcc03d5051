"""Everything that a session's commands may do, decided once. spec/containment.md 9 to 16."""

import dataclasses
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from murmur.core.config import HostPath
from murmur.core.safefs import Root
from murmur.manifest.grants import InterpreterRuntime, StagedRuntime
from murmur.sandbox import identity, interpreters, rights, widening
from murmur.sandbox.binaries import Binary, at_path, inside, resolve
from murmur.sandbox.interpreters import Runtime
from murmur.sandbox.launchspec import Limit, Rule, Tree
from murmur.sandbox.native_code import loads_native_code
from murmur.sandbox.needs import (
    NeedGrant,
    ProgramOutcome,
    ToolProgram,
    choose_programs,
    pinned_grants,
    resolve_needs,
)
from murmur.sandbox.ownership import check_owner
from murmur.sandbox.probe import MECHANISMS, HostReading, Tier
from murmur.sandbox.resources import Resources
from murmur.sandbox.resources import limits as process_limits
from murmur.sandbox.sealed_root import RootPlan
from murmur.sandbox.view import TMP, host_view
from murmur.sandbox.widening import HostPathGrant, PathGrant

TRUST_STORES: Final = (
    "/etc/ssl",
    "/etc/pki",
    "/etc/ca-certificates",
    "/usr/share/ca-certificates",
    "/usr/local/share/ca-certificates",
)
RESOLV_CONF: Final = "/etc/resolv.conf"
NAME_RESOLUTION: Final = (
    RESOLV_CONF,
    "/etc/hosts",
    "/etc/nsswitch.conf",
    "/etc/host.conf",
    "/etc/gai.conf",
)


@dataclasses.dataclass(frozen=True, slots=True)
class Folders:
    """The folders of a session that its commands meet; absolute and existing.

    `identity` holds the passwd and group of a composed root (`sandbox.identity`); empty for a
    session without one. `resolv_conf` is a file that stands in for the host's own
    (`sandbox.egress.name_service`); empty where commands read that.
    """

    workdir: str
    runtime: str
    records: str
    temp: str
    home: str
    identity: str = ""
    resolv_conf: str = ""

    @property
    def counted(self) -> tuple[str, ...]:
        """What `workdir_max_bytes` bounds. More than spec/containment.md 20 names: commands fill
        their home, and with their output the logs in the records directory, as well."""
        return (self.workdir, self.records, self.temp, self.home)


@dataclasses.dataclass(frozen=True, slots=True)
class Demands:
    """What capsule and operator declare for commands.

    `sealed`: the floor in force asks for a composed root. `murmur_home` is `~/.murmur` and `home`
    the operator's home, which `host_paths` are judged by. `programs` are those of its tools.
    `natives` are the canonical paths of programs that are started by those paths: native tools in
    the runtime directory, a harness. `readable` are further folders that are read.
    """

    shell_allow: tuple[str, ...]
    network: bool = False
    unix_sockets: bool = False
    workdir_exec: bool = False
    resources: Resources = dataclasses.field(default_factory=Resources)
    sealed: bool = False
    interpreter_runtime: tuple[InterpreterRuntime, ...] = ()
    staged_runtime: tuple[StagedRuntime, ...] = ()
    host_paths: tuple[HostPath, ...] = ()
    murmur_home: str = ""
    home: str = ""
    programs: tuple[ToolProgram, ...] = ()
    natives: tuple[str, ...] = ()
    readable: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class CommandPolicy:
    """The frozen decision: enforcement, reports and MURMUR.md read this and nothing else.

    `tmpdir` is the value of TMPDIR; `maps_tmp` whether a literal /tmp reaches the session's own
    folder. `native_loaders` are the allowlisted runtimes for whose sake the work folder is not
    noexec (W-SEC-036), or that make it so. `workdir_noexec` says whether the mount refuses code.
    """

    tier: Tier
    folders: Folders
    binaries: Mapping[str, Binary]
    demands: Demands
    tmpdir: str
    maps_tmp: bool
    private_proc: bool
    workdir_noexec: bool
    native_loaders: tuple[str, ...]
    derived: Mapping[str, Runtime]
    trust_store: tuple[str, ...]
    name_resolution: tuple[str, ...]
    host_paths: tuple[HostPathGrant, ...]
    needs: tuple[NeedGrant, ...]
    programs: tuple[ProgramOutcome, ...]
    trees: tuple[Tree, ...]
    rules: tuple[Rule, ...]
    limits: tuple[Limit, ...]

    @property
    def mechanism(self) -> str:
        return MECHANISMS[self.tier]

    @property
    def foreseen(self) -> "Foreseen":
        """The part of the decision that a report could foresee."""
        names = [field.name for field in dataclasses.fields(Foreseen)]
        return Foreseen(**{name: getattr(self, name) for name in names})


@dataclasses.dataclass(frozen=True, slots=True)
class Foreseen:
    """What a host and a capsule's demands decide between them, before any folder exists.

    The scope report reads this; `derive` builds the policy on it.
    """

    tier: Tier
    binaries: Mapping[str, Binary]
    derived: Mapping[str, Runtime]
    native_loaders: tuple[str, ...]
    workdir_noexec: bool
    maps_tmp: bool
    private_proc: bool
    trust_store: tuple[str, ...]
    name_resolution: tuple[str, ...]
    host_paths: tuple[HostPathGrant, ...]
    needs: tuple[NeedGrant, ...]
    programs: tuple[ProgramOutcome, ...]


def applied_tier(reading: HostReading, *, sealed: bool) -> Tier:
    """The tier that commands get: a root is composed only where the floor asks for it."""
    return "Full" if reading.tier == "Sealed" and not sealed else reading.tier


def foresee(
    reading: HostReading,
    workdir: str,
    writable: Sequence[str],
    demands: Demands,
    path: str,
    host_facts: Root | None = None,
) -> Foreseen:
    """The decisions that need no folder of the session; nothing is made or changed.

    `workdir` is the canonical work folder, `writable` every canonical folder that commands write,
    `path` the operator's PATH, `host_facts` where facts on interpreters are kept.
    """
    tier = applied_tier(reading, sealed=demands.sealed)
    contained = tier != "Environment-only"
    host_paths = widening.host_path_grants(
        demands.host_paths, tier, writable, demands.murmur_home, demands.home
    )
    writable = (*writable, *_written(host_paths))
    binaries = resolve(demands.shell_allow, path, writable)
    programs = choose_programs(demands.programs, binaries)
    binaries |= {
        each.program: dataclasses.replace(at_path(each.path), name=each.program)
        for each in programs
        if each.source == "pinned" and each.path is not None and not inside(each.path, writable)
    }
    binaries |= {program: at_path(program) for program in demands.natives}
    loaders = tuple(name for name in binaries if loads_native_code(name, binaries[name].path))
    sealed = tier == "Sealed"
    has_mounts = contained and (sealed or reading.mounts.ok)
    staged = {each.binary for each in demands.staged_runtime}
    asked = {name: each for name, each in binaries.items() if name not in staged}
    return Foreseen(
        tier=tier,
        binaries=binaries,
        derived=interpreters.runtimes(asked, path, writable, host_facts),
        native_loaders=loaders,
        workdir_noexec=has_mounts and not demands.workdir_exec and not loaders,
        maps_tmp=has_mounts and workdir != os.path.realpath(TMP),
        private_proc=has_mounts and reading.proc.ok,
        trust_store=_existing(TRUST_STORES) if demands.network and binaries else (),
        name_resolution=_existing(NAME_RESOLUTION) if demands.network else (),
        host_paths=host_paths,
        needs=resolve_needs(demands.programs, binaries, _existing(TRUST_STORES)),
        programs=programs,
    )


def derive(
    reading: HostReading,
    folders: Folders,
    demands: Demands,
    path: str,
    host_facts: Root | None = None,
) -> CommandPolicy:
    """The policy of a session; `path` is the operator's PATH, `host_facts` where facts on
    interpreters are kept between sessions (they are asked anew without).

    Raises UnusableFolder where a root runtime has a work folder of another owner, UnusableGrant for
    a grant that would make executable what commands write, and OSError for a missing folder.
    """
    folders = Folders(*(each and os.path.realpath(each) for each in dataclasses.astuple(folders)))
    contained = applied_tier(reading, sealed=demands.sealed) != "Environment-only"
    if contained:
        check_owner(folders.workdir)
    writable = (folders.workdir, folders.temp, folders.home)
    seen = foresee(reading, folders.workdir, writable, demands, path, host_facts)
    check_grants(demands, (*writable, *_written(seen.host_paths)))
    grants = _grants(demands, seen)
    executable = (folders.workdir,) if demands.workdir_exec else ()
    kept = (folders.runtime, folders.records)
    rules = (
        *rights.folder_rules(writable, kept, executable),
        *rights.common_rules(_executables(seen.binaries), grants),
        *(rights.sealed_rules() if seen.tier == "Sealed" else ()),
    )
    return CommandPolicy(
        **{field.name: getattr(seen, field.name) for field in dataclasses.fields(Foreseen)},
        folders=folders,
        demands=demands,
        tmpdir=TMP if seen.maps_tmp else folders.temp,
        trees=_trees(reading, folders, demands, seen, grants),
        rules=rules,
        limits=process_limits(demands.resources),
    )


def check_grants(demands: Demands, writable: Sequence[str]) -> None:
    """Raises UnusableGrant for a grant to execute that reaches one of the `writable` folders."""
    shell = "capabilities.shell"
    interpreters_may = widening.interpreter_grants(demands.interpreter_runtime)
    widening.check_outside(interpreters_may, writable, f"{shell}.interpreter_runtime")
    staged = widening.staged_grants(demands.staged_runtime)
    widening.check_outside(staged, writable, f"{shell}.staged_runtime")


def _written(host_paths: Iterable[HostPathGrant]) -> tuple[str, ...]:
    """The operator's folders that commands write: nothing there may ever be executed."""
    return tuple(
        each.path for each in host_paths if each.access == "read-write" and each.mechanism != "none"
    )


def _grants(demands: Demands, seen: Foreseen) -> tuple[PathGrant, ...]:
    """Everything that widens what commands reach, whoever granted it."""
    names = (widening.grant(path, list_dir=False) for path in seen.name_resolution)
    return (
        *widening.interpreter_grants(demands.interpreter_runtime),
        *(widening.staged_grants(demands.staged_runtime) if seen.tier == "Sealed" else ()),
        *widening.derived_grants(seen.derived),
        *(widening.grant(path) for path in seen.trust_store),
        *(names if seen.tier != "Sealed" else ()),
        *(each.grant for each in seen.host_paths if each.mechanism != "none"),
        *(each.grant for each in seen.needs),
        *pinned_grants(seen.programs),
        *(widening.grant(path) for path in demands.readable),
    )


def _trees(
    reading: HostReading,
    folders: Folders,
    demands: Demands,
    seen: Foreseen,
    grants: Sequence[PathGrant],
) -> tuple[Tree, ...]:
    noexec = seen.workdir_noexec
    if seen.tier == "Sealed":
        return _sealed_trees(folders, seen, grants)
    if seen.tier == "Environment-only" or not reading.mounts.ok:
        return ()
    written = {folders.workdir: noexec, folders.home: True, folders.temp: True}
    written |= {each.path: noexec for each in grants if each.write}
    names = [name for each in seen.binaries.values() for name in each.found]
    used = [os.path.dirname(path) for path in (*_executables(seen.binaries), *names)]
    used += [each.path for each in grants]
    kept = (folders.runtime, folders.records)
    over = {}
    if folders.resolv_conf and os.path.realpath(RESOLV_CONF) in seen.name_resolution:
        over[os.path.realpath(RESOLV_CONF)] = folders.resolv_conf
    code = tuple(os.path.dirname(program) for program in demands.natives)
    return host_view(written, kept, used, over, folders.temp if seen.maps_tmp else None, code)


def _sealed_trees(
    folders: Folders, seen: Foreseen, grants: Sequence[PathGrant]
) -> tuple[Tree, ...]:
    plan = RootPlan()
    plan.system()
    own = (folders.workdir, folders.records, folders.runtime, folders.home, folders.temp)
    plan.programs(seen.binaries.values(), own)
    plan.grants(grants, noexec=seen.workdir_noexec)
    for name in (identity.PASSWD, identity.GROUP):
        path = os.path.join(folders.identity, name)
        plan.own(path, target=f"/etc/{name}", noexec=True, write=False)
    if folders.resolv_conf:
        plan.own(folders.resolv_conf, target=RESOLV_CONF, noexec=True, write=False)
    for path in (folders.runtime, folders.records):
        plan.own(path, noexec=True, write=False)
    plan.own(folders.home, noexec=True, write=True)
    plan.own(folders.temp, noexec=True, write=True)  # the name that reports and MURMUR.md give it
    if seen.maps_tmp:
        plan.own(folders.temp, target=TMP, noexec=True, write=True)
    plan.own(folders.workdir, noexec=seen.workdir_noexec, write=True)
    plan.close_aliases((folders.workdir, folders.home, folders.temp))
    return plan.trees()


def _existing(paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(os.path.realpath(path) for path in paths if os.path.exists(path)))


def _executables(binaries: Mapping[str, Binary]) -> tuple[str, ...]:
    files = {path for each in binaries.values() for path in (*each.all_paths, *each.closure)}
    return tuple(sorted(files))
