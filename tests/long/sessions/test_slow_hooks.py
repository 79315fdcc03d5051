"""An async hook slower than its session. spec/artifacts.md 15.3.

It takes the whole time that the end of a session has for such hooks, fifteen seconds.
"""

from collections import Counter
from pathlib import Path

from tests.endtoend.capsule import Place, read_trace, write_manifest
from tests.endtoend.scenarios.calls import DONE, STYLE
from tests.endtoend.scenarios.hooks import hook
from tests.endtoend.scenarios.probes import publish_probes
from tests.endtoend.scenarios.scenario import Launch, Scenario, records_of, replay_with, tool

DEPTH = 1024
CALLS = 1100


def test_an_async_hook_that_falls_behind_drops_events_and_is_left_at_the_end(
    place: Place, project: Path, tmp_path: Path
) -> None:
    publish_probes(place, tmp_path)
    (project / "style").mkdir()
    (project / "style" / "SKILL.md").write_text("Be brief.\n")
    turns = [{"tool_calls": tool("style")["tool_calls"] * CALLS}, DONE]
    slow = hook("probe-aside", on_task_start=[["sleep", 28]])
    scenario = Scenario("", turns, [], {"artifacts": replay_with(turns, STYLE, slow)})
    write_manifest(project, scenario.capsule(Launch()))
    done = place.mur("run", "--task", "go", cwd=project)
    assert done.returncode == 0, done.stderr
    trace = read_trace(records_of(place, project))
    faults = [line for line in trace if line["event_type"] == "hook_dispatch_error"]
    *dropped, last = [(line["event"], line["arm"]) for line in faults]
    assert last == ("drain", "timeout")
    # Heard while it sleeps: two turns, every call, the task's end and the session's.
    assert {arm for _, arm in dropped} == {"queue-overflow"}
    assert len(dropped) == 2 + CALLS + 2 - DEPTH
    assert Counter(event for event, _ in dropped)["on-session-end"] == 1
    records = records_of(place, project)
    log = (records / "logs" / "hook-probe-aside.log").read_text()
    assert str(len(dropped)) in log
    assert trace[-1]["event_type"] == "session_end" and trace[-1]["exit_status"] == "ok"
