"""Scripted sessions, launch after launch: the whole trace in order, status, and what is left."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.endtoend.capsule import TIMEOUT_SECONDS, Place, mur_command, replay, write_manifest
from tests.endtoend.scenarios import SCENARIOS
from tests.endtoend.scenarios.probes import publish_installables, publish_probes
from tests.endtoend.scenarios.scenario import (
    At,
    Ended,
    Launch,
    Scenario,
    records_of,
    writes,
)


@pytest.fixture(scope="session")
def ready(place: Place, tmp_path_factory: pytest.TempPathFactory) -> Place:
    """The home with the probe hooks, and what installs and is installed."""
    publish_probes(place, tmp_path_factory.mktemp("hooks"))
    publish_installables(place, tmp_path_factory.mktemp("installables"))
    return place


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_a_scripted_session(ready: Place, project: Path, scenario: Scenario) -> None:
    skill = project / "style" / "SKILL.md"
    skill.parent.mkdir()
    skill.write_text("Be brief.\n")
    for store in ("scripted", "shared"):
        # The home is shared by all scenarios; the first launch of each finds no conversation.
        ready.mur("conversation", "rm", "ctx_1", "--record", store, cwd=ready.home)
    for launch in scenario.launches:
        write_manifest(project, scenario.capsule(launch))
        check(_run(ready, project, launch), launch)


def check(ended: Ended, launch: Launch) -> None:
    """Everything that the launch says must have come of it."""
    trace = ended.trace if launch.events else []
    expected = [At(each) if isinstance(each, str) else each for each in launch.events]
    found = [line["event_type"] for line in trace]
    assert found == [each.kind for each in expected], ended.stderr
    for each, line in zip(expected, trace, strict=True):
        assert each.fits(line), (each, line)
    assert ended.files() == list(launch.files)
    if launch.result is not None:
        assert ended.result() == launch.result
    if launch.code is not None:
        assert f"error[{launch.code}]: " in ended.stderr
    session = ended.records.name
    home = ended.place.home / ".murmur"
    assert not (home / "sessions" / session).exists()
    assert not (home / "running" / f"{session}.json").exists()
    launch.check(ended)


def _run(place: Place, project: Path, launch: Launch) -> Ended:
    given = () if launch.task is None else ("--task", launch.task)
    arguments = (*given, *launch.arguments)
    if launch.drive is not None:
        running = place.start(*arguments, cwd=project)
        try:
            launch.drive(running)
            _, complaint = running.process.communicate(timeout=TIMEOUT_SECONDS)
        finally:
            running.process.kill()
        assert running.process.returncode == launch.exit_status, complaint
        return Ended(place, project, running.records, complaint)
    waiting = {"MURMUR_A2A_TIMEOUT_SECS": "0.1"}
    done = place.mur("run", *arguments, cwd=project, environ=waiting)
    assert done.returncode == launch.exit_status, (done.stdout, done.stderr)
    assert done.stdout.splitlines()[-1] == f"status:  {launch.status}"
    return Ended(place, project, records_of(place, project), done.stderr)


def test_two_launches_on_one_conversation_at_once_lose_no_message(
    place: Place, project: Path
) -> None:
    turns = [writes(f"file{number}", "x") for number in range(6)] + [{"text": "done"}]
    write_manifest(project, replay(turns))
    command = [*mur_command(), "run", "--task", "go", "--context", "ctx_both"]
    both = [
        subprocess.Popen(command, cwd=project, env=dict(place.environ), stdout=subprocess.DEVNULL)
        for _ in range(2)
    ]
    assert [each.wait(TIMEOUT_SECONDS) for each in both] == [0, 0]
    done = place.mur("conversation", "show", "ctx_both", "--json", cwd=project)
    messages = json.loads(done.stdout)["messages"]
    assert len({each["id"] for each in messages}) == len(messages) == 2 * 14
    for role, count in (("user", 1), ("assistant", 7), ("tool", 6)):
        assert sum(each["role"] == role for each in messages) == 2 * count
