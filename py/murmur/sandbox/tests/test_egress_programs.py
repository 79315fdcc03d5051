"""Programs that people run, over the proxy: each does what it does outside. spec/containment.md 17.

What outside calls `https://localhost:<port>` is `https://files.example.com` to a command.
"""

import filecmp
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from murmur.manifest.grants import InterpreterDirectory, InterpreterRuntime
from murmur.sandbox.probe import HostReading
from murmur.sandbox.results import CommandResult

from .conftest import Contained, Opener
from .outside import PUBLIC, Outside
from .web import (
    Web,
    publish_files,
    publish_node_package,
    publish_repository,
    publish_wheel,
    web,
)

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the helper's home")

HOST = "files.example.com"
INSIDE = f"https://{HOST}"
SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"


@dataclass(slots=True)
class Both:
    """A session whose commands reach the site, and an empty folder outside."""

    site: Web
    session: Contained
    folder: Path

    @property
    def base(self) -> str:
        return f"https://localhost:{self.site.port}"

    def inside(self, *argv: str, **env: str) -> CommandResult:
        done = self.session.session.run(argv, {**self.session.env, **env}, timeout=120)
        assert done.set_up_failure is None
        assert done.exit_code == 0, (done.stdout[-2000:], done.stderr.decode()[-6000:])
        return done

    def outside(self, *argv: str, **env: str) -> str:
        done = subprocess.run(
            argv,
            cwd=self.folder,
            env={"PATH": SYSTEM_PATH, "HOME": str(self.folder / "home"), **env},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def authority(self) -> str:
        """The authority's certificate, copied to where commands may read it."""
        shutil.copy(self.site.authority, self.session.work / "authority.pem")
        return str(self.session.work / "authority.pem")


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Web]:
    with web(tmp_path, HOST, "localhost") as served:
        yield served


Opened = Callable[..., Iterator[Both]]


@pytest.fixture
def each_class(
    world: Outside, site: Web, contain: Opener, reading: HostReading, tmp_path: Path
) -> Opened:
    """Opens a session for each containment class of this host, one after the other."""
    world.names.table[HOST] = [PUBLIC]
    world.dials.servers[443] = site.port
    (tmp_path / "plain").mkdir()

    def open_each(
        *tools: str, granted: Mapping[str, Sequence[str]] | None = None, path: str = SYSTEM_PATH
    ) -> Iterator[Both]:
        for tool in tools:
            if shutil.which(tool, path=path) is None:
                pytest.skip(f"INCONCLUSIVE: {tool} is not installed")
        runtime = tuple(
            InterpreterRuntime(binary, tuple(InterpreterDirectory(each, True) for each in folders))
            for binary, folders in (granted or {}).items()
        )
        for sealed in (False, True) if reading.tier == "Sealed" else (False,):
            session = contain(
                *tools,
                egress=world.egress([INSIDE]),
                network=True,
                path=path,
                sealed=sealed,
                interpreter_runtime=runtime,
            )
            yield Both(site, session, tmp_path / "plain")

    return open_each


def same_tree(one: Path, other: Path, ignore: tuple[str, ...] = ()) -> bool:
    compared = filecmp.dircmp(one, other, ignore=[*ignore, "__pycache__"])
    if compared.left_only or compared.right_only or compared.funny_files or compared.diff_files:
        return False
    return all(same_tree(one / name, other / name, ignore) for name in compared.common_dirs)


def test_curl_checks_the_certificate_and_gets_every_byte(site: Web, each_class: Opened) -> None:
    expected = publish_files(site)
    for both in each_class("curl", "sha256sum"):
        trust = both.authority()
        both.inside("curl", "-fsS", "--cacert", trust, "-o", "big", f"{INSIDE}/big")
        got = both.inside("sha256sum", "big").stdout.decode().split()[0]
        both.outside("curl", "-fsS", "--cacert", trust, "-o", "big", f"{both.base}/big")
        assert got == both.outside("sha256sum", "big").split()[0] == expected

        untrusted = both.session.run("curl", "-sS", f"{INSIDE}/big")
        assert untrusted.exit_code == 60, "the proxy ends no TLS, so the system's store decides"
        other = both.session.run("curl", "-sS", "--cacert", trust, "https://other.example.com/")
        assert (other.exit_code, b"Could not resolve host" in other.stderr) == (6, True)
        port = both.session.run("curl", "-sS", f"{INSIDE}:8443/")
        assert (port.exit_code, b"Failed to connect" in port.stderr) == (7, True)


