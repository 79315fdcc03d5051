"""`mur doctor` as a program: streams, statuses, and that it looks and touches nothing."""

import os
import signal
from pathlib import Path

import pytest

from tests.endtoend.capsule import Place, replay, write_manifest
from tests.endtoend.watching import run_watched, snapshot

ARCHIVES = sorted(Path(os.environ["MURMUR_TEST_ARTIFACTS"]).absolute().glob("*.mur.zip"))


@pytest.fixture
def stocked(place: Place, tmp_path: Path) -> Place:
    """A home of the test's own: what other tests leave in the shared store is doctor's to say."""
    home = tmp_path / "stocked"
    home.mkdir()
    mine = Place(home, {**place.environ, "HOME": str(home)})
    for archive in ARCHIVES:
        done = mine.mur("publish", str(archive), cwd=home)
        assert done.returncode == 0, done.stderr
    return mine


def test_it_writes_nothing_launches_nothing_and_contacts_nobody(
    stocked: Place, project: Path, tmp_path: Path
) -> None:
    manifest = replay([])
    manifest["capabilities"] = {"shell": {"allow": ["ls", "sh"]}}
    write_manifest(project, manifest)
    (tmp_path / "tmp").mkdir()
    before = snapshot(stocked.home, project, tmp_path / "tmp")
    seen = run_watched(
        stocked,
        tmp_path / "hook",
        "doctor",
        cwd=project,
        environ={"TMPDIR": str(tmp_path / "tmp")},
    )
    assert seen.done.returncode == 0, seen.done.stdout + seen.done.stderr
    assert seen.done.stdout.endswith("\nAll checks passed.\n")
    allowed = ("/sys/fs/cgroup", "/dev/null", "/proc/self")
    assert [path for path in seen.written() if not path.startswith(allowed)] == []
    assert seen.contacts() == []
    assert {Path(path).name for path in seen.children()} == {"mur-sandbox"}
    assert snapshot(stocked.home, project, tmp_path / "tmp") == before


def test_what_mur_run_finds_installed_doctor_finds_too(place: Place, project: Path) -> None:
    write_manifest(project, replay([{"text": "ok"}]))
    lines = place.mur("doctor", cwd=project).stdout.splitlines()
    for name in ("local/driver-replay", "local/tool-editor"):
        assert any(line.startswith(f"  ✓  {name}@0.1.0 ") for line in lines)
        assert any(line.startswith(f"    {name}@0.1.0 ") and "fits level" in line for line in lines)


def test_a_missing_artifact_exits_1_after_the_whole_report(stocked: Place, project: Path) -> None:
    manifest = replay([])
    manifest["artifacts"].append({"name": "local/nowhere", "version": "9.9.9"})
    write_manifest(project, manifest)
    done = stocked.mur("doctor", cwd=project)
    assert done.returncode == 1
    assert done.stdout.endswith("\nFix: mur install local/nowhere@9.9.9\n")
    assert "\nTemporary folder\n" in done.stdout


def test_a_setup_failure_is_on_standard_error_alone(place: Place, project: Path) -> None:
    done = place.mur("doctor", cwd=project)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"error[E-IO-001]: murmur.yaml not found at {project}/murmur.y")
    write_manifest(project, replay([]))
    (project / "murmur.lock").write_text("lock_version: 1\n")
    done = place.mur("doctor", cwd=project)
    assert (done.returncode, done.stdout) == (1, "")
    assert "error[E-RUN-003]: " in done.stderr


def test_the_door_warning_is_byte_for_byte_that_of_mur_run(place: Place, project: Path) -> None:
    lifecycle = {"task_acceptance": "queue", "after_task": "sleep"}
    write_manifest(project, replay([{"text": "x"}], lifecycle=lifecycle))
    told = place.mur("doctor", "--bind", "0.0.0.0", cwd=project).stdout
    running = place.start("--bind", "0.0.0.0", cwd=project)
    _, _, complaint = running.end(signal.SIGTERM)
    said = [line for line in complaint.splitlines() if "W-SEC-032" in line]
    assert len(said) == 1
    assert said[0] in told.splitlines()


def test_the_directories_are_those_of_explain_scope(place: Place, project: Path) -> None:
    write_manifest(project, replay([]))
    explained = place.mur("run", "--explain-scope", cwd=project).stdout
    told = place.mur("doctor", cwd=project).stdout
    for title in ("Runtime directory", "Records directory", "Temporary folder"):
        block = explained[explained.index(f"\n{title}\n") :].split("\n\n")[0]
        assert block in told


def test_a_spawn_closure_is_predicted_with_e_cap_015_and_w_reg_002(
    place: Place, project: Path, tmp_path: Path
) -> None:
    packed = {"name": "worker", "version": "0.1.0", "runtime": "capsule", "execution": "static"}
    child = {**replay([]), **packed, "capabilities": {"env": {"allow": ["EXTRA"]}}}
    write_manifest(tmp_path / "worker", child)
    built = place.mur("build", "worker", "--output", "worker.mur.zip", cwd=tmp_path)
    assert built.returncode == 0, built.stderr
    home = tmp_path / "home"
    home.mkdir()
    mine = Place(home, {**place.environ, "HOME": str(home)})
    published = mine.mur("publish", "worker.mur.zip", cwd=tmp_path)
    assert published.returncode == 0, published.stderr
    capabilities = {"spawn": {"allow": ["local/worker", "local/ghost"]}}
    write_manifest(project, replay([], capabilities=capabilities))
    done = mine.mur("doctor", cwd=project, environ={"EXTRA": "x"})
    assert done.returncode == 1
    assert "error[E-CAP-015]: " in done.stderr and "warning[W-REG-002]: " in done.stderr
    assert "    worker@0.1.0 declares EXTRA, which scripted@0.1.0 does not hold\n" in done.stdout
    assert "  could not inspect 1 of 3 capsules in the spawn closure:\n" in done.stdout
