"""The scope on the real hierarchy. spec/containment.md 19, design/decisions.md 4."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from murmur.core.diagnostics import MurmurError
from murmur.sandbox import cgroup
from murmur.sandbox.cgroup import create_scope, sweep, try_scope
from murmur.sandbox.hierarchy import Blocked, Facts, members
from murmur.sandbox.resources import Resources

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="cgroups are Linux's")

LIMITS = Resources(cgroup_memory_bytes=64 << 20, cgroup_pids_max=9, cgroup_cpu_percent=150)


@pytest.fixture
def scope(tmp_path: Path) -> "cgroup.Scope":  # type: ignore[misc]
    try:
        made = try_scope("ses/one two", LIMITS, str(tmp_path))
    except Blocked as blocked:
        pytest.skip(f"INCONCLUSIVE: {blocked.reason}")
    yield made
    made.kill()
    made.remove()


def value(scope: cgroup.Scope, *names: str) -> str:
    """The first of these control files that the scope has."""
    for folder in scope.folders:
        for name in names:
            if (folder / name).exists():
                return (folder / name).read_text().strip()
    raise AssertionError(names)


def test_the_bounds_are_written(scope: cgroup.Scope) -> None:
    assert value(scope, "memory.max", "memory.limit_in_bytes") == str(64 << 20)
    assert value(scope, "pids.max") == "9"
    if scope.hierarchy == "v2":
        assert value(scope, "cpu.max") == "150000 100000"
    else:
        assert value(scope, "cpu.cfs_quota_us") == "150000"
        assert value(scope, "cpu.cfs_period_us") == "100000"
        assert value(scope, "memory.memsw.limit_in_bytes") == str(64 << 20)


def test_its_name_carries_the_session_and_this_process(scope: cgroup.Scope) -> None:
    assert {folder.name.rpartition("-")[0] for folder in scope.folders} == {
        f"murmur-ses-one-two-{os.getpid()}"
    }


def test_killing_empties_it_and_removing_takes_it_away(scope: cgroup.Scope) -> None:
    children = [subprocess.Popen(["sleep", "600"]) for _ in range(3)]
    for child in children:
        for folder in scope.folders:
            (folder / "cgroup.procs").write_text(str(child.pid))
    assert set(members(scope.folders[0])) == {child.pid for child in children}
    assert scope.kill()
    assert {child.wait(5) for child in children} == {-9}
    assert scope.remove()
    assert not any(folder.exists() for folder in scope.folders)
    assert scope.remove(), "again does no harm"


def test_a_fork_that_is_refused_is_counted(scope: cgroup.Scope) -> None:
    before = scope.events()
    joined = "; ".join(f'echo $$ > "{folder}/cgroup.procs"' for folder in scope.folders)
    script = joined + "; for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 3 & done; wait"
    subprocess.run(["sh", "-c", script], capture_output=True, check=False, timeout=30)
    assert scope.events().pids_max > before.pids_max


def test_without_any_hierarchy_it_is_e_run_012_with_both_reasons(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cgroup, "delegated_facts", lambda: Facts(None, {}))
    with pytest.raises(MurmurError) as caught:
        create_scope("ses_x", LIMITS)
    assert caught.value.code == "E-RUN-012"
    assert "cgroup v2: not mounted" in caught.value.message
    assert "cgroup v1: no hierarchy for memory, pids, cpu" in caught.value.message


def test_a_bound_that_cannot_be_written_leaves_nothing_behind(
    monkeypatch: pytest.MonkeyPatch, scope: cgroup.Scope
) -> None:
    parents = {folder.parent for folder in scope.folders}
    before = {entry for parent in parents for entry in os.listdir(parent)}
    with pytest.raises(Blocked):
        try_scope("ses_x", Resources(cgroup_pids_max=-5))
    assert {entry for parent in parents for entry in os.listdir(parent)} == before


BUSY = """
import os, subprocess, sys
from murmur.sandbox.cgroup import try_scope
from murmur.sandbox.resources import Resources
open(sys.argv[1] + "/cgroup.procs", "w").write(str(os.getpid()))
child = subprocess.Popen(["sleep", "600"])
try:
    scope = try_scope("ses_busy", Resources())
    print(scope.hierarchy, scope.folders[0].parent, sep="\\n")
    print(sorted(map(int, open(sys.argv[1] + "/murmur-supervisor/cgroup.procs").read().split()))
          == sorted([os.getpid(), child.pid]))
    print(scope.remove())
finally:
    child.kill()
    child.wait()
"""


def test_processes_that_this_one_started_step_aside_for_the_controllers() -> None:
    """The guests' zygote is there before the scope; v2 turns nothing on above processes."""
    try:
        first = try_scope("ses_first", LIMITS)
    except Blocked as blocked:
        pytest.skip(f"INCONCLUSIVE: {blocked.reason}")
    first.remove()
    if first.hierarchy != "v2":
        pytest.skip("INCONCLUSIVE: no cgroup v2 with controllers here")
    group = first.folders[0].with_name(f"murmur-busy-{os.getpid()}")
    group.mkdir()
    try:
        done = subprocess.run(
            [sys.executable, "-c", BUSY, str(group)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(each for each in sys.path if each)},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.stdout.split("\n") == ["v2", str(group), "True", "True", ""], done.stderr
    finally:
        assert cgroup.remove_folders([group / "murmur-supervisor", group])


def test_where_none_can_be_made_nothing_is_moved(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "cgroup.controllers").write_text("memory pids cpu\n")
    monkeypatch.setattr(cgroup, "delegated_facts", lambda: Facts(tmp_path, {}))

    def refuse(path: object, mode: int = 0o777) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", path)

    monkeypatch.setattr(os, "mkdir", refuse)
    with pytest.raises(Blocked) as caught:
        try_scope("ses_x", LIMITS)
    assert caught.value.error == errno.EACCES
    assert f"{tmp_path} is not delegated to this user: mkdir: Permission denied" in (
        caught.value.reason
    )
    assert os.listdir(tmp_path) == ["cgroup.controllers"]


def test_scopes_of_dead_runtimes_are_swept(scope: cgroup.Scope) -> None:
    dead = subprocess.Popen(["true"])
    dead.wait()
    left = [folder.parent / f"murmur-ses-old-{dead.pid}-1" for folder in scope.folders]
    for folder in left:
        folder.mkdir()
    assert sweep() >= len(left)
    assert not any(folder.exists() for folder in left)
    assert all(folder.exists() for folder in scope.folders)
