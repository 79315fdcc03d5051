"""Tiers below Full, forced: whole sessions with their documented warnings.

spec/containment.md 2, 19.4 and 25, design/decisions.md 5 and 9.
"""

import json
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.endtoend.capsule import Place, read_trace, replay, shell_turn
from tests.endtoend.ground import Case, Done, Ground, check_refused, check_warned

# The runtime on a system that it takes for another; what is below Python stays Linux.
ELSEWHERE = """
import sys, sysconfig
sysconfig.get_config_vars()  # the interpreter's own, by its platform's name
sys.platform = "darwin"
from murmur.cli.main import main
sys.exit(main())
"""
NO_LANDLOCK = {"landlock": "failed landlock_create_ruleset 38 landlock"}
NO_SECCOMP = {"seccomp": "failed seccomp 22 seccomp"}
TURNS = [
    shell_turn("sh", 'echo "$HOME" > home; cat /etc/hostname; echo ran > proof'),
    {"text": "it ran"},
]


@pytest.fixture(scope="module")
def ground(place: Place, tmp_path_factory: pytest.TempPathFactory) -> Ground:
    return Ground(place, tmp_path_factory.mktemp("tiers"))


@pytest.fixture
def work(ground: Ground) -> Iterator[Path]:
    folder = ground.folder / "work"
    folder.mkdir()
    yield folder
    shutil.rmtree(folder)


def session(ground: Ground, work: Path, *allow: str, **capabilities: Any) -> None:
    ground.capsule(
        artifacts=replay(TURNS)["artifacts"],
        capabilities={"shell": {"allow": [*allow, "sh", "cat"]}, **capabilities},
        trace={"capture": "content"},
    )


def ran(done: Done, ground: Ground, work: Path) -> list[dict[str, Any]]:
    """The trace of a session that went its whole way, its command having run in its own home."""
    assert done.returncode == 0, (done.stdout, done.stderr)
    assert "status:  ok" in done.stdout
    assert (work / "proof").read_text() == "ran\n"
    records = Path((work / "home").read_text().strip()).parent
    lines = read_trace(records)
    events = [line["event_type"] for line in lines]
    assert events[0] == "session_start" and events[-1] == "session_end"
    assert "shell" in events
    log = (records / "logs" / "bootstrap.log").read_text()
    for line in done.stderr.splitlines():
        code = line.partition("warning[")[2].partition("]")[0]
        if code in ("W-SEC-001", "W-SEC-002", "W-SEC-010", "W-SEC-035"):
            assert code in log
    return lines


def test_a_session_without_landlock_runs_and_says_what_is_left(ground: Ground, work: Path) -> None:
    session(ground, work)
    done = ground.run("--workdir", str(work), **ground.host(**NO_LANDLOCK))
    lines = ran(done, ground, work)
    check_warned(Case("W-SEC-002", lambda _: done, ("landlock_create_ruleset",)), done)
    assert "W-SEC-005" not in done.stderr
    assert lines[0]["containment_achieved"] == "advisory"
    boundary = _explained(ground, **ground.host(**NO_LANDLOCK))["filesystem_boundary"]
    assert boundary["restriction"] == "advisory" and boundary["not_protected"]


def test_a_session_without_seccomp_runs_by_its_environment_alone(
    ground: Ground, work: Path
) -> None:
    session(ground, work)
    host = ground.host(**NO_SECCOMP)
    done = ground.run("--workdir", str(work), **host)
    lines = ran(done, ground, work)
    check_warned(Case("W-SEC-001", lambda _: done), done)
    for absent in ("W-SEC-002", "W-SEC-005", "W-SEC-010"):
        assert absent not in done.stderr
    assert lines[0]["containment_achieved"] == "advisory"
    report = _explained(ground, **host)
    assert report["enforcement_tier"] == "none"


def test_a_session_on_another_system_runs_and_says_that_nothing_bounds_its_commands(
    ground: Ground, work: Path
) -> None:
    session(ground, work)
    done = ground.execute(
        [sys.executable, "-c", ELSEWHERE, "run", "--task", "go", "--workdir", str(work)]
    )
    lines = ran(done, ground, work)
    check_warned(Case("W-SEC-001", lambda _: done), done)
    check_warned(Case("W-SEC-010", lambda _: done), done)
    scope = lines[0]["effective_grants"]["cgroup_scope"]
    assert scope["status"] == "not-probed"


def test_a_floor_is_refused_there_by_name(ground: Ground, work: Path) -> None:
    session(ground, work)
    done = ground.run("--containment", "scoped", **ground.host(**NO_LANDLOCK))
    assert done.returncode == 1
    assert "error[E-CAP-003]" in done.stderr and "no usable Landlock" in done.stderr
    assert not (work / "proof").exists()


