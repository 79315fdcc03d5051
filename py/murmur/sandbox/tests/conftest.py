"""A real session on the real kernel, for tests that ask the kernel and not the code."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from murmur.sandbox import identity
from murmur.sandbox.cgroup import Scope, try_scope
from murmur.sandbox.egress.name_service import resolv_conf
from murmur.sandbox.egress.proxy import Bounds
from murmur.sandbox.egress.service import Egress
from murmur.sandbox.environment import command_environment
from murmur.sandbox.hierarchy import Blocked
from murmur.sandbox.mur_sandbox import HelperMissing, find_helper
from murmur.sandbox.policy import CommandPolicy, Demands, Folders, derive
from murmur.sandbox.probe import HostReading, read_host
from murmur.sandbox.results import CommandResult
from murmur.sandbox.session import CommandSession

from .outside import Outside, outside

PATH = "/usr/local/bin:/usr/bin:/bin"
TOOLS = ("sh", "cat", "true", "ls", "sleep", "cp", "ln", "mv", "mkdir", "env", "head", "dd", "id")


class Contained:
    """One session below its policy, with helpers that read like a shell line."""

    def __init__(
        self,
        helper: Path,
        reading: HostReading,
        base: Path,
        demands: Demands,
        path: str = PATH,
        egress: Egress | None = None,
    ) -> None:
        names = ("work", "runtime", "records", "records/tmp", "records/home")
        for name in names:
            (base / name).mkdir(exist_ok=True)
        self.base = base
        identities = base / identity.FOLDER
        identities.mkdir()
        (identities / identity.PASSWD).write_text(
            identity.passwd_text(os.getuid(), os.getgid(), str(base / "records/home"))
        )
        (identities / identity.GROUP).write_text(identity.group_text(os.getgid()))
        work, runtime, records, temp, home = (str(base / name) for name in names)
        name_server = identities / "resolv.conf"
        name_server.write_text(resolv_conf())
        self.folders = Folders(
            work, runtime, records, temp, home, str(identities), str(name_server)
        )
        self.policy: CommandPolicy = derive(reading, self.folders, demands, path)
        self.scope: Scope | None
        try:
            self.scope = try_scope("ses_test", demands.resources, self.folders.workdir)
        except Blocked:
            self.scope = None
        self.session = CommandSession(self.policy, self.scope, helper, egress)
        self.env = command_environment(
            {**os.environ, "PATH": path},
            {},
            home=self.folders.home,
            tmpdir=self.policy.tmpdir,
            runtime_dir=self.folders.runtime,
        )

    @property
    def work(self) -> Path:
        return Path(self.folders.workdir)

    def run(self, *argv: str, timeout: float = 30.0) -> CommandResult:
        return self.session.run(argv, self.env, timeout=timeout)

    def sh(self, line: str, timeout: float = 30.0) -> CommandResult:
        return self.run("sh", "-c", line, timeout=timeout)

    def close(self) -> None:
        self.session.close()
        if self.scope is not None:
            self.scope.remove()


@pytest.fixture(scope="session")
def helper() -> Path:
    try:
        return find_helper()
    except HelperMissing:
        built = Path(tempfile.gettempdir(), "murdev", "mur-sandbox")  # tools/dev/build_helper.sh
        if not built.exists():
            raise
        return built


@pytest.fixture(scope="session")
def reading(helper: Path) -> HostReading:
    return read_host(helper)


Opener = Callable[..., Contained]


@pytest.fixture
def contain(helper: Path, reading: HostReading) -> Iterator[Opener]:
    """Opens sessions; `base` is where their folders lie, by default a new one outside /tmp."""
    if not reading.network.ok:
        pytest.skip(f"INCONCLUSIVE: no network namespace here: {reading.network.reason}")
    opened: list[Contained] = []
    bases: list[Path] = []

    def open_one(
        *tools: str,
        base: Path | None = None,
        host: HostReading | None = None,
        path: str = PATH,
        egress: Egress | None = None,
        **demands: object,
    ) -> Contained:
        if base is None:
            base = Path(tempfile.mkdtemp(dir="/var/tmp", prefix="murmur-test-"))
            bases.append(base)
        wanted = Demands(tools or TOOLS, **demands)  # type: ignore[arg-type]
        opened.append(Contained(helper, host or reading, base, wanted, path, egress))
        return opened[-1]

    yield open_one
    for each in opened:
        each.close()
    for base in bases:
        shutil.rmtree(base, ignore_errors=True)


@pytest.fixture
def session(contain: Opener) -> Contained:
    return contain()


@pytest.fixture
def world() -> Iterator[Outside]:
    with outside() as made:
        yield made


@pytest.fixture
def online(world: Outside, contain: Opener) -> Callable[..., Contained]:
    """Opens a session whose commands may reach `allow`."""

    def open_one(allow: Sequence[str], *tools: str, bounds: Bounds | None = None) -> Contained:
        egress = world.egress(allow, bounds)
        return contain(*(tools or ("python3", "sh")), egress=egress, network=bool(allow))

    return open_one
