"""What a harness tries against the session that runs it. spec/artifacts.md 13.

Each attack is a task of one capsule, which has to outlive them all: a harness is a program that
strangers talk to.
"""

import itertools
import json
import os
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.endtoend.capsule import Place, Running
from tests.endtoend.harnessed import Harnessed, Step

ADDRESS = """
import json, os, socket
from urllib.parse import urlsplit
with open(os.environ["STAND_IN_FILES"] + "/bridge.json") as file:
    given = json.load(file)["bridge"]
url = urlsplit(given["url"])
place = url.hostname, url.port
"""


@pytest.fixture(scope="module")
def at(place: Place, tmp_path_factory: pytest.TempPathFactory) -> Harnessed:
    project = tmp_path_factory.mktemp("hostile") / "project"
    project.mkdir()
    return Harnessed(place, project)


@pytest.fixture(scope="module")
def running(at: Harnessed) -> Iterator[Running]:
    started = at.sleeping("one\n")
    try:
        yield started
        # Whatever was tried, nothing of it made the runtime fail within.
        code, _, complaint = started.end()
        assert code == 0 and "Traceback" not in complaint, complaint
        causes = [line.get("cause") for line in started.trace()]
        assert "runtime_error" not in causes
    finally:
        started.process.kill()


def does(at: Harnessed, running: Running, source: str, *more: Step, context: str = "") -> Any:
    """What a harness finds that runs this code."""
    task = at.send(running, [["do", source], *more, ["end"]], context or None)
    assert task["status"]["state"] == "TASK_STATE_COMPLETED", task
    (answer,) = (each for each in task["artifacts"] if each["name"] == "response")
    return json.loads(answer["parts"][0]["text"])[0]


def lines_of(running: Running, task: dict[str, Any], event: str) -> list[dict[str, Any]]:
    found = [line for line in running.trace() if line.get("task_id") == task["id"]]
    first = running.trace().index(found[0])
    last = running.trace().index(found[-1])
    between = running.trace()[first : last + 1]
    return [line for line in between if line["event_type"] == event]


def test_nothing_that_a_run_left_behind_meets_the_next(at: Harnessed, running: Running) -> None:
    leaves = """
import os, signal, time
found = os.fork()
if found == 0:
    os.setsid()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    time.sleep(120)  # with the run's output open
    os._exit(0)
"""
    looks = """
import os
found = []
for each in os.listdir("/proc"):
    if each.isdigit() and int(each) not in (1, os.getpid()):
        found.append(open(f"/proc/{each}/cmdline").read())
"""
    began = time.monotonic()
    assert does(at, running, leaves) > 0
    assert time.monotonic() - began < 60
    assert does(at, running, looks) == []


def test_a_token_is_worth_nothing_in_another_run(at: Harnessed, running: Running) -> None:
    token = does(at, running, ADDRESS + "found = given['bearer_token']")
    task = at.send(running, [["bridge", "tools/list", {}, token], ["end"]])
    (answer,) = (each for each in task["artifacts"] if each["name"] == "response")
    assert "401" in answer["parts"][0]["text"]
    assert token not in (running.records / "trace.jsonl").read_text()
    folder = at.place.home / ".murmur" / "sessions" / running.ready["session_id"] / "harness"
    assert list(folder.iterdir()) == []


def test_connections_beyond_some_are_cut_and_half_requests_end_in_nothing(
    at: Harnessed, running: Running
) -> None:
    source = """
held, cut = [], 0
for _ in range(80):
    held.append(socket.create_connection(place))
for each in held:
    each.settimeout(0.05)
    try:
        cut += each.recv(1) == b""
    except ConnectionError:
        cut += 1
    except TimeoutError:
        pass
for each in held:
    each.close()
found = cut
"""
    assert does(at, running, ADDRESS + source) == 48
    listed = does(at, running, "found = len(bridge('tools/list', {})['result']['tools'])")
    assert listed > 1


def test_calls_that_come_together_are_made_one_after_another(
    at: Harnessed, running: Running
) -> None:
    source = """
import threading
found = []
def calls():
    arguments = {"command": "note.txt"}
    found.append(bridge("tools/call", {"name": "ls", "arguments": arguments}))
threads = [threading.Thread(target=calls) for _ in range(8)]
for each in threads:
    each.start()
for each in threads:
    each.join()
"""
    answers = does(at, running, source)
    assert [each["result"]["isError"] for each in answers] == [False] * 8
    shells = [line for line in running.trace() if line["event_type"] == "shell"][-8:]
    ends = [(line["timestamp"] - line["duration_ms"], line["timestamp"]) for line in shells]
    # A start is known to the millisecond alone.
    assert all(later[0] >= earlier[1] - 2 for earlier, later in itertools.pairwise(ends))


