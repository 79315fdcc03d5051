"""A real session with an interpreter in it: an attacker who may make any system call."""

import ctypes
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from murmur.sandbox.cgroup import Scope, try_scope
from murmur.sandbox.environment import command_environment
from murmur.sandbox.hierarchy import Blocked
from murmur.sandbox.mur_sandbox import find_helper
from murmur.sandbox.policy import Demands, Folders, derive
from murmur.sandbox.probe import read_host
from murmur.sandbox.results import CommandResult
from murmur.sandbox.session import CommandSession

PATH = "/usr/local/bin:/usr/bin:/bin"
TOOLS = ("python3", "sh", "cat", "true")
FOLDERS = ("work", "runtime", "records", "records/tmp", "records/home")
_DUMPABLE = 4  # PR_SET_DUMPABLE


class Prison:
    """A session, and around it what its commands must not reach: a second session's folders."""

    def __init__(self, base: Path, scope: Scope | None, helper: Path, **demands: object) -> None:
        for name in (*FOLDERS, "other"):
            (base / name).mkdir(mode=0o700)
        (base / "records" / "trace.jsonl").write_text("{}\n")
        (base / "records" / "trace.jsonl").chmod(0o600)
        (base / "other" / "record.json").write_text('{"token": "secret"}')
        self.base = base
        self.scope = scope
        self.folders = Folders(*(str(base / name) for name in FOLDERS))
        reading = read_host(helper)
        wanted = Demands(TOOLS, **demands)  # type: ignore[arg-type]
        self.policy = derive(reading, self.folders, wanted, PATH)
        self.session = CommandSession(self.policy, scope, helper)
        self.env = command_environment(
            {"PATH": PATH, "LANG": "C.UTF-8", "SECRET_API_KEY": "sk-secret"},
            {},
            home=self.folders.home,
            tmpdir=self.policy.tmpdir,
            runtime_dir=self.folders.runtime,
            baseline_env=["*"],
        )

    @property
    def work(self) -> Path:
        return self.base / "work"

    def run(self, *argv: str, cwd: str | None = None) -> CommandResult:
        return self.session.run(argv, self.env, cwd, timeout=60)


@pytest.fixture(scope="module")
def prison() -> Iterator[Prison]:
    helper = find_helper()
    reading = read_host(helper)
    if not (reading.network.ok and reading.landlock.ok and reading.mounts.ok and reading.proc.ok):
        pytest.skip(f"INCONCLUSIVE: this host does not have the Full tier: {reading}")
    if not any(Path(folder, "python3").exists() for folder in PATH.split(":")):
        pytest.skip("INCONCLUSIVE: no python3 to attack with")
    base = Path(tempfile.mkdtemp(dir="/var/tmp", prefix="murmur-prison-"))
    scope: Scope | None
    try:
        scope = try_scope("ses_prison", Demands(TOOLS).resources, str(base))
    except Blocked:
        scope = None
    libc = ctypes.CDLL(None)
    before = libc.prctl(3, 0, 0, 0, 0)
    libc.prctl(_DUMPABLE, 0, 0, 0, 0)  # as the runtime does first of all
    made = Prison(base, scope, helper)
    try:
        yield made
    finally:
        made.session.close()
        if scope is not None:
            scope.remove()
        libc.prctl(_DUMPABLE, before, 0, 0, 0)
        shutil.rmtree(base, ignore_errors=True)
