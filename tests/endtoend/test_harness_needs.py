"""What a process driver's manifest says that its harness needs. spec/artifacts.md 13.7."""

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.endtoend.capsule import Place
from tests.endtoend.harnessed import Harnessed, Step

EXPLAIN = ("--explain-scope", "--workdir", "w")


@pytest.fixture(scope="module")
def at(place: Place, tmp_path_factory: pytest.TempPathFactory) -> Harnessed:
    project = tmp_path_factory.mktemp("needs") / "project"
    project.mkdir()
    return Harnessed(place, project)


@pytest.fixture(scope="module")
def hosts() -> Iterator[tuple[str, str]]:
    """Two servers of this machine, as entries of `network.allow`."""
    with (
        socket.create_server(("127.0.0.1", 0)) as one,
        socket.create_server(("127.0.0.1", 0)) as two,
    ):
        yield f"127.0.0.1:{one.getsockname()[1]}", f"127.0.0.1:{two.getsockname()[1]}"


@pytest.fixture(scope="module")
def shelf(at: Harnessed) -> Path:
    """A folder with one that the harness needs and one that it does not."""
    folder = at.login.parent / "shelf"
    for name in ("needed", "other"):
        (folder / name).mkdir(parents=True)
        (folder / name / "page").write_text(name)
    return folder


@pytest.fixture(scope="module")
def driver(at: Harnessed, hosts: tuple[str, str], shelf: Path) -> str:
    paths = [
        {"path": str(at.login), "access": "read-write"},
        {"path": str(shelf / "needed")},
        {"path": f"{shelf}/absent", "access": "read-write"},
    ]
    needs = {"paths": paths, "hosts": [hosts[0]]}
    return at.publish_driver("needing-driver", harness_needs=needs)


def _generous(at: Harnessed, hosts: tuple[str, str], shelf: Path) -> dict[str, Any]:
    """More than is needed, for each of path, access and host."""
    paths = [{"path": str(each), "access": "read-write"} for each in (at.login, shelf)]
    return {"harness": {"paths": paths}, "network": {"allow": list(hosts)}}


def test_the_harness_gets_what_its_driver_needs_and_nothing_of_the_wider_entries(
    at: Harnessed, driver: str, hosts: tuple[str, str], shelf: Path
) -> None:
    at.driven_by(driver, **_generous(at, hosts, shelf))
    explained = at.place.mur("run", *EXPLAIN, "--json", cwd=at.project, environ=at.environ())
    reached, closed = ((host, int(port)) for host, port in (each.split(":") for each in hosts))
    steps: list[Step] = [
        ["read", str(shelf / "needed" / "page")],
        ["write", str(shelf / "needed" / "page"), "changed"],
        ["run", str(shelf / "needed" / "page")],
        ["read", str(shelf / "other" / "page")],
        ["list", str(shelf / "other")],
        ["write", str(at.login / "kept"), "mine"],
        ["connect", *reached],
        ["connect", *closed],
        ["end"],
    ]
    done = at.run(steps)
    assert done.returncode == 0, done.stderr
    read, changed, executed, other, listed, kept, open_host, closed_host = at.seen()
    assert (read, kept, open_host) == ("needed", "written", "connected")
    assert changed.startswith(("PermissionError", "OSError: [Errno 30]")) and executed == 127
    for refused in (other, listed):
        assert refused.startswith(("PermissionError", "FileNotFoundError"))
    assert closed_host.startswith("ConnectionRefusedError"), closed_host
    assert (shelf / "needed" / "page").read_text() == "needed"

    recorded = at.lines("session_start")[0]["effective_grants"]
    foreseen = json.loads(explained.stdout)
    assert explained.returncode == 0 and "would refuse" not in explained.stderr
    for key in ("harness_paths", "harness_hosts"):
        assert recorded[key] == foreseen[key], key
    assert recorded["harness_hosts"] == [hosts[0]]
    assert [(each["path"], each["access"]) for each in recorded["harness_paths"]] == [
        (str(at.login.resolve()), "read-write"),
        (str((shelf / "needed").resolve()), "read"),
        (str((shelf / "absent").resolve()), "read-write"),
    ]
    assert recorded["harness_paths"][2]["mechanism"] == "none"
    assert recorded["network_allow"] == list(hosts)


def test_a_need_that_is_not_allowed_is_foreseen_with_status_0_and_by_doctor(
    at: Harnessed, driver: str, hosts: tuple[str, str], shelf: Path
) -> None:
    """The same launch is refused: tests/endtoend/test_codes_process.py, E-CAP-021."""
    narrow = _generous(at, hosts, shelf)
    narrow["network"] = {"allow": [hosts[1]]}
    narrow["harness"]["paths"][0]["access"] = "read"
    at.driven_by(driver, **narrow)
    explained = at.place.mur("run", *EXPLAIN, cwd=at.project, environ=at.environ())
    assert explained.returncode == 0, explained.stderr
    (line,) = (each for each in explained.stdout.splitlines() if "E-CAP-021" in each)
    for fact in (driver, f"{at.login} (read-write)", f"the host {hosts[0]}"):
        assert fact in line
    assert "harness hosts: <none>" in explained.stdout
    doctor = at.place.mur("doctor", cwd=at.project, environ=at.environ())
    assert "E-CAP-021" in doctor.stderr and "harness hosts: <none>" in doctor.stdout


def test_a_driver_that_says_that_it_needs_nothing_gets_nothing(
    at: Harnessed, hosts: tuple[str, str], shelf: Path
) -> None:
    name = at.publish_driver("frugal-driver", harness_needs={})
    at.driven_by(name, **_generous(at, hosts, shelf))
    explained = at.place.mur("run", *EXPLAIN, "--json", cwd=at.project, environ=at.environ())
    report = json.loads(explained.stdout)
    assert (report["harness_paths"], report["harness_hosts"]) == ([], [])


def test_a_malformed_block_is_refused_where_it_is_built(at: Harnessed, tmp_path: Path) -> None:
    (tmp_path / "capsule.wasm").write_bytes(b"\0asm\x0d\0\x01\0")
    (tmp_path / "murmur.yaml").write_text(
        "{name: d, version: 0.1.0, runtime: driver, requires_files: [capsule.wasm],"
        " harness_needs: {paths: [{path: relative}]}}"
    )
    done = at.place.mur("build", str(tmp_path), cwd=tmp_path)
    assert done.returncode == 1 and "error[E-BLD-008]" in done.stderr
    assert "harness_needs.paths[0].path: 'relative'" in done.stderr
    assert not list(tmp_path.glob("*.mur.zip"))
