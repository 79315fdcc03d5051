"""Programs that people run, over the proxy: each does what it does outside. spec/containment.md 17.

What outside calls `https://localhost:<port>` is `https://files.example.com` to a command.
"""

import filecmp
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from murmur.manifest.grants import InterpreterDirectory, InterpreterRuntime
from murmur.sandbox.resources import Resources
from murmur.sandbox.results import CommandResult

from .conftest import Contained, Opener
from .outside import PUBLIC, Outside, outside
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
def world() -> Iterator[Outside]:
    with outside() as made:
        yield made


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Web]:
    with web(tmp_path, HOST, "localhost") as served:
        yield served


def _open(
    world: Outside,
    site: Web,
    contain: Opener,
    folder: Path,
    tools: tuple[str, ...],
    grants: Mapping[str, tuple[str, ...]] | None = None,
    path: str = SYSTEM_PATH,
) -> Both:
    for tool in tools:
        if shutil.which(tool, path=path) is None:
            pytest.skip(f"INCONCLUSIVE: {tool} is not installed")
    world.names.table[HOST] = [PUBLIC]
    world.dials.servers[443] = site.port
    (folder / "plain").mkdir()
    runtime = tuple(
        InterpreterRuntime(binary, tuple(InterpreterDirectory(each, True) for each in folders))
        for binary, folders in (grants or {}).items()
    )
    session = contain(
        *tools,
        egress=world.egress([INSIDE]),
        network=True,
        path=path,
        interpreter_runtime=runtime,
        resources=Resources(memory_bytes=64 << 30),
    )
    return Both(site, session, folder / "plain")


def same_tree(one: Path, other: Path, ignore: tuple[str, ...] = ()) -> bool:
    compared = filecmp.dircmp(one, other, ignore=[*ignore, "__pycache__"])
    if compared.left_only or compared.right_only or compared.funny_files or compared.diff_files:
        return False
    return all(same_tree(one / name, other / name, ignore) for name in compared.common_dirs)


def test_curl_checks_the_certificate_and_gets_every_byte(
    world: Outside, site: Web, contain: Opener, tmp_path: Path
) -> None:
    expected = publish_files(site)
    both = _open(world, site, contain, tmp_path, ("curl", "sha256sum"))
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
    world: Outside, site: Web, contain: Opener, tmp_path: Path
) -> None:
    publish_wheel(site)
    # Where Debian keeps the wheels of a new environment's pip, and what pip looks up on a system.
    read = (
        "/usr/share/python-wheels",
        "/usr/lib/os-release",
        "/etc/debian_version",
        "/etc/mime.types",
    )
    both = _open(world, site, contain, tmp_path, ("python3",), {"python3": read})
    trust = both.authority()
    install = ("-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--cert", trust)
    both.inside("python3", "-m", "venv", "env")
    run = "import subprocess, sys; sys.exit(subprocess.call(['env/bin/python', *sys.argv[1:]]))"
    both.inside("python3", "-c", run, *install, "--index-url", f"{INSIDE}/simple/", "murmurtestpkg")
    answer = "import murmurtestpkg; print(murmurtestpkg.ANSWER)"
    assert both.inside("python3", "-c", run, "-c", answer).stdout == b"42\n"

    both.outside("python3", "-m", "venv", "env")
    both.outside("env/bin/python", *install, "--index-url", f"{both.base}/simple/", "murmurtestpkg")
    inner, outer = (
        next((root / "env" / "lib").glob("python3*/site-packages"))
        for root in (both.session.work, both.folder)
    )
    assert same_tree(inner, outer, ignore=("RECORD",)), "which hashes scripts that name the folder"


def test_git_clones_over_https(world: Outside, site: Web, contain: Opener, tmp_path: Path) -> None:
    core = subprocess.run(
        ["git", "--exec-path"], capture_output=True, text=True, check=True
    ).stdout.strip()
    commit = publish_repository(site)
    both = _open(
        world,
        site,
        contain,
        tmp_path,
        ("git", "git-remote-https"),
        {"git": (core, "/usr/share/git-core")},
        f"{SYSTEM_PATH}:{core}",
    )
    trust = both.authority()
    # The host's own configuration is nothing that was granted.
    config = {"GIT_SSL_CAINFO": trust, "GIT_CONFIG_NOSYSTEM": "1"}
    both.inside("git", "clone", "--quiet", f"{INSIDE}/git/repo.git", "copy", **config)
    assert (
        both.inside("git", "-C", "copy", "rev-parse", "HEAD", **config).stdout.decode().strip()
        == commit
    )
    both.outside("git", "clone", "--quiet", f"{both.base}/git/repo.git", "copy", **config)
    assert same_tree(both.session.work / "copy", both.folder / "copy", (".git",))
    assert both.inside("git", "-C", "copy", "status", "--porcelain", **config).stdout == b""


def test_npm_installs_from_a_listed_registry(
    world: Outside, site: Web, contain: Opener, tmp_path: Path
) -> None:
    npm = shutil.which("npm", path=SYSTEM_PATH)
    if npm is None:
        pytest.skip("INCONCLUSIVE: npm is not installed")
    program = os.path.realpath(npm)
    both = _open(
        world, site, contain, tmp_path, ("node",), {"node": (str(Path(program).parents[1]),)}
    )
    trust = both.authority()
    quiet = ("install", "--no-audit", "--no-fund", "--no-update-notifier", "murmurtestpkg")
    for base, run, root in (
        (INSIDE, both.inside, both.session.work),
        (both.base, both.outside, both.folder),
    ):
        publish_node_package(site, base)
        (root / "package.json").write_text('{"name": "user", "version": "1.0.0"}')
        run("node", program, *quiet, "--registry", f"{base}/", "--cafile", trust)
    shown = both.inside("node", "-p", "require('murmurtestpkg')").stdout
    assert shown == b"42\n"
    trees = (both.session.work / "node_modules", both.folder / "node_modules")
    assert same_tree(*trees, ignore=(".package-lock.json",))