def test_pip_installs_from_a_listed_index_into_a_new_environment(
    site: Web, each_class: Opened
) -> None:
    publish_wheel(site)
    # Where Debian keeps the wheels of a new environment's pip, and what pip looks up on a system.
    read = (
        "/usr/share/python-wheels",
        "/usr/lib/os-release",
        "/etc/debian_version",
        "/etc/mime.types",
    )
    run = "import subprocess, sys; sys.exit(subprocess.call(['env/bin/python', *sys.argv[1:]]))"
    answer = "import murmurtestpkg; print(murmurtestpkg.ANSWER)"

    def install(base: str, trust: str) -> tuple[str, ...]:
        quiet = ("--disable-pip-version-check", "install", "--quiet", "--cert", trust)
        return ("-m", "pip", *quiet, "--index-url", f"{base}/simple/", "murmurtestpkg")

    outer: Path | None = None
    for both in each_class("python3", granted={"python3": read}):
        trust = both.authority()
        both.inside("python3", "-m", "venv", "env")
        both.inside("python3", "-c", run, *install(INSIDE, trust))
        assert both.inside("python3", "-c", run, "-c", answer).stdout == b"42\n"
        if outer is None:
            both.outside("python3", "-m", "venv", "env")
            both.outside("env/bin/python", *install(both.base, trust))
            outer = packages(both.folder)
        inner = packages(both.session.work)
        assert same_tree(inner, outer, ignore=("RECORD",)), "which hashes scripts that name folders"


def packages(root: Path) -> Path:
    return next((root / "env" / "lib").glob("python3*/site-packages"))


def test_git_clones_over_https(site: Web, each_class: Opened) -> None:
    if shutil.which("git") is None:
        pytest.skip("INCONCLUSIVE: git is not installed")
    asked = subprocess.run(["git", "--exec-path"], capture_output=True, text=True, check=True)
    core = asked.stdout.strip()
    commit = publish_repository(site)
    granted = {"git": (core, "/usr/share/git-core")}
    for both in each_class(
        "git", "git-remote-https", granted=granted, path=f"{SYSTEM_PATH}:{core}"
    ):
        # The host's own configuration is nothing that was granted.
        config = {"GIT_SSL_CAINFO": both.authority(), "GIT_CONFIG_NOSYSTEM": "1"}
        both.inside("git", "clone", "--quiet", f"{INSIDE}/git/repo.git", "copy", **config)
        head = both.inside("git", "-C", "copy", "rev-parse", "HEAD", **config).stdout
        assert head.decode().strip() == commit
        shutil.rmtree(both.folder / "copy", ignore_errors=True)
        both.outside("git", "clone", "--quiet", f"{both.base}/git/repo.git", "copy", **config)
        assert same_tree(both.session.work / "copy", both.folder / "copy", (".git",))
        assert both.inside("git", "-C", "copy", "status", "--porcelain", **config).stdout == b""


def test_npm_installs_from_a_listed_registry(site: Web, each_class: Opened) -> None:
    npm = shutil.which("npm", path=SYSTEM_PATH)
    if npm is None:
        pytest.skip("INCONCLUSIVE: npm is not installed")
    program = os.path.realpath(npm)
    granted = {"node": (str(Path(program).parents[1]),)}
    for both in each_class("node", granted=granted):
        trust = both.authority()
        for base, run, root in (
            (INSIDE, both.inside, both.session.work),
            (both.base, both.outside, both.folder),
        ):
            publish_node_package(site, base)
            (root / "package.json").write_text('{"name": "user", "version": "1.0.0"}')
            quiet = ("--no-audit", "--no-fund", "--no-update-notifier", "--cafile", trust)
            run("node", program, "install", *quiet, "--registry", f"{base}/", "murmurtestpkg")
        assert both.inside("node", "-p", "require('murmurtestpkg')").stdout == b"42\n"
        trees = (both.session.work / "node_modules", both.folder / "node_modules")
        assert same_tree(*trees, ignore=(".package-lock.json",))
