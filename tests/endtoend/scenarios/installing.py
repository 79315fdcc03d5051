"""What the tools of an agent install while it runs, and when the model is told of it.

spec/sessions.md 11.1 and 15.9; spec/registry.md 18. `managing-probe` is
tests/probes/managing_probe.py, `probe-manners` a skill and `probe-program` a native tool; the
capsules declare none of the latter two, and no tool-editor.
"""

import json
from typing import Any, Final

import yaml

from tests.endtoend.scenarios.calls import DONE, submitted
from tests.endtoend.scenarios.conversations import CONTENT
from tests.endtoend.scenarios.hooks import BUDGET, LONG, ONE, hook
from tests.endtoend.scenarios.scenario import (
    Ended,
    Expected,
    Launch,
    Scenario,
    alone,
    at,
    driver,
    replay_with,
    tool,
    writes,
)

INSTALLER: Final = {"name": "local/managing-probe", "version": "0.1.0", "runtime": "tool"}
INSTALL: Final = {"install": {"skill": ["local/probe-*"], "tool": ["local/*"]}}
MANNERS: Final = ("pull", "local/probe-manners", "0.1.0")
EDITOR: Final = ("pull", "local/tool-editor", "0.1.0")
ALWAYS: Final = ["managing-probe", "session-status"]
PLANS: Final = [*ALWAYS, "submit-plan"]
BOTH: Final = ["probe-manners", "tool-editor"]
WITH_BOTH: Final = sorted([*PLANS, *BOTH])
WITH_MANNERS: Final = sorted([*PLANS, "probe-manners"])
# What a hook has nothing to say to: a call before it is made, and after.
HEARD: Final = [["sleep", 0], ["sleep", 0]]
# One refusal a step, in their order.
NOT_GRANTED: Final = ".*".join(
    f"not-granted: {reason}"
    for reason in (
        "local/driver-replay is a driver",
        "no capabilities.install entry matches other/tool-editor",
        "local/session-status has the name of a tool that the runtime itself provides",
        "local/probe-manners has the name of a command",
        "local/probe-program is a native tool",
        "local/tool-editor is a tool",
        "murmur.yaml declares local/managing-probe",
    )
)


def asks(*steps: tuple[str, ...]) -> dict[str, Any]:
    """A turn that has the probe do these steps."""
    return tool("managing-probe", steps=[list(step) for step in steps])


def installing(
    name: str,
    turns: list[dict[str, Any]],
    events: list[Expected],
    *more: dict[str, Any],
    **manifest: Any,
) -> Scenario:
    """A capsule with the probe, launched once; `more` of its artifacts besides."""
    given = replay_with(turns, INSTALLER, *more)
    artifacts = [each for each in given if each["name"] != "local/tool-editor"]
    check, files = manifest.pop("check", lambda ended: None), manifest.pop("files", ())
    launch = Launch(events=events, check=check, files=files)
    return Scenario(name, turns, [launch], {**CONTENT, **manifest, "artifacts": artifacts})


def pulled(name: str, runtime: str) -> Expected:
    return at(
        "artifact_pulled",
        name=f"local/{name}",
        runtime=runtime,
        origin="runtime",
        trust="untrusted",
    )


def refreshed(turn: int, trigger: str, tools: list[str], **changes: list[str]) -> Expected:
    listed = {"added": [], "removed": [], "tools": tools, **changes}
    return at("tools_refreshed", turn=turn, trigger=trigger, **listed)


def written(path: str) -> dict[str, str]:
    return {"operation": "write_file", "dest_path": path, "content": "x"}


def sent(ended: Ended) -> list[list[str]]:
    """The names of the tools that each request of the model was sent."""
    found = []
    for line in ended.lines("inference"):
        text = (ended.records / "blobs" / line["tools_sha"]).read_text()
        found.append([each["name"] for each in json.loads(text)])
    return found


def pins(ended: Ended) -> dict[str, str]:
    lock = yaml.safe_load((ended.project / "murmur.lock").read_text())
    return {each["name"]: each["origin"] for each in lock["artifacts"]}


def followed_at_once(ended: Ended) -> None:
    assert sent(ended) == [PLANS, *[WITH_BOTH] * 4, WITH_MANNERS, WITH_MANNERS]
    assert pins(ended) == {
        "local/driver-replay": "operator",
        "local/managing-probe": "operator",
        "local/probe-manners": "runtime",
    }
    done = ended.place.mur("trace", "show", str(ended.records / "trace.jsonl"), cwd=ended.project)
    rows = [" ".join(line.split()) for line in done.stdout.splitlines() if "refreshed:" in line]
    assert rows == [
        "refreshed: turn 1 immediate +probe-manners, tool-editor",
        "refreshed: turn 5 immediate -tool-editor",
    ], done.stdout


