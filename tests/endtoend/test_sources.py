"""From a release on a server to a run: indexed, installed from a manifest, pinned, launched."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from murmur.store.lock import read_lock
from tests.endtoend.capsule import Place, replay, write_manifest
from tests.sources.github_server import INDEX, GitHubServer, Repository

REPOSITORY = "murmur-nexus/default-artifacts"


@pytest.fixture
def github(place: Place, tmp_path: Path) -> Iterator[GitHubServer]:
    """The default artifacts as a release, with the index that `mur index` makes of them."""
    server = GitHubServer()
    made = tmp_path / INDEX
    release = Path(os.environ["MURMUR_TEST_ARTIFACTS"]).absolute()
    done = place.mur(
        "index",
        str(release),
        *("--repo", REPOSITORY, "--release", "v0.1.0", "-o", str(made)),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assets = {path.name: path.read_bytes() for path in release.glob("*.mur.zip")}
    server.repositories[REPOSITORY] = Repository(
        owner_id=42, releases={"v0.1.0": {**assets, INDEX: made.read_bytes()}}, latest="v0.1.0"
    )
    yield server
    server.close()


def test_a_released_artifact_is_installed_pinned_and_run(
    place: Place, project: Path, github: GitHubServer
) -> None:
    served = {"MUR_GITHUB_API_BASE": github.base}
    manifest = replay([{"text": "from a release"}])
    manifest["artifacts"] = [
        {**entry, "name": entry["name"].replace("local/", "murmur/")}
        for entry in manifest["artifacts"]
    ]
    manifest["inference"]["driver"]["artifact"] = "murmur/driver-replay"
    write_manifest(project, manifest)
    done = place.mur("install", cwd=project, environ=served)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Installed murmur/driver-replay@0.1.0 (project store)" in done.stdout.splitlines()
    lock = read_lock(project / "murmur.lock")
    assert lock is not None and {pin.owner_id for pin in lock.pins} == {42}
    asked = len(github.asked)
    again = place.mur("install", cwd=project, environ=served)
    assert again.returncode == 0 and "Already installed" in again.stdout
    assert read_lock(project / "murmur.lock") == lock and len(github.asked) == asked
    done = place.mur("run", "--task", "go", cwd=project)
    assert done.returncode == 0, done.stderr
    assert "status:  ok" in done.stdout.splitlines()