def test_a_harness_that_shuts_its_output_and_ends_later_is_classified(
    at: Harnessed, running: Running
) -> None:
    source = "import os, time\ntell(text='x')\nos.close(1)\nos.close(2)\ntime.sleep(0.5)\n"
    task = at.send(running, [["do", source + "os._exit(4)"]])
    assert task["status"]["state"] == "TASK_STATE_FAILED"
    assert "code 4, signal None" in task["status"]["message"]["parts"][0]["text"]


def test_bytes_that_are_no_text_and_lines_that_are_none_do_no_harm(
    at: Harnessed, running: Running
) -> None:
    source = "import os\nos.write(1, bytes(range(256)) * 40 + b'\\n' * 300000 + b'\\r\\n\\0\\n')"
    task = at.send(running, [["do", source], ["end", "over"]])
    assert task["status"]["state"] == "TASK_STATE_COMPLETED"


DEEP = "nested = 'x'\nfor _ in range(400):\n    nested = [nested]\n"


def test_values_that_no_tool_could_take_are_refused_or_made_whole(
    at: Harnessed, running: Running
) -> None:
    (at.work / "\ufffd").write_text("half")
    half = "found = bridge('tools/call', {'name': 'tool-editor', 'arguments': {'operation': "
    half += "'read_file', 'path': chr(0xd800)}})['result']['content'][0]['text']"
    assert "half" in does(at, running, half)
    deep = "import urllib.error\ntry:\n    bridge('tools/call', {'name': 'ls', 'arguments': "
    deep += "{'a': nested}})\nexcept urllib.error.HTTPError as failure:\n    found = failure.code"
    assert does(at, running, DEEP + deep) == 400
    number = "import urllib.error\ntry:\n    bridge('tools/call', {'name': 'ls', 'arguments': "
    number += "{'a': float('nan')}})\nexcept urllib.error.HTTPError as failure:\n"
    assert does(at, running, number + "    found = failure.code") == 400


@pytest.mark.parametrize(
    "given", ['{"a": ' + "[" * 900 + "]" * 900 + "}", '{"a": NaN}', '{"a": 1e999}', "no JSON"]
)
def test_a_reported_call_whose_input_is_no_value_is_told_without_it(
    at: Harnessed, running: Running, given: str
) -> None:
    steps: list[Step] = [
        ["say", {"tool_call": {"id": "c", "name": "tool-editor", "input": given}}],
        ["say", {"tool_result": {"id": "c", "output": "said", "is-error": False}}],
        ["end", "over"],
    ]
    task = at.send(running, steps)
    assert task["status"]["state"] == "TASK_STATE_COMPLETED"
    (call,) = lines_of(running, task, "tool_call")
    assert (call["input"], call["input_bytes"]) == ({}, len(given))


def test_a_call_that_the_harness_keeps_silent_about_has_its_line(
    at: Harnessed, running: Running
) -> None:
    asked = {"name": "tool-editor", "arguments": {"operation": "read_file", "path": "note.txt"}}
    told = {"id": "c9", "name": "ls", "input": '{"command": "note.txt"}'}
    steps: list[Step] = [
        ["bridge", "tools/call", asked],
        ["say", {"tool_call": told}],
        ["bridge", "tools/call", {"name": "ls", "arguments": {"command": "note.txt"}}],
        ["end", "over"],
    ]
    task = at.send(running, steps)
    calls = lines_of(running, task, "tool_call")
    assert [(each["tool_name"], each.get("tool_call_id")) for each in calls] == [
        ("ls", "c9"),
        ("tool-editor", None),
    ]
    assert calls[1]["input"] == asked["arguments"] and calls[1]["state_effect"] == "read"
    (ended,) = lines_of(running, task, "task_end")
    assert ended["tool_calls"] == 2


