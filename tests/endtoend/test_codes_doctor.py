"""Each code that `mur doctor` raises or would expect of a launch, provoked through it."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from murmur.store.tests.components import wasm_zip
from tests.endtoend.capsule import Place
from tests.endtoend.ground import Case, Done, Ground

Provoke = Callable[[Ground], Done]

MEMBERS: list[dict[str, Any]] = [
    {"name": "lead", "capsule": "local/lead", "version": "0.1.0", "entry": True},
    {"name": "hand", "capsule": "local/hand", "version": "0.1.0"},
]


def granted(**capabilities: Any) -> Provoke:
    def provoke(ground: Ground) -> Done:
        ground.capsule(capabilities=capabilities)
        return ground.mur("doctor")

    return provoke


def roster(**changes: Any) -> Provoke:
    """Looks at a formation of two members with `changes` on top."""

    def provoke(ground: Ground) -> Done:
        document = {
            "roster_version": 1,
            "members": MEMBERS,
            **changes,
        }
        ground.write("roster.yaml", yaml.safe_dump(document))
        return ground.mur("doctor")

    return provoke


def _stale(ground: Ground) -> Done:
    ground.write("old.mur.zip", wasm_zip("stale-tool", exports=("murmur:tool/run@9.9.9",)))
    ground.mur("publish", "old.mur.zip")
    try:
        ground.capsule()
        return ground.mur("doctor")
    finally:
        # The home is every test's, and others look at a store without a misfit.
        shutil.rmtree(ground.place.home / ".murmur" / "artifacts" / "local" / "stale-tool")


def _home_inside(ground: Ground) -> Done:
    ground.capsule()
    home = ground.folder / "workdir" / "home"
    home.mkdir(parents=True)
    return ground.mur("doctor", HOME=str(home))


STAGED = [{"binary": "true", "source_path": "/opt/x", "pin": "1"}]
RUNTIME = [{"binary": "true", "dirs": [{"path": "/opt/x", "list_dir": False}]}]

# The head of the line, what it names, and the exit status.
FINDINGS = [
    (
        Case(
            "E-CAP-014",
            granted(env={"allow": ["NOWHERE"]}, spawn={"allow": ["local/x"]}),
            ("NOWHERE",),
        ),
        "error",
        1,
    ),
    (
        Case("E-CAP-004", granted(shell={"allow": ["true"], "staged_runtime": STAGED}), ("true",)),
        "warning",
        None,
    ),
    (
        Case("E-RUN-019", granted(spawn={"allow": ["local/x"]}), ("MURMUR_ROOST_URL",)),
        "warning",
        None,
    ),
    (Case("W-REG-003", _stale, ()), "warning", None),
    (
        Case(
            "W-SEC-009",
            granted(shell={"allow": ["true"], "interpreter_runtime": RUNTIME}),
            ("/opt/x",),
        ),
        "warning",
        None,
    ),
    (Case("W-SEC-033", _home_inside, ("workdir",)), "warning", None),
    (Case("E-ROS-001", roster(roster_version=2), ("roster.yaml", "roster_version")), "error", 1),
    (Case("E-ROS-002", roster(members=[MEMBERS[1]]), ("roster.yaml",)), "error", 1),
    (
        Case("E-ROS-003", roster(members=[MEMBERS[0], {**MEMBERS[1], "name": "lead"}]), ("lead",)),
        "error",
        1,
    ),
    (
        Case("E-ROS-004", roster(reachability=[{"from": "lead", "to": ["nobody"]}]), ("nobody",)),
        "error",
        1,
    ),
    (
        Case("E-ROS-008", roster(reachability=[{"from": "hand", "to": ["lead"]}]), ("lead",)),
        "error",
        1,
    ),
]


@pytest.mark.parametrize(
    ("case", "kind", "status"), FINDINGS, ids=lambda value: getattr(value, "code", "")
)
def test_doctor_prints_the_code_and_facts(
    place: Place, project: Path, case: Case, kind: str, status: int | None
) -> None:
    done = case.provoke(Ground(place, project))
    said = done.stdout + done.stderr
    head = f"{kind}[{case.code}]"
    assert head in said, said
    assert status is None or done.returncode == status, said
    for fact in case.facts:
        assert fact in said, said
