"""A launch that is refused says why, exits 1, and leaves nothing behind."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.endtoend.capsule import Place, replay, write_manifest
from tests.endtoend.watching import run_watched, snapshot

Change = Callable[[dict[str, Any]], None]


def _no_driver(manifest: dict[str, Any]) -> None:
    del manifest["inference"]["driver"]


def _missing_artifact(manifest: dict[str, Any]) -> None:
    manifest["artifacts"].append({"name": "local/nowhere", "version": "9.9.9", "runtime": "tool"})


def _bad_rule(manifest: dict[str, Any]) -> None:
    manifest["capabilities"] = {"network": {"allow": ["https://example.com/path"]}}


def _climbing_scope(manifest: dict[str, Any]) -> None:
    manifest["capabilities"] = {"filesystem": {"scope": "../out"}}


def _reserved_name(manifest: dict[str, Any]) -> None:
    manifest["artifacts"].append(
        {"name": "local/submit-plan", "version": "0.1.0", "runtime": "tool"}
    )


def _sealed(manifest: dict[str, Any]) -> None:
    manifest["capabilities"] = {"filesystem": {"workdir_exec": True}, "containment": "sealed"}


def _unknown_model(manifest: dict[str, Any]) -> None:
    manifest["inference"]["model"] = "nobody-knows"


def _no_name(manifest: dict[str, Any]) -> None:
    del manifest["name"]


REFUSALS = [
    pytest.param(_no_name, "E-MAN-001", ["name"], id="name"),
    pytest.param(_no_driver, "E-RUN-005", ["inference.driver.artifact"], id="driver"),
    pytest.param(_missing_artifact, "E-RUN-008", ["local/nowhere@9.9.9", "mur install"], id="lost"),
    pytest.param(_bad_rule, "E-CAP-001", ["https://example.com/path", "a path"], id="rule"),
    pytest.param(_climbing_scope, "E-CAP-002", ["../out"], id="scope"),
    pytest.param(_reserved_name, "E-CAP-013", ["local/submit-plan"], id="reserved"),
    pytest.param(_sealed, "E-CAP-003", ["class sealed", "achieves advisory"], id="sealed"),
    pytest.param(_unknown_model, "E-RUN-052", ["nobody-knows", "inference.max_tokens"], id="limit"),
]


@pytest.mark.parametrize(("change", "code", "facts"), REFUSALS)
def test_a_refused_launch_names_the_facts_and_leaves_nothing(
    place: Place, project: Path, change: Change, code: str, facts: list[str]
) -> None:
    manifest = replay([{"text": "never"}])
    change(manifest)
    write_manifest(project, manifest)
    before = sorted(path.name for path in project.iterdir())
    records = place.home / ".murmur" / "records"
    known = set(records.rglob("ses_*")) if records.exists() else set()
    done = place.mur("run", "--task", "go", cwd=project)
    assert done.returncode == 1
    assert done.stdout == "status:  failed\n"
    assert f"error[{code}]: " in done.stderr
    for fact in facts:
        assert fact in done.stderr
    assert sorted(path.name for path in project.iterdir()) == before
    assert (set(records.rglob("ses_*")) if records.exists() else set()) == known


@pytest.mark.parametrize(("change", "code", "facts"), REFUSALS)
def test_a_refusal_before_staging_writes_nothing_and_contacts_nobody(
    place: Place, project: Path, tmp_path: Path, change: Change, code: str, facts: list[str]
) -> None:
    manifest = replay([{"text": "never"}])
    manifest["capabilities"] = {"shell": {"allow": ["ls"]}}
    change(manifest)
    write_manifest(project, manifest)
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    home = place.home / ".murmur"
    kept = [home / name for name in ("artifacts", "records", "sessions", "running")]
    before = snapshot(project, temporary, *filter(Path.exists, kept))
    seen = run_watched(
        place,
        tmp_path / "hook",
        "run",
        "--task",
        "go",
        cwd=project,
        environ={"TMPDIR": str(temporary)},
    )
    assert seen.done.returncode == 1 and f"error[{code}]" in seen.done.stderr
    allowed = ("/sys/fs/cgroup", "/dev/null", "/proc/self")
    written = [path for path in seen.written() if not path.startswith(allowed)]
    # Staging begins with seeing to it that ~/.murmur is there; here it is.
    assert set(written) <= {str(home)}
    assert seen.contacts() == []
    assert {Path(path).name for path in seen.children()} <= {"mur-sandbox"}
    assert snapshot(project, temporary, *filter(Path.exists, kept)) == before


def test_under_json_a_refused_launch_prints_nothing_on_standard_output(
    place: Place, project: Path
) -> None:
    manifest = replay([])
    _no_driver(manifest)
    write_manifest(project, manifest)
    done = place.mur("run", "--json", "--task", "go", cwd=project)
    assert (done.returncode, done.stdout) == (1, "")
    assert "error[E-RUN-005]" in done.stderr


def test_a_flipped_byte_in_the_store_is_refused_before_anything_runs(
    place: Place, project: Path
) -> None:
    write_manifest(project, replay([{"text": "x"}]))
    assert place.mur("install", cwd=project).returncode == 0
    archive = next((project / ".murmur" / "artifacts").rglob("tool-editor-0.1.0.mur.zip"))
    data = bytearray(archive.read_bytes())
    data[len(data) // 2] ^= 1
    archive.write_bytes(data)
    done = place.mur("run", "--task", "go", cwd=project)
    assert done.returncode == 1
    assert "error[E-REG-002]" in done.stderr and "local/tool-editor@0.1.0" in done.stderr
    assert not (project / "workdir").exists()


def test_a_lock_that_pins_other_bytes_is_refused(place: Place, project: Path) -> None:
    write_manifest(project, replay([{"text": "x"}]))
    assert place.mur("install", cwd=project).returncode == 0
    lock = project / "murmur.lock"
    text = lock.read_text()
    digest = next(line.split()[-1] for line in text.splitlines() if " any: " in line)
    lock.write_text(text.replace(digest, "f" * 64))
    done = place.mur("run", "--task", "go", cwd=project)
    assert done.returncode == 1
    assert "error[E-REG-002]" in done.stderr
    assert lock.read_text() == text.replace(digest, "f" * 64)


def test_a_home_that_cannot_be_used_is_refused_first(place: Place, project: Path) -> None:
    done = place.mur("run", "--task", "go", cwd=project, environ={"HOME": ""})
    assert done.returncode == 1
    assert "error[E-IO-004]" in done.stderr


def test_an_unknown_flag_is_a_usage_error(place: Place, project: Path) -> None:
    done = place.mur("run", "--no-such-flag", cwd=project)
    assert done.returncode == 2


def test_a_missing_manifest_is_named(place: Place, project: Path) -> None:
    done = place.mur("run", cwd=project)
    assert done.returncode == 1
    assert f"error[E-IO-001]: murmur.yaml not found at {project}/murmur.yaml" in done.stderr
    # And nothing else: the guests' process, ended in the middle of its start, has no word in it.
    assert len(done.stderr.splitlines()) == 2


def test_a_missing_helper_is_named_after_what_is_checked_before_it(
    place: Place, project: Path
) -> None:
    missing = {"MURMUR_SANDBOX_HELPER": "/no/mur-sandbox"}
    done = place.mur("run", cwd=project, environ=missing)
    assert "error[E-IO-001]" in done.stderr
    write_manifest(project, replay([{"text": "x"}]))
    done = place.mur("run", "--task", "go", cwd=project, environ=missing)
    assert (done.returncode, done.stdout) == (1, "status:  failed\n")
    assert "error[E-IO-003]" in done.stderr and "/no/mur-sandbox" in done.stderr
    assert not (project / "workdir").exists()