@pytest.mark.parametrize(
    ("event", "named"),
    [
        ({"usage": {"input": 2**64 - 1, "output": 1}}, "input tokens"),
        ({"session_started": {"id": "i" * 5000, "auth": "subscription"}}, "1024 characters"),
        ({"session_started": {"id": "\x1b[2J", "auth": "subscription"}}, "not printed"),
    ],
    ids=["usage", "long-session", "escape"],
)
def test_an_event_that_nobody_could_keep_fails_the_run(
    at: Harnessed, running: Running, event: dict[str, Any], named: str
) -> None:
    context = f"ctx-{len(named)}-bad"
    task = at.send(running, [["say", {"text": "x"}], ["say", event], ["end"]], context)
    assert task["status"]["state"] == "TASK_STATE_FAILED"
    said = task["status"]["message"]["parts"][0]["text"]
    assert said.startswith("error[E-RUN-034]") and named in said and "\x1b" not in said
    kept = at.place.home / ".murmur" / "conversations" / "harnessed" / context
    (held,) = [each.read_text() for each in kept.iterdir()] if kept.exists() else [""]
    assert len(held) < 500


def test_counts_that_shrink_and_windows_without_an_end_are_taken_as_they_are(
    at: Harnessed, running: Running
) -> None:
    far = {"name": "w", "used": 1e300, "resets-at": 2**64 - 1, "window-minutes": 2**32 - 1}
    steps: list[Step] = [
        ["say", {"text": "x"}],
        ["say", {"usage": {"input": 50, "output": 5}}],
        ["say", {"usage": {"input": 2, "output": 6}}],
        ["say", {"quota": far}],
        ["print", '{"quota": {"name": "n", "used": NaN}}'],
        ["end", "over"],
    ]
    task = at.send(running, steps)
    (turn,) = lines_of(running, task, "inference")
    assert (turn["input_tokens"], turn["output_tokens"]) == (50, 6)
    one, other = lines_of(running, task, "harness_quota")
    assert one.get("resets_at_ms") is None and other["used"] is None
    shown = at.place.mur("trace", "show", str(running.records / "trace.jsonl"), cwd=at.project)
    assert shown.returncode == 0 and "quota w: used 1" in shown.stdout, shown.stderr


def test_a_harness_that_talks_without_an_end_fills_no_trace(
    at: Harnessed, running: Running
) -> None:
    source = "for each in range(3000):\n    print(f'note {each} ' + 'y' * 100)\n"
    task = at.send(running, [["do", source + "print('z' * (1 << 20))"], ["end", "over"]])
    notes = lines_of(running, task, "harness_note")
    assert len(notes) <= 1000 and "no more are kept" in notes[-1]["text"]
    assert task["status"]["state"] == "TASK_STATE_COMPLETED"


@pytest.mark.parametrize("planted", ["link", "pipe", "huge"])
def test_a_map_that_is_no_file_of_ours_is_neither_followed_nor_read_whole(
    at: Harnessed, running: Running, planted: str
) -> None:
    context = f"ctx-{planted}"
    at.send(running, [["end", "over"]], context)
    path = (
        at.place.home / ".murmur" / "conversations" / "harnessed" / context / "harness-session.json"
    )
    entry = path.read_text()
    path.unlink()
    elsewhere = at.project / f"elsewhere-{planted}"
    elsewhere.write_text(entry)
    if planted == "link":
        path.symlink_to(elsewhere)
    elif planted == "pipe":
        os.mkfifo(path)
    else:
        path.write_text(entry.rstrip()[:-1] + "," + " " * (1 << 17) + '"x": 1}')
    shown = at.place.mur("conversation", "show", context, "--json", cwd=at.project, seconds=20)
    assert shown.returncode == 1 and "error[E-IO-003]" in shown.stderr and context in shown.stderr
    task = at.send(running, [["end", "over"]], context)
    assert task["status"]["state"] == "TASK_STATE_COMPLETED"
    assert elsewhere.read_text() == entry and path.is_file() and not path.is_symlink()


def test_a_driver_does_not_say_where_the_runtime_directory_is(
    place: Place, tmp_path_factory: pytest.TempPathFactory
) -> None:
    project = tmp_path_factory.mktemp("alone") / "project"
    project.mkdir()
    at = Harnessed(place, project)
    at.capsule({"env": [["MURMUR_RUNTIME_DIR", "/elsewhere"], ["OTHER", "{files_dir}/x"]]})
    done = at.run([["environ"], ["end"]])
    assert done.returncode == 0, done.stderr
    (environ,) = at.seen()
    assert environ["MURMUR_RUNTIME_DIR"].endswith("/runtime")
    assert environ["OTHER"] == environ["STAND_IN_FILES"] + "/x"
    assert not os.path.exists(environ["STAND_IN_FILES"])
    at.capsule({"file": "x" * 300})
    done = at.run([["end"]])
    assert done.returncode == 1 and "error[E-RUN-034]" in done.stderr and "255 bytes" in done.stderr
