"""The default skills, called in live sessions. spec/artifacts.md 10 and 16.4."""

import json
from pathlib import Path
from typing import Any

from tests.endtoend.capsule import Place, read_trace, replay, write_manifest

NAMES = ("skill-create-manifest", "skill-investigation-checkpoint")
CHECKPOINT = {
    "investigations": [
        {
            "stable_id": "lead:clock-skew",
            "verdict": "ruled-out",
            "confidence": 0.9,
            "rationale": "One worker ran: logs/ci.txt, line 20.",
        }
    ]
}


def test_the_model_reads_a_skill_by_calling_it_and_needs_no_grant(
    place: Place, project: Path
) -> None:
    edit = {
        "operation": "write_file",
        "dest_path": "checkpoints/decisions.json",
        "content": json.dumps(CHECKPOINT),
    }
    turns: list[dict[str, Any]] = [
        {"tool_calls": [{"name": NAMES[0], "input": {}}]},
        {
            "expect": r"Every key[\s\S]+`capabilities\.shell`[\s\S]+`allow`",
            "tool_calls": [{"name": NAMES[1], "input": {}}],
        },
        {
            "expect": r"checkpoints/decisions\.json[\s\S]+ruled-out",
            "tool_calls": [{"name": "tool-editor", "input": edit}],
        },
        {"text": "done"},
    ]
    manifest = replay(turns, trace={"capture": "content"})
    manifest["artifacts"] += [
        {"name": f"local/{name}", "version": "0.1.0", "runtime": "skill"} for name in NAMES
    ]
    write_manifest(project, manifest)
    (project / "work").mkdir()
    done = place.mur("run", "--json", "--task", "go", "--workdir", "work", cwd=project)
    assert done.returncode == 0, done.stderr
    written = json.loads((project / "work" / "checkpoints" / "decisions.json").read_text())
    assert written == CHECKPOINT
    trace = read_trace(Path(json.loads(done.stdout.splitlines()[0])["records_dir"]))
    assert [line["skill_name"] for line in trace if line["event_type"] == "skill_call"] == [*NAMES]
    assert [line["tool_name"] for line in trace if line["event_type"] == "tool_call"] == [
        "tool-editor"
    ]
