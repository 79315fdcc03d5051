"""Everything that a session's commands may do, decided once. spec/containment.md 9 to 16."""

import dataclasses
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from murmur.core.safefs import Root
from murmur.sandbox import interpreters, mounts
from murmur.sandbox.binaries import Binary, inside, resolve
from murmur.sandbox.interpreters import Runtime
from murmur.sandbox.launchspec import Limit, Rule, Tree, constant
from murmur.sandbox.probe import MECHANISMS, HostReading, Tier
from murmur.sandbox.resources import Resources
from murmur.sandbox.resources import limits as process_limits

TRUST_STORES: Final = (
    "/etc/ssl",
    "/etc/pki",
    "/etc/ca-certificates",
    "/usr/share/ca-certificates",
    "/usr/local/share/ca-certificates",
)
NAME_RESOLUTION: Final = (
    "/etc/resolv.conf",
    "/etc/hosts",
    "/etc/nsswitch.conf",
    "/etc/host.conf",
    "/etc/gai.conf",
)

# Runtimes that load native code from where their modules lie (design/decisions.md 11). The names
# are prefixes of a base name up to a version suffix: python3.11, ruby3.1, perl5.36.0.
NATIVE_LOADERS: Final = (
    "bun",
    "deno",
    "guile",
    "java",
    "julia",
    "lua",
    "luajit",
    "node",
    "nodejs",
    "ocaml",
    "perl",
    "php",
    "pypy",
    "python",
    "R",
    "Rscript",
    "ruby",
    "tclsh",
)


@dataclasses.dataclass(frozen=True, slots=True)
class Folders:
    """The folders of a session that its commands meet; absolute and existing."""

    workdir: str
    runtime: str
    records: str
    temp: str
    home: str

    @property
    def counted(self) -> tuple[str, ...]:
        """What `workdir_max_bytes` bounds. More than spec/containment.md 20 names: commands fill
        their home, and with their output the logs in the records directory, as well."""
        return (self.workdir, self.records, self.temp, self.home)


@dataclasses.dataclass(frozen=True, slots=True)
class Demands:
    """What the capsule declares for its commands."""

    shell_allow: tuple[str, ...]
    network: bool = False
    unix_sockets: bool = False
    workdir_exec: bool = False
    resources: Resources = dataclasses.field(default_factory=Resources)


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


class UnusableFolder(Exception):
    """A folder that contained commands could not use; the message names its owner."""


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