def followed_with_the_compaction(ended: Ended) -> None:
    assert sent(ended) == [*[ALWAYS] * 4, [*ALWAYS, "tool-editor"]]


INSTALLING: Final = [
    installing(
        "what a tool pulled is offered with the next turn, and what it removed is gone with it",
        [
            asks(MANNERS, EDITOR),
            tool("probe-manners"),
            {
                **submitted({"id": "a", "tool": "tool-editor", "input": written("a")}),
                "expect": "<untrusted-content source=tool:probe-manners>\nBe kind",
            },
            tool("tool-editor", path="b"),
            asks(("remove", "local/tool-editor")),
            writes("b", "x"),
            DONE,
        ],
        alone(
            "inference",
            pulled("probe-manners", "skill"),
            pulled("tool-editor", "tool"),
            at("tool_call", tool_name="managing-probe", status="ok"),
            refreshed(1, "immediate", WITH_BOTH, added=BOTH),
            "inference",
            at("skill_call", origin="runtime", trust="untrusted"),
            "inference",
            "plan_start",
            at("plan_step_start", kind="tool"),
            at("plan_step", status="success"),
            "plan_end",
            at("tool_call", tool_name="submit-plan", status="ok"),
            "inference",
            at("tool_input_refused", tool_name="tool-editor", missing=["operation"]),
            at("tool_call", tool_name="tool-editor", status="error"),
            "inference",
            at("tool_call", tool_name="managing-probe", status="ok"),
            refreshed(5, "immediate", WITH_MANNERS, removed=["tool-editor"]),
            "inference",
            at("tool_call", tool_name="tool-editor", status="error"),
            "inference",
        ),
        **driver(tool_refresh="immediate"),
        capabilities={**INSTALL, "plan": {"submit": True}},
        files=["a"],
        check=followed_at_once,
    ),
    installing(
        "a pulled tool passes the gate, is callable at once, and offered after a compaction",
        [
            asks(EDITOR),
            writes("kept/b", "x"),
            writes("a", "x"),
            {"text": LONG, **writes("b", "x")},
            {"when": {"newest": "not that"}, "text": "done"},
        ],
        alone(
            "inference",
            pulled("tool-editor", "tool"),
            at("tool_call", tool_name="managing-probe", status="ok"),
            "inference",
            at("protected_path_denied", call="tool", rule="kept"),
            "inference",
            at("tool_call", tool_name="tool-editor", status="ok"),
            "inference",
            "compaction",
            at("call_denied", event="on-tool-call", hook_name="probe-denies"),
            refreshed(4, "compaction", [*ALWAYS, "tool-editor"], added=["tool-editor"]),
            "inference",
            at("compaction_declined", reason="no_hook_replacement"),
        ),
        hook("probe-compacts", on_compaction=ONE),
        hook("probe-denies", on_tool_call=[*HEARD * 2, ["deny", "not that"]]),
        **driver(max_tokens=1000, compaction={"threshold": 0.5}),
        **BUDGET,
        capabilities={**INSTALL, "filesystem": {"read_only": ["kept"]}},
        files=["a"],
        check=followed_with_the_compaction,
    ),
    installing(
        "what may not be pulled is answered not-granted, and no list changes",
        [
            asks(
                ("pull", "local/driver-replay", "0.1.0"),
                ("pull", "other/tool-editor", "0.1.0"),
                ("pull", "local/session-status", "0.1.0"),
                MANNERS,
                ("pull", "local/probe-program", "0.1.0"),
                EDITOR,
                ("remove", "local/managing-probe"),
            ),
            {"text": "done", "expect": NOT_GRANTED},
        ],
        alone("inference", at("tool_call", status="ok"), "inference"),
        **driver(tool_refresh="immediate"),
        capabilities={
            "install": {"skill": ["local/*"], "tool": ["local/probe-*"]},
            "shell": {"allow": ["probe-manners"]},
        },
    ),
    installing(
        "without capabilities.install no tool is linked with the artifact manager",
        [
            asks(EDITOR),
            {"text": "done", "expect": "an http agent that declares capabilities.install"},
        ],
        alone("inference", at("tool_call", status="error"), "inference"),
    ),
]
