"""A scripted agent that calls tools, and what each call was answered."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.endtoend.capsule import Place, read_trace, replay, write_manifest

Call = tuple[str, Mapping[str, Any]]


class Agent:
    """A project whose scripted agent calls tools in the work folder `w`."""

    def __init__(self, place: Place, project: Path) -> None:
        self.place = place
        self.project = project
        self.work = project / "w"
        self.work.mkdir()
        self.complaint = ""

    def answers(
        self,
        *calls: Call,
        entries: Mapping[str, Mapping[str, Any]] | None = None,
        environ: Mapping[str, str] | None = None,
        **manifest: Any,
    ) -> list[Any]:
        """What each call was answered: the JSON of the result, else its text.

        `entries` is what stands in the entry of a tool besides its name.
        """
        turns = [{"tool_calls": [{"name": name, "input": given}]} for name, given in calls]
        capsule = replay([*turns, {"text": "done"}], trace={"capture": "content"}, **manifest)
        del capsule["artifacts"][1]
        for name in sorted({name for name, _ in calls}):
            entry = {"name": f"local/{name}", "version": "0.1.0", "runtime": "tool"}
            capsule["artifacts"].append({**entry, **(entries or {}).get(name, {})})
        return self.run(capsule, environ)

    def run(
        self, capsule: Mapping[str, Any], environ: Mapping[str, str] | None = None
    ) -> list[Any]:
        """The same of a whole manifest."""
        # Left by a run before this one, which may have had other artifacts.
        (self.project / "murmur.lock").unlink(missing_ok=True)
        write_manifest(self.project, capsule)
        done = self.place.mur(
            "run",
            *("--workdir", "w", "--task", "go"),
            cwd=self.project,
            # The system's own programs: a shim in front of them would want a shell.
            environ={"PATH": "/usr/bin:/bin", **(environ or {})},
        )
        assert done.returncode == 0, done.stderr
        self.complaint = done.stderr
        called = [line for line in self.trace() if line["event_type"] == "tool_call"]
        return [unfenced(line["output"]) for line in called]

    def trace(self) -> list[dict[str, Any]]:
        return read_trace(self.records())

    def records(self) -> Path:
        root = self.place.home / ".murmur" / "records" / str(self.work.resolve())[1:]
        return max(root.iterdir(), key=lambda each: each.name)


def unfenced(text: str) -> Any:
    inner = "\n".join(text.splitlines()[1:-1])
    try:
        return json.loads(inner)
    except ValueError:
        return inner
