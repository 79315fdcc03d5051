"""examples/quickstart, run as a user runs it."""

import shutil
from pathlib import Path

import pytest

from tests.endtoend.capsule import Place, read_trace

EXAMPLE = Path("examples/quickstart")


@pytest.fixture
def quickstart(project: Path) -> Path:
    shutil.copytree(EXAMPLE, project, dirs_exist_ok=True)
    return project


def _records(output: str) -> Path:
    line = next(line for line in output.splitlines() if line.startswith("records: "))
    return Path(line.removeprefix("records: "))


def test_the_quickstart_ends_ok_and_leaves_report_answer_and_trace(
    place: Place, quickstart: Path
) -> None:
    done = place.mur(
        "run", "--verbose", "--workdir", "work", "--task", "What went wrong?", cwd=quickstart
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "status:  ok"
    report = (quickstart / "work" / "report.md").read_text()
    log = (quickstart / "work" / "app.log").read_text()
    for level in ("ERROR", "INFO", "WARN"):
        count = sum(1 for line in log.splitlines() if f" {level} " in line)
        assert f"{count} {level}" in report
    records = _records(done.stdout)
    assert "no space" not in (records / "out" / "result.txt").read_text()
    assert "disk space" in (records / "out" / "result.txt").read_text()
    events = [line["event_type"] for line in read_trace(records)]
    assert events[0] == "session_start" and events[-1] == "session_end"
    assert events.count("inference") == 5
    assert events.count("tool_call") == 4
    assert events.count("shell") == 1


def test_the_capsule_without_a_shell_step_ends_ok_too(place: Place, quickstart: Path) -> None:
    done = place.mur(
        "run",
        "--manifest",
        "murmur-without-shell.yaml",
        "--workdir",
        "work",
        "--task",
        "What went wrong?",
        cwd=quickstart,
    )
    assert done.returncode == 0, done.stderr
    assert (quickstart / "work" / "report.md").exists()


def test_a_session_leaves_no_runtime_directory_and_no_running_record(
    place: Place, quickstart: Path
) -> None:
    done = place.mur("run", "-v", "--workdir", "work", "--task", "go", cwd=quickstart)
    assert done.returncode == 0, done.stderr
    session = _records(done.stdout).name
    home = place.home / ".murmur"
    assert not (home / "sessions" / session).exists()
    assert not (home / "running" / f"{session}.json").exists()
    for folder in ("records", "sessions", "running", "compiled"):
        assert (home / folder).stat().st_mode & 0o777 == 0o700


def test_the_lock_is_created_once_and_never_refreshed(place: Place, quickstart: Path) -> None:
    arguments = ("run", "--workdir", "work", "--task", "go")
    assert place.mur(*arguments, cwd=quickstart).returncode == 0
    lock = (quickstart / "murmur.lock").read_bytes()
    assert b"lock_version: 3" in lock
    assert place.mur(*arguments, cwd=quickstart).returncode == 0
    assert (quickstart / "murmur.lock").read_bytes() == lock
