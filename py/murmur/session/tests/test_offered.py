"""When the list that the model is sent follows what can be called. spec/sessions.md 15.9."""

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from murmur.core.safefs import Root, open_root
from murmur.session.inventory import Tool, ToolKind
from murmur.session.offered import OfferedTools
from murmur.trace.writer import TraceWriter


def _tool(name: str) -> Tool:
    return Tool(name, ToolKind.WASM, "1.0.0", "does it", {}, f"local/{name}")


@pytest.fixture
def records(tmp_path: Path) -> Iterator[Root]:
    with open_root(tmp_path) as root:
        yield root


@pytest.fixture
def trace(records: Root) -> Iterator[TraceWriter]:
    writer = TraceWriter(records, "ses_1")
    yield writer
    writer.close()


def _lines(tmp_path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (tmp_path / "trace.jsonl").read_text().splitlines()]


def _names(offered: OfferedTools) -> list[object]:
    return [each["name"] for each in offered.declarations]


def test_immediate_is_the_next_turn_and_says_what_joined_and_left(
    tmp_path: Path, trace: TraceWriter
) -> None:
    tools = {"m": _tool("m"), "z": _tool("z")}
    offered = OfferedTools(tools, "immediate", trace)
    del tools["z"]
    tools["b"] = _tool("b")
    assert _names(offered) == ["m", "z"]
    offered.renew(3, "tsk_1")
    assert _names(offered) == ["b", "m"]
    (line,) = _lines(tmp_path)
    assert (line["turn"], line["task_id"], line["trigger"]) == (3, "tsk_1", "immediate")
    assert (line["added"], line["removed"], line["tools"]) == (["b"], ["z"], ["b", "m"])


def test_compaction_waits_for_one_and_for_the_turn_after_it(
    tmp_path: Path, trace: TraceWriter
) -> None:
    tools = {"m": _tool("m")}
    offered = OfferedTools(tools, "compaction", trace)
    sent = offered.declarations
    tools["b"] = _tool("b")
    offered.renew(1, None)
    assert offered.declarations is sent
    offered.compacted()
    assert offered.declarations is sent
    offered.renew(2, None)
    assert _names(offered) == ["b", "m"]
    tools["c"] = _tool("c")
    offered.renew(3, None)
    assert _names(offered) == ["b", "m"], "each compaction counts once"
    (line,) = _lines(tmp_path)
    assert (line["turn"], line["task_id"], line["trigger"]) == (2, None, "compaction")


@pytest.mark.parametrize("when", ["immediate", "compaction"])
def test_what_came_and_went_between_two_turns_changes_nothing(
    tmp_path: Path, trace: TraceWriter, when: Any
) -> None:
    tools = {"m": _tool("m")}
    offered = OfferedTools(tools, when, trace)
    sent = offered.declarations
    tools["b"] = _tool("b")
    del tools["b"]
    offered.compacted()
    offered.renew(1, None)
    assert offered.declarations is sent and _lines(tmp_path) == []


def test_another_version_under_the_same_name_is_a_change_without_names(
    tmp_path: Path, trace: TraceWriter
) -> None:
    tools = {"m": _tool("m")}
    offered = OfferedTools(tools, "immediate", trace)
    tools["m"] = dataclasses.replace(tools["m"], version="2.0.0", description="does it better")
    offered.renew(1, None)
    assert offered.declarations[0]["description"] == "does it better"
    (line,) = _lines(tmp_path)
    assert (line["added"], line["removed"], line["tools"]) == ([], [], ["m"])