def applied_tier(reading: HostReading) -> Tier:
    """The tier that commands get: at most Full, since nothing here composes a root yet."""
    return "Full" if reading.tier == "Sealed" else reading.tier


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
    tier = applied_tier(reading)
    contained = tier != "Environment-only"
    binaries = resolve(demands.shell_allow, path, tuple(writable))
    loaders = tuple(name for name in binaries if loads_native_code(name, binaries[name].path))
    has_mounts = contained and reading.mounts.ok
    return Foreseen(
        tier=tier,
        binaries=binaries,
        derived=interpreters.runtimes(binaries, path, writable, host_facts),
        native_loaders=loaders,
        workdir_noexec=has_mounts and not demands.workdir_exec and not loaders,
        maps_tmp=has_mounts and workdir != os.path.realpath("/tmp"),
        private_proc=has_mounts and reading.proc.ok,
        trust_store=_existing(TRUST_STORES) if demands.network and binaries else (),
        name_resolution=_existing(NAME_RESOLUTION) if demands.network else (),
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

    The applied tier is at most Full: nothing here asks for a composed root. Raises UnusableFolder
    where a root runtime has a work folder of another owner, and OSError for a missing folder.
    """
    folders = Folders(*(os.path.realpath(each) for each in dataclasses.astuple(folders)))
    contained = applied_tier(reading) != "Environment-only"
    if contained:
        _check_owner(folders.workdir)
    writable = (folders.workdir, folders.temp, folders.home)
    seen = foresee(reading, folders.workdir, writable, demands, path, host_facts)
    trust, names = seen.trust_store, seen.name_resolution
    trees: tuple[Tree, ...] = ()
    if contained and reading.mounts.ok:
        trees = _trees(folders, seen.binaries, seen.derived, seen.workdir_noexec, seen.maps_tmp)
    return CommandPolicy(
        tier=seen.tier,
        folders=folders,
        binaries=seen.binaries,
        demands=demands,
        tmpdir="/tmp" if seen.maps_tmp else folders.temp,
        maps_tmp=seen.maps_tmp,
        private_proc=seen.private_proc,
        workdir_noexec=seen.workdir_noexec,
        native_loaders=seen.native_loaders,
        derived=seen.derived,
        trust_store=trust,
        name_resolution=names,
        trees=trees,
        rules=_rules(folders, seen.binaries, demands, trust, names) + _derived_rules(seen.derived),
        limits=process_limits(demands.resources),
    )


def loads_native_code(name: str, path: str) -> bool:
    """Whether an allowlisted binary is a language runtime that loads native modules."""
    for candidate in (name, os.path.basename(path)):
        stem = candidate.rstrip("0123456789.-")
        if stem in NATIVE_LOADERS:
            return True
    return False


def _check_owner(workdir: str) -> None:
    status = os.stat(workdir)
    if os.geteuid() == 0 and status.st_uid != 0 and not status.st_mode & 0o002:
        raise UnusableFolder(
            f"the work folder {workdir} belongs to {_user(status.st_uid)}, and mur runs as root: "
            f"contained commands have no power over another user's files; run mur as "
            f"{_user(status.st_uid)}, or change the folder's owner"
        )


def _user(uid: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid {uid}"


def _existing(paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(os.path.realpath(path) for path in paths if os.path.exists(path)))


def _tree(source: str, target: str, *, noexec: bool, make_target: bool) -> Tree:
    status = os.stat(source)
    return Tree(
        source, target, status.st_dev, status.st_ino, noexec=noexec, make_target=make_target
    )


def _trees(
    folders: Folders,
    binaries: Mapping[str, Binary],
    derived: Mapping[str, Runtime],
    noexec: bool,
    maps_tmp: bool,
) -> tuple[Tree, ...]:
    """What to attach, shallowest first: a deeper one must land on top of a shallower one.

    Only what is attached can be written, whatever Landlock grants: the helper makes all else of the
    host read-only.
    """
    tmp = os.path.realpath("/tmp")
    plan = {folders.workdir: noexec, folders.home: True, folders.temp: True}
    if maps_tmp:
        # Attaching /tmp hides what lies beneath it, so whatever is granted there comes back.
        used = [folders.runtime, folders.records]
        used += [os.path.dirname(each) for each in _executables(binaries)]
        for runtime in derived.values():
            used += [*runtime.folders, *(os.path.dirname(each) for each in runtime.files)]
        for path in used:
            if inside(path, [tmp]) and not inside(path, plan):
                plan[path] = path in (folders.runtime, folders.records)
    for alias in mounts.aliases((folders.workdir, folders.home, folders.temp)):
        plan.setdefault(alias, noexec)
    trees = [
        _tree(path, path, noexec=without, make_target=maps_tmp and inside(path, [tmp]))
        for path, without in plan.items()
    ]
    if maps_tmp:
        trees.append(_tree(folders.temp, tmp, noexec=True, make_target=False))
    return tuple(sorted(trees, key=lambda tree: (tree.target.count("/"), tree.target)))


def _executables(binaries: Mapping[str, Binary]) -> tuple[str, ...]:
    files = {path for each in binaries.values() for path in (*each.all_paths, *each.closure)}
    return tuple(sorted(files))


def _access(*names: str) -> int:
    value = 0
    for name in names:
        value |= constant(f"ACCESS_{name}")
    return value


def _rules(
    folders: Folders,
    binaries: Mapping[str, Binary],
    demands: Demands,
    trust: Sequence[str],
    names: Sequence[str],
) -> tuple[Rule, ...]:
    """Landlock's rules, spec/containment.md 10. The helper masks what the kernel's ABI lacks."""
    read = _access("READ_FILE")
    read_tree = _access("READ_FILE", "READ_DIR")
    execute = _access("EXECUTE", "READ_FILE")
    work = _access(
        "WRITE_FILE", "READ_FILE", "READ_DIR", "REMOVE_DIR", "REMOVE_FILE", "MAKE_DIR",
        "MAKE_REG", "MAKE_FIFO", "MAKE_SYM", "REFER", "TRUNCATE",
    )  # fmt: skip
    rules = [
        _held(folders.workdir, work | (execute if demands.workdir_exec else 0)),
        _held(folders.temp, work),
        _held(folders.home, work),
        _held(folders.runtime, read_tree),
        _held(folders.records, read_tree),
        Rule("/dev/null", _access("READ_FILE", "WRITE_FILE"), optional=True),
        Rule("/dev/zero", read, optional=True),
        Rule("/dev/urandom", read, optional=True),
        Rule("/proc", read_tree, private_proc=True),
        Rule("/etc/ld.so.cache", read, optional=True),
    ]
    rules += [Rule(path, execute, optional=True) for path in _executables(binaries)]
    rules += [Rule(path, read_tree, optional=True) for path in trust]
    rules += [Rule(path, read, optional=True) for path in names]
    return tuple(rules)


def _derived_rules(derived: Mapping[str, Runtime]) -> tuple[Rule, ...]:
    """Reading and listing, never executing. containment.md 16."""
    folders = {path for each in derived.values() for path in each.folders}
    files = {path for each in derived.values() for path in each.files}
    read, read_tree = _access("READ_FILE"), _access("READ_FILE", "READ_DIR")
    return (
        *(Rule(path, read_tree, optional=True) for path in sorted(folders)),
        *(Rule(path, read, optional=True) for path in sorted(files)),
    )


def _held(path: str, access: int) -> Rule:
    status = os.stat(path)
    return Rule(path, access, status.st_dev, status.st_ino)