def test_a_waived_cgroup_bounds_tasks_by_rlimit(ground: Ground, work: Path) -> None:
    session(ground, work)
    config = ground.place.home / ".murmur" / "config.yaml"
    config.write_text("sandbox: {cgroup: optional}\n")
    config.chmod(0o600)
    try:
        done = ground.without_cgroups("run", "--task", "go", "--workdir", str(work))
    finally:
        config.unlink()
    lines = ran(done, ground, work)
    check_warned(Case("W-SEC-035", lambda _: done, ("rlimits alone",)), done)
    scope = lines[0]["effective_grants"]["cgroup_scope"]
    assert scope["status"] == "unavailable" and "sandbox.cgroup" in scope["reason"]


def test_w_sec_021_says_that_disk_traffic_is_not_bounded(ground: Ground) -> None:
    """A work folder in memory lies on no disk that could be slowed down."""
    memory = Path("/dev/shm", f"murmur-test-{os.getpid()}")
    memory.mkdir(mode=0o700)
    try:
        session(ground, memory)
        done = ground.run("--workdir", str(memory))
        lines = ran(done, ground, memory)
    finally:
        shutil.rmtree(memory)
    check_warned(Case("W-SEC-021", lambda _: done, ("104857600", "no block device")), done)
    bound = lines[0]["effective_grants"]["io_max"]
    assert bound["status"] == "unavailable"


def test_w_sec_013_says_that_the_whole_host_gives_user_namespaces_away(
    ground: Ground, work: Path
) -> None:
    """A kernel with AppArmor whose restriction is off, as its module's parameters tell it."""
    unshare = shutil.which("unshare")
    if os.geteuid() != 0 or unshare is None:
        pytest.skip("needs root and unshare to cover /sys/module")
    session(ground, work)
    cover = (
        "mount -t tmpfs none /sys/module && mkdir -p /sys/module/apparmor/parameters && "
        "cd /sys/module/apparmor/parameters && echo Y > enabled && "
        'echo 0 > restrict_unprivileged_userns && cd "$0" && exec "$@"'
    )
    done = ground.under(
        [unshare, "--mount", "sh", "-c", cover, str(ground.folder)],
        "run", "--task", "go", "--workdir", str(work),
    )  # fmt: skip
    lines = ran(done, ground, work)
    check_warned(Case("W-SEC-013", lambda _: done), done)
    assert done.stderr.count("warning[W-SEC-013]") == 1
    assert lines[0]["userns_grant"] == "restriction_disabled_host_wide"


def without_user_namespaces() -> list[str]:
    """What runs a command where no further user namespace can be made."""
    unshare = shutil.which("unshare")
    if os.geteuid() != 0 or unshare is None:
        pytest.skip("needs root and unshare to take user namespaces away")
    forbid = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"'
    return [unshare, "--user", "--map-root-user", "sh", "-c", forbid, "sh"]


def test_w_sec_034_names_the_routes_outside_the_class_where_there_are_no_namespaces(
    ground: Ground,
) -> None:
    """A capsule with guests alone runs on such a host; it is no ground for a refusal."""
    ground.capsule(artifacts=replay([{"text": "done"}])["artifacts"])
    done = ground.under(without_user_namespaces(), "run", "--task", "go")
    check_warned(Case("W-SEC-034", lambda _: done, ("drivers", "unshare")), done)
    check_warned(Case("W-SEC-034", lambda _: done, ("wasm-tools", "unshare")), done)
    assert "status:  ok" in done.stdout


@pytest.mark.parametrize("floor", [None, "advisory", "scoped"])
def test_a_capsule_with_commands_is_refused_there_at_every_class(
    ground: Ground, work: Path, floor: str | None
) -> None:
    session(ground, work)
    sessions = ground.place.home / ".murmur" / "sessions"
    before = sorted(sessions.iterdir()) if sessions.exists() else []
    asked = [] if floor is None else ["--containment", floor]
    done = ground.under(
        without_user_namespaces(), "run", "--task", "go", "--workdir", str(work), *asked
    )
    facts = ("unshare failed with ENOSPC", "sysctl user.max_user_namespaces=10000")
    check_refused(Case("E-CAP-005", lambda _: done, facts), done)
    assert list(work.iterdir()) == []
    assert (sorted(sessions.iterdir()) if sessions.exists() else []) == before


def _explained(ground: Ground, **environ: str) -> dict[str, Any]:
    done = ground.mur("run", "--explain-scope", "--json", **environ)
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    return report
