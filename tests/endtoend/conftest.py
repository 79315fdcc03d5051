"""One home for the whole run, with every default artifact published and compiled once."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.endtoend.capsule import Place

if TYPE_CHECKING:
    from murmur.inference.tests.upstream import Authority

COMPILE_SECONDS = 600


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    home = tmp_path_factory.mktemp("home")
    environ = {
        name: os.environ[name]
        for name in (
            "PATH",
            "LANG",
            "PYTHONPATH",
            "MURMUR_SANDBOX_HELPER",
            "MURMUR_LOCKDOWN_LIBRARY",
            "MURMUR_TEST_MUR",
        )
        if name in os.environ
    }
    # Bazel names them relative to where the tests start, and every run starts somewhere else.
    for name in ("MURMUR_SANDBOX_HELPER", "MURMUR_LOCKDOWN_LIBRARY"):
        if name in environ:
            environ[name] = os.path.abspath(environ[name])
    made = Place(home, {**environ, "HOME": str(home)})
    archives = sorted(
        map(str, Path(os.environ["MURMUR_TEST_ARTIFACTS"]).absolute().glob("*.mur.zip"))
    )
    for archive in archives:
        done = made.mur("publish", archive, cwd=home)
        assert done.returncode == 0, done.stderr
    # Here and not in the first run, whose time limit is a run's and not a compiler's.
    done = made.mur("precompile", *archives, cwd=home, seconds=COMPILE_SECONDS)
    assert done.returncode == 0, done.stdout + done.stderr
    return made


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "project"
    folder.mkdir()
    yield folder


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> "Authority":
    """One that no system trusts, with a server of this machine and of a name elsewhere."""
    # Here, since the long runs take this file without what makes certificates.
    from murmur.inference.tests.upstream import make_authority

    return make_authority(tmp_path_factory.mktemp("authority"), "localhost", "api.example.com")
