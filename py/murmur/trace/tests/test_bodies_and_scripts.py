"""Bodies behind hashes, and scripts made of them."""

import hashlib
import json
from pathlib import Path

import pytest

from murmur.core.diagnostics import MurmurError
from murmur.trace.script import script
from murmur.trace.show.bodies import body
from murmur.trace.show.html import page
from murmur.trace.tests import recording as rec
from murmur.trace.tests.recording import captured, text_answer


def refused(path: Path, selector: str, turn: int | None) -> str:
    with pytest.raises(MurmurError) as refusal:
        body(path, selector, turn)
    assert refusal.value.code == "E-TRC-001"
    return refusal.value.diagnostic.message


def test_each_selector_gives_its_bytes_and_nothing_more(tmp_path: Path) -> None:
    path = captured(tmp_path, text_answer("hi"))
    assert body(path, "system", 0) == b"be <good>"
    assert body(path, "tools", 0) == b"[]"
    assert json.loads(body(path, "response", 0)) == text_answer("hi")
    assert b"say (0)" in body(path, "message:0", 0)
    prefix = hashlib.sha256(b"be <good>").hexdigest()[:8]
    assert body(path, prefix, None) == b"be <good>"


def test_every_refusal_says_what_there_is(tmp_path: Path) -> None:
    path = captured(tmp_path, text_answer("a"), text_answer("b"))
    assert "--turn is required with --body system; this trace has turns 0, 1" in refused(
        path, "system", None
    )
    assert "turn 7 has no inference record in this trace" in refused(path, "tools", 7)
    assert "turn 1 recorded 1 messages; there is no message 4" in refused(path, "message:4", 1)
    assert "no hash in this trace matches 0123456789" in refused(path, "0123456789", None)
    assert "no body is selected by 'nonsense'" in refused(path, "nonsense", 0)
    several = captured(tmp_path / "two", text_answer("a"), text_answer("b"), tasks=2)
    message = refused(several, "system", 0)
    assert "--turn 0 names 2 turns in this trace" in message
    assert "Pass one hash to --body instead" in message


def test_a_hash_without_a_body_says_under_what_it_was_recorded(tmp_path: Path) -> None:
    path = rec.example(tmp_path / "trace.jsonl")
    digest = "bbc5e661e106".ljust(64, "0")
    expected = f"turn 1 system prompt {digest}: recorded under capture: meta; no body was stored"
    assert expected in refused(path, "system", 1)
    bare = rec.record(tmp_path / "none" / "trace.jsonl", [rec.start(), rec.turn(3, "end_turn")])
    assert "turn 3 recorded no content hashes" in refused(bare, "system", 3)


def test_a_prefix_of_several_hashes_lists_them(tmp_path: Path) -> None:
    one, two = "abcdef01" + "0" * 56, "abcdef01" + "1" * 56
    turn = rec.turn(0, "end_turn", system_sha=one, tools_sha=two, response_sha=two)
    path = rec.record(tmp_path / "trace.jsonl", [rec.start(), turn])
    message = refused(path, "abcdef01", None)
    assert one in message and two in message


def test_a_script_holds_an_entry_for_each_answer(tmp_path: Path) -> None:
    calling = {
        "stop_reason": "tool_call",
        "content": [
            {"type": "thinking", "text": "hm", "signature": ""},
            {"type": "tool_call", "id": "c1", "name": "bash", "input": {"command": "ls"}},
        ],
    }
    path = captured(tmp_path, calling, text_answer("done"))
    assert [json.loads(line) for line in script(path)] == [
        {
            "thinking": "hm",
            "tool_calls": [{"name": "bash", "input": {"command": "ls"}}],
            "usage": {"output_tokens": 7},
        },
        {"text": "done", "usage": {"output_tokens": 7}},
    ]


def test_a_script_of_several_tasks_goes_by_the_newest_message(tmp_path: Path) -> None:
    path = captured(tmp_path, text_answer("a"), text_answer("b"), tasks=2)
    assert [json.loads(line)["when"] for line in script(path)] == [
        {"newest": r"\Asay\ \(0\)\Z"},
        {"newest": r"\Asay\ \(1\)\Z"},
    ]


def test_a_session_whose_bodies_were_not_kept_makes_no_script(tmp_path: Path) -> None:
    with pytest.raises(MurmurError) as refusal:
        list(script(rec.example(tmp_path / "trace.jsonl")))
    assert refusal.value.code == "E-TRC-001"
    assert "record the session with trace.capture: content" in refusal.value.diagnostic.message


def test_nothing_recorded_can_leave_its_place_in_the_page(tmp_path: Path) -> None:
    hostile = "</script><script>alert(1)</script>"
    path = captured(tmp_path, text_answer(hostile))
    html = page(path)
    assert hostile not in html
    assert html.count("</script>") == 2
    data = json.loads(html.split('id="data">')[1].split("</script>")[0])
    assert any(hostile in text for text in data["bodies"].values())
    assert data["turns"] == []
