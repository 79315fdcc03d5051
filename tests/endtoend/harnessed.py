"""A project whose capsule runs the stand-in harness through the driver of tests/probes."""

import json
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx

from murmur.core.ids import new_id
from tests.endtoend.capsule import (
    TIMEOUT_SECONDS,
    Place,
    Running,
    read_trace,
    write_manifest,
)
from tests.probes.building import probe

Step = Sequence[Any]
DRIVER = "local/stand-in-driver"
HARNESS = Path(__file__).with_name("stand_in_harness.py")
PATH = "/usr/bin:/bin"


class Harnessed:
    """Writes capsules and runs them; what the harness is told is a list of steps."""

    def __init__(self, place: Place, project: Path) -> None:
        self.place = place
        self.project = project
        self.login = project.parent / "login"
        self.login.mkdir()
        self.work = project / "w"
        self.work.mkdir()
        self.program = project.parent / "programs" / "stand-in-harness"
        self.program.parent.mkdir()
        shutil.copy(HARNESS, self.program)
        self.program.chmod(0o755)
        self.publish_driver("stand-in-driver")

    def publish_driver(self, name: str, **keys: Any) -> str:
        """Publishes the stand-in's driver with further keys in its manifest; its full name."""
        source = self.project / name
        manifest = {"name": name, "version": "0.1.0", "runtime": "driver", **keys}
        write_manifest(source, {**manifest, "requires_files": ["capsule.wasm"]})
        shutil.copy(probe("process_driver_probe"), source / "capsule.wasm")
        built = self.place.mur("build", str(source), cwd=self.project)
        assert built.returncode == 0, built.stderr
        self.place.mur("publish", str(source / f"{name}-0.1.0.mur.zip"), cwd=self.project)
        return f"local/{name}"

    def driven_by(self, name: str, **capabilities: Any) -> dict[str, Any]:
        """Writes a capsule with another driver, and no lock of the one before."""
        (self.project / "murmur.lock").unlink(missing_ok=True)
        return self.capsule(
            artifacts=[{"name": name, "version": "0.1.0", "runtime": "driver"}],
            inference={"driver": {"artifact": name}},
            capabilities=capabilities,
        )

    def capsule(self, config: Mapping[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
        """Writes the capsule; `config` is its driver's."""
        driver: dict[str, Any] = {"artifact": DRIVER}
        if config is not None:
            driver["config"] = dict(config)
        inference = {"transport": "process", "driver": driver, "command": str(self.program)}
        manifest: dict[str, Any] = {
            "name": "harnessed",
            "version": "0.1.0",
            "artifacts": [
                {"name": DRIVER, "version": "0.1.0", "runtime": "driver"},
                {"name": "local/tool-editor", "version": "0.1.0", "runtime": "tool"},
            ],
            "inference": inference | changes.pop("inference", {}),
            "capabilities": {
                "env": {"allow": ["PATH", "STAND_IN_HOME", "STAND_IN_AUTH", "STAND_IN_VERSION"]},
                "harness": {"paths": [{"path": str(self.login), "access": "read-write"}]},
            }
            | changes.pop("capabilities", {}),
            "trace": {"capture": "content"},
        }
        manifest.update(changes)
        write_manifest(self.project, manifest)
        return manifest

    def environ(self, **more: str) -> dict[str, str]:
        return {"PATH": PATH, "STAND_IN_HOME": str(self.login), **more}

    def run(
        self, steps: Sequence[Step] | str, *arguments: str, **environ: str
    ) -> subprocess.CompletedProcess[str]:
        task = steps if isinstance(steps, str) else json.dumps(list(steps))
        return self.place.mur(
            "run",
            *("--workdir", "w", "--task", task),
            *arguments,
            cwd=self.project,
            environ=self.environ(**environ),
        )

    def start(self, *arguments: str, **environ: str) -> Running:
        """Starts the capsule without a task of its own."""
        return self.place.start(
            *("--workdir", "w"), *arguments, cwd=self.project, environ=self.environ(**environ)
        )

    def sleeping(self, note: str) -> Running:
        """Starts a capsule that waits for tasks, `note` in its work folder."""
        self.capsule(
            lifecycle={
                "task_acceptance": "queue",
                "after_task": "sleep",
                "conversation": "threaded",
                "queue_depth": 8,
            },
            capabilities={"shell": {"allow": ["ls"]}},
        )
        (self.work / "note.txt").write_text(note)
        return self.start()

    def send(
        self,
        running: Running,
        steps: Sequence[Step] | str,
        context: str | None = None,
        **headers: str,
    ) -> dict[str, Any]:
        """Sends a task to the door; the task as it is when it has ended."""
        text = steps if isinstance(steps, str) else json.dumps(list(steps))
        message = {"messageId": new_id("msg"), "role": "ROLE_USER", "parts": [{"text": text}]}
        if context is not None:
            message["contextId"] = context
        task = ask(running, "SendMessage", {"message": message}, **headers)["task"]
        end = time.monotonic() + TIMEOUT_SECONDS
        while task["status"]["state"] in ("TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"):
            assert time.monotonic() < end and running.process.poll() is None
            time.sleep(0.02)
            task = ask(running, "GetTask", {"id": task["id"]})
        running.wait_for_where("task_end", task_id=task["id"])
        ended: dict[str, Any] = task
        return ended

    @property
    def records(self) -> Path:
        """The newest session's."""
        root = self.place.home / ".murmur" / "records" / str(self.work.resolve())[1:]
        return max(root.iterdir(), key=lambda each: each.name)

    def trace(self) -> list[dict[str, Any]]:
        return read_trace(self.records)

    def lines(self, event: str) -> list[dict[str, Any]]:
        return [line for line in self.trace() if line["event_type"] == event]

    def seen(self) -> list[Any]:
        """What the steps of the newest run found."""
        answer: list[Any] = json.loads((self.records / "out" / "result.txt").read_text())
        return answer


def ask(running: Running, method: str, params: Mapping[str, Any], **headers: str) -> dict[str, Any]:
    """The result of one call of the door."""
    answer = httpx.post(
        running.url,
        json={"jsonrpc": "2.0", "id": 1, "method": method, "params": params},
        headers={"a2a-version": "1.0", **headers},
        timeout=60,
    ).json()
    result: dict[str, Any] = answer["result"]
    return result
