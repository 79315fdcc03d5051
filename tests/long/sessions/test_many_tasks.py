"""A session that sleeps between tasks lives as long as it is left: its memory does not grow.

Issue 7: a thousand tasks in one session with flat memory.
"""

import os
import time
from pathlib import Path
from typing import Any

import httpx

from tests.endtoend.capsule import Place, descendants, replay, write_manifest

TASKS = int(os.environ.get("MURMUR_TASKS", "1000"))
# By then the replay of frames and the tasks that are remembered have reached their bounds.
WARM = TASKS // 2
# MiB that the rest of the tasks may add over all of its processes; kept, they would add 32.
ROOM = 8
TEXT = "x" * 32_768


def _resident_mib(pid: int) -> float:
    """Memory that a process and everything below it hold, shared pages counted once each."""
    total = 0
    for each in (pid, *descendants(pid)):
        try:
            lines = Path(f"/proc/{each}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total / 1024


def _call(client: httpx.Client, url: str, method: str, **params: Any) -> dict[str, Any]:
    call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    found = client.post(url, json=call, headers={"a2a-version": "1.0"}).json()
    assert "result" in found, found
    result = found["result"]
    assert isinstance(result, dict)
    return result


def _run_task(client: httpx.Client, url: str, number: int) -> None:
    """Sends one task and waits until it is done."""
    message = {"messageId": f"m{number}", "role": "ROLE_USER", "parts": [{"text": TEXT}]}
    task = _call(client, url, "SendMessage", message=message)["task"]
    end = time.monotonic() + 120
    while task["status"]["state"] in ("TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"):
        assert time.monotonic() < end, task
        time.sleep(0.01)
        task = _call(client, url, "GetTask", id=task["id"])
    assert task["status"]["state"] == "TASK_STATE_COMPLETED", task


def test_a_thousand_tasks_leave_memory_flat(place: Place, project: Path) -> None:
    manifest = replay(
        [{"text": TEXT}],
        lifecycle={"task_acceptance": "queue", "after_task": "sleep", "queue_depth": 4},
        context={"record": "off"},
    )
    manifest["artifacts"][0]["config"]["on_exhausted"] = "repeat_last"
    write_manifest(project, manifest)
    running = place.start(cwd=project)
    try:
        with httpx.Client(timeout=120) as client:
            for number in range(WARM):
                _run_task(client, running.url, number)
            warm = _resident_mib(running.process.pid)
            for number in range(WARM, TASKS):
                _run_task(client, running.url, number)
            end = _resident_mib(running.process.pid)
    finally:
        status, _, complaint = running.end()
    print(f"memory: {warm:.1f} MiB after {WARM} tasks, {end:.1f} MiB after {TASKS}")
    assert (status, complaint) == (0, "")
    assert end - warm < ROOM
    kinds = [line["event_type"] for line in running.trace()]
    assert kinds.count("task_end") == TASKS and kinds[-1] == "session_end"
