"""A real session of one class, and around it what its commands must not reach."""

import dataclasses
import os
import shutil
from pathlib import Path
from typing import Final

from murmur.core.safefs import open_root
from murmur.sandbox import cgroup, identity
from murmur.sandbox.binaries import resolve
from murmur.sandbox.cgroup import Scope
from murmur.sandbox.environment import command_environment
from murmur.sandbox.hierarchy import Blocked
from murmur.sandbox.policy import CommandPolicy, Demands, Folders, derive
from murmur.sandbox.probe import HostReading
from murmur.sandbox.resources import Resources
from murmur.sandbox.results import CommandResult
from murmur.sandbox.session import CommandSession
from tests.conformance.rows import ClassName

PATH: Final = "/usr/local/bin:/usr/bin:/bin"
INTERPRETER: Final = ("python3", "sh", "cat", "true")
SHELL: Final = ("sh", "cat", "cp", "ln", "mkdir", "true", "head", "tr", "chmod")

MIB: Final = 1 << 20
# spec/containment.md 26.2.
TIGHT: Final = Resources(
    max_processes=512,
    max_open_files=128,
    max_file_size_bytes=10 * MIB,
    cgroup_memory_bytes=256 * MIB,
    cgroup_pids_max=32,
    cgroup_cpu_percent=50,
    workdir_max_bytes=50 * MIB,
    memory_bytes=4096 * MIB,
)

_INSIDE: Final = ("work", "runtime", "records", "records/tmp", "records/home")


def forced(reading: HostReading, class_: ClassName) -> HostReading:
    """The reading of a host that reaches no more than the class."""
    if class_ != "advisory":
        return reading
    lacking = dataclasses.replace(
        reading.landlock, ok=False, call="landlock_create_ruleset", error=38, step="landlock"
    )
    return dataclasses.replace(reading, landlock=lacking, sealed=lacking)


def unreachable(reading: HostReading, class_: ClassName) -> str | None:
    """Why this host cannot run the class whole; None when it can."""
    wanted = ["seccomp", "network", "mounts", "proc"]
    wanted += ["landlock"] if class_ != "advisory" else []
    wanted += ["sealed"] if class_ == "sealed" else []
    for name in wanted:
        stage = getattr(reading, name)
        if not stage.ok:
            return f"{name}: {stage.reason}"
    return None


class Prison:
    """One session below `base`, whose folders it makes. `scope_refusal` says why it has no cgroup
    scope, None when it has one."""

    def __init__(
        self,
        base: Path,
        class_: ClassName,
        helper: Path,
        reading: HostReading,
        tools: tuple[str, ...],
        *,
        path: str = PATH,
        resources: Resources | None = None,
        unix_sockets: bool = False,
    ) -> None:
        base.mkdir(mode=0o700)
        for name in _INSIDE:
            (base / name).mkdir(mode=0o700)
        (base / "runtime" / "task.md").write_text("the task")
        self.base = base
        self.folders = Folders(*(str(base / name) for name in _INSIDE))
        if class_ == "sealed":
            self.folders = dataclasses.replace(self.folders, identity=self._identity())
        demands = Demands(
            tools,
            unix_sockets=unix_sockets,
            resources=resources or Resources(),
            sealed=class_ == "sealed",
        )
        kept = base.parent / "host_facts"  # asking an interpreter takes long on a slow machine
        kept.mkdir(mode=0o700, exist_ok=True)
        with open_root(kept) as facts:
            self.policy: CommandPolicy = derive(
                forced(reading, class_), self.folders, demands, path, facts
            )
        self.scope: Scope | None = None
        self.scope_refusal: str | None = None
        try:
            self.scope = cgroup.try_scope(f"ses_{base.name}", demands.resources, str(base))
        except Blocked as blocked:
            self.scope_refusal = blocked.reason
        self.session = CommandSession(self.policy, self.scope, helper)
        self.env = command_environment(
            {"PATH": path, "LANG": "C.UTF-8", "SECRET_API_KEY": "sk", "AWS_TOKEN": "t"},
            {},
            home=self.folders.home,
            tmpdir=self.policy.tmpdir,
            runtime_dir=self.folders.runtime,
            baseline_env=["*"],
        )

    def _identity(self) -> str:
        folder = self.base / identity.FOLDER
        folder.mkdir(mode=0o700)
        home = self.folders.home
        passwd = identity.passwd_text(os.getuid(), os.getgid(), home)
        (folder / identity.PASSWD).write_text(passwd)
        (folder / identity.GROUP).write_text(identity.group_text(os.getgid()))
        return str(folder)

    @property
    def work(self) -> Path:
        return self.base / "work"

    def run(self, *argv: str, timeout: float = 60.0, **more: str) -> CommandResult:
        """Raises AssertionError for a command that could not be set up."""
        result = self.session.run(argv, self.env | more, timeout=timeout)
        assert result.set_up_failure is None, result.set_up_failure
        return result

    def close(self) -> bool:
        """Whether everything that the session started is gone."""
        gone = self.session.close()
        return (self.scope is None or self.scope.remove()) and gone


def loader() -> str:
    """The program loader that the listed programs name."""
    closure = resolve(("cat",), PATH, ())["cat"].closure
    return next(each for each in closure if os.path.basename(each).startswith("ld-"))


def library() -> str:
    """A shared library that can be copied."""
    closure = resolve(("cat",), PATH, ())["cat"].closure
    return next(each for each in closure if os.path.basename(each).startswith("libc.so"))


def unrecognised_perl(folder: Path) -> str | None:
    """PATH with a Perl in front that goes by another name; None where there is no Perl."""
    perl = shutil.which("perl", path=PATH)
    if perl is None:
        return None
    folder.mkdir(mode=0o755)
    shutil.copyfile(perl, folder / "runner")
    (folder / "runner").chmod(0o755)
    return f"{folder}:{PATH}"
