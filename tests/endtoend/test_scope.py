"""`mur run --explain-scope` and `--containment`. CLI reference, *mur run*; diagnostics 6.2."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.endtoend.capsule import Place, read_trace, replay, shell_turn, write_manifest
from tests.endtoend.watching import run_watched, snapshot

Change = Callable[[dict[str, Any]], None]
EXPLAIN = ("run", "--explain-scope")


@pytest.fixture
def fresh(place: Place, tmp_path: Path) -> Place:
    """A home that murmur has never seen."""
    home = tmp_path / "home"
    home.mkdir()
    return Place(home, {**place.environ, "HOME": str(home)})


def _bare(manifest: dict[str, Any]) -> None:
    """Nothing installed, and every kind of grant."""
    manifest["capabilities"] = {
        "shell": {"allow": ["ls", "sh"]},
        "network": {"allow": ["https://example.com"]},
        "filesystem": {"scope": "sub", "read_only": ["tests"]},
        "state": {"store": "kept"},
    }
    manifest["artifacts"].append(
        {"name": "local/keeper", "version": "1", "capabilities": {"state": {"store": "kept"}}}
    )


def test_it_leaves_no_file_no_directory_and_no_contact(
    fresh: Place, project: Path, tmp_path: Path
) -> None:
    manifest = replay([])
    _bare(manifest)
    write_manifest(project, manifest)
    (tmp_path / "tmp").mkdir()
    temporary = {"TMPDIR": str(tmp_path / "tmp")}
    before = snapshot(fresh.home, project, tmp_path / "tmp")
    for more in ((), ("--json",), ("--workdir", str(tmp_path / "nowhere"))):
        seen = run_watched(
            fresh, tmp_path / "hook", *EXPLAIN, *more, cwd=project, environ=temporary
        )
        assert seen.done.returncode == 0, seen.done.stderr
        outside = [
            path
            for path in seen.written()
            if not path.startswith(("/sys/fs/cgroup", "/dev/null", "/proc/self"))
        ]
        assert outside == []
        assert seen.contacts() == []
        assert {Path(path).name for path in seen.children()} <= {"mur-sandbox"}
    assert snapshot(fresh.home, project, tmp_path / "tmp") == before
    assert not (tmp_path / "nowhere").exists()


def _no_name(manifest: dict[str, Any]) -> None:
    del manifest["name"]


def _reserved(manifest: dict[str, Any]) -> None:
    manifest["artifacts"].append({"name": "local/submit-plan", "version": "1"})


def _twice(manifest: dict[str, Any]) -> None:
    manifest["artifacts"].append({"name": "other/tool-editor", "version": "1"})


def _capsule_scope(manifest: dict[str, Any]) -> None:
    manifest["capabilities"] = {"filesystem": {"scope": "/etc"}}


def _entry_scope(manifest: dict[str, Any]) -> None:
    manifest["artifacts"][1]["capabilities"] = {"filesystem": {"scope": "../up"}}


def _store(manifest: dict[str, Any]) -> None:
    manifest["artifacts"][1]["capabilities"] = {"state": {"store": "a/b"}}


def _config(manifest: dict[str, Any]) -> None:
    manifest["artifacts"][1]["config"] = [1]


def _backstop(manifest: dict[str, Any]) -> None:
    manifest["capabilities"] = {"env": {"allow": ["GITHUB_TOKEN"]}}


def _keyless(manifest: dict[str, Any]) -> None:
    manifest["artifacts"][0]["gateway"] = {"endpoint": "https://x.example"}


def _as_it_is(manifest: dict[str, Any]) -> None:
    pass


@pytest.mark.parametrize(
    ("change", "flags", "code"),
    [
        pytest.param(_no_name, (), "E-MAN-001", id="name"),
        pytest.param(_keyless, (), "E-CAP-018", id="key"),
        pytest.param(_reserved, (), "E-CAP-013", id="reserved"),
        pytest.param(_twice, (), "E-CAP-020", id="bare names"),
        pytest.param(_capsule_scope, (), "E-CAP-002", id="scope"),
        pytest.param(_entry_scope, (), "E-CAP-002", id="entry's scope"),
        pytest.param(_store, (), "E-CAP-009", id="store"),
        pytest.param(_config, (), "E-CAP-010", id="config"),
        pytest.param(_backstop, (), "E-CAP-016", id="backstop"),
        pytest.param(_as_it_is, ("--containment", "tight"), "E-IO-003", id="class"),
        pytest.param(_as_it_is, ("--lifecycle-after-task", "rest"), "E-IO-003", id="after"),
        pytest.param(_as_it_is, ("--lifecycle-task-acceptance", "many"), "E-IO-003", id="accept"),
    ],
)
def test_it_refuses_this_and_leaves_nothing(
    fresh: Place, project: Path, change: Change, flags: tuple[str, ...], code: str
) -> None:
    manifest = replay([])
    change(manifest)
    write_manifest(project, manifest)
    before = snapshot(fresh.home, project)
    done = fresh.mur(*EXPLAIN, "--json", *flags, cwd=project)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines()[-1].startswith("  hint: ") or code in done.stderr
    assert f"error[{code}]: " in done.stderr
    assert snapshot(fresh.home, project) == before


def test_a_home_that_cannot_hold_murmurs_own_is_refused(place: Place, project: Path) -> None:
    write_manifest(project, replay([]))
    for home in ("", "relative", str(project / "murmur.yaml")):
        done = place.mur(*EXPLAIN, cwd=project, environ={"HOME": home})
        assert done.returncode == 1 and "error[E-IO-004]: " in done.stderr


def _bad_rule(manifest: dict[str, Any]) -> None:
    manifest["capabilities"] = {"network": {"allow": ["https://example.com/path"]}}


def _climbing(manifest: dict[str, Any]) -> None:
    manifest["capabilities"] = {"filesystem": {"read_only": ["../x"]}}


def _staged(manifest: dict[str, Any]) -> None:
    staged = [{"binary": "ls", "source_path": "/opt/ls", "pin": "1"}]
    manifest["capabilities"] = {"shell": {"allow": ["ls"], "staged_runtime": staged}}


def _executes(manifest: dict[str, Any]) -> None:
    manifest["capabilities"] = {"filesystem": {"workdir_exec": True}, "containment": "scoped"}


def _sealed(manifest: dict[str, Any]) -> None:
    manifest["capabilities"] = {"filesystem": {"workdir_exec": True}, "containment": "sealed"}


def _no_driver(manifest: dict[str, Any]) -> None:
    del manifest["inference"]["driver"]


def _unset_key(manifest: dict[str, Any]) -> None:
    gateway = {"endpoint": "https://x.example", "api_key": "${NOBODY_SETS_THIS}"}
    manifest["artifacts"][0]["gateway"] = gateway


@pytest.mark.parametrize(
    ("change", "code", "fact"),
    [
        pytest.param(_bad_rule, "E-CAP-001", "https://example.com/path", id="rule"),
        pytest.param(_climbing, "E-CAP-012", "../x", id="read-only"),
        pytest.param(_staged, "E-CAP-004", "ls", id="staged runtime"),
        pytest.param(_executes, "E-CAP-003", "workdir_exec", id="workdir exec"),
        pytest.param(_sealed, "E-CAP-003", "class sealed", id="floor"),
        pytest.param(_no_driver, "E-RUN-005", "inference.driver.artifact", id="driver"),
    ],
)
def test_what_a_launch_is_refused_for_is_reported_with_exit_0(
    place: Place, project: Path, change: Change, code: str, fact: str
) -> None:
    manifest = replay([])
    change(manifest)
    write_manifest(project, manifest)
    shown = place.mur(*EXPLAIN, cwd=project)
    assert shown.returncode == 0, shown.stderr
    trailer = shown.stdout.partition("\nmur run would refuse this launch:\n")[2]
    assert any(f"  - {code}: " in line and fact in line for line in trailer.splitlines())
    as_json = place.mur(*EXPLAIN, "--json", cwd=project)
    assert as_json.returncode == 0 and len(as_json.stdout.splitlines()) == 1
    json.loads(as_json.stdout)
    assert f"  - {code}: " in as_json.stderr
    launched = place.mur("run", "--task", "go", cwd=project)
    assert launched.returncode == 1
    met = launched.stderr.partition("error[")[2].partition("]")[0]
    assert f"  - {met}: " in trailer


def test_a_key_that_nobody_sets_is_reported_without_asking_a_store(
    fresh: Place, project: Path
) -> None:
    manifest = replay([])
    _unset_key(manifest)
    write_manifest(project, manifest)
    done = fresh.mur(*EXPLAIN, cwd=project)
    assert done.returncode == 0
    assert "  - E-MAN-003: murmur.yaml:" in done.stdout and "NOBODY_SETS_THIS" in done.stdout


def test_an_unmet_floor_is_reported_with_its_reason(fresh: Place, project: Path) -> None:
    manifest = replay([])
    _sealed(manifest)
    write_manifest(project, manifest)
    done = fresh.mur(*EXPLAIN, "--json", cwd=project)
    report = json.loads(done.stdout)
    assert done.returncode == 0
    assert (report["declared_containment"], report["floor_met"]) == ("sealed", False)
    assert report["shortfall_reason"]


def test_the_floor_is_the_strongest_of_manifest_configuration_and_flag(
    fresh: Place, project: Path
) -> None:
    manifest = replay([])
    manifest["capabilities"] = {"containment": "scoped"}
    write_manifest(project, manifest)
    (project / ".murmur").mkdir()
    for config, flag, floor in (
        ("advisory", "advisory", "scoped"),
        ("sealed", "advisory", "sealed"),
        ("advisory", "sealed", "sealed"),
    ):
        (project / ".murmur" / "config.yaml").write_text(f"containment: {config}\n")
        done = fresh.mur(*EXPLAIN, "--json", "--containment", flag, cwd=project)
        assert json.loads(done.stdout)["declared_containment"] == floor


def test_a_launch_below_its_floor_is_refused_and_leaves_nothing(
    fresh: Place, project: Path
) -> None:
    write_manifest(project, replay([]))
    before = snapshot(fresh.home, project)
    done = fresh.mur("run", "--task", "go", "--containment", "tight", cwd=project)
    assert done.returncode == 1 and "error[E-IO-003]: --containment tight" in done.stderr
    assert snapshot(fresh.home, project) == before


def test_session_start_records_the_very_report(place: Place, project: Path) -> None:
    manifest = replay([shell_turn("ls", "-l"), {"text": "done"}])
    manifest["capabilities"] = {
        "shell": {"allow": ["ls", "sh"]},
        "network": {"allow": ["https://example.com"]},
        "env": {"allow": ["EDITOR"]},
        "filesystem": {"scope": "sub"},
    }
    write_manifest(project, manifest)
    explained = place.mur(*EXPLAIN, "--json", cwd=project)
    assert explained.returncode == 0, explained.stderr
    assert "would refuse" not in explained.stderr
    ran = place.mur("run", "--json", "--task", "go", cwd=project)
    assert ran.returncode == 0, ran.stderr
    start = read_trace(Path(json.loads(ran.stdout)["records_dir"]))[0]
    report = json.loads(explained.stdout)
    assert start["effective_grants"] == report
    assert list(start["effective_grants"]) == list(report)
    assert start["containment_declared"] == report["declared_containment"]
    assert start["containment_achieved"] == report["achieved_containment"]


def test_the_warnings_of_the_manifest_are_printed_and_the_prompt_is_inert(
    fresh: Place, project: Path
) -> None:
    manifest = replay([], trase={})
    manifest["capabilities"] = {"env": {"allow": ["MY_SECRET_NAME"]}}
    manifest["artifacts"][1]["gateway"] = {"endpoint": "https://x.example", "api_key": "lit-eral"}
    write_manifest(project, manifest)
    done = fresh.mur(*EXPLAIN, "--system-prompt", "x", cwd=project)
    assert done.returncode == 0
    for code in ("W-SEC-019", "W-SEC-024", "W-SEC-027", "W-SEC-030"):
        assert f"warning[{code}]: " in done.stderr
    for code in ("W-SEC-005", "W-SEC-022", "W-SEC-033"):
        assert code not in done.stderr
    assert "lit-eral" not in done.stdout + done.stderr


def test_the_sleeping_capsule_that_a_flag_makes_is_previewed(fresh: Place, project: Path) -> None:
    manifest = replay([])
    manifest["capabilities"] = {"env": {"allow": ["MY_SECRET_NAME"]}}
    write_manifest(project, manifest)
    told = fresh.mur(*EXPLAIN, cwd=project).stderr
    sleeping = fresh.mur(*EXPLAIN, "--lifecycle-after-task", "sleep", cwd=project).stderr
    assert told != sleeping and "sleeps" in sleeping
