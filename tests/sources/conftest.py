"""A server and a place to run `mur` against it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from .box import Box
from .github_server import GitHubServer


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@pytest.fixture
def github() -> Iterator[GitHubServer]:
    server = GitHubServer()
    yield server
    server.close()


@pytest.fixture
def box(tmp_path: Path, github: GitHubServer) -> Box:
    return Box(tmp_path, github)
