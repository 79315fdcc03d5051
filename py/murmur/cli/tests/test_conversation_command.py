"""`mur conversation`. CLI reference, *mur conversation*."""

import json
from pathlib import Path
from typing import Any

import pytest

from murmur.cli.tests.box import Box
from murmur.conversation.lines import Header
from murmur.conversation.record import Record
from murmur.core.home import Home
from murmur.core.ids import new_id


class Told:
    """A box with one conversation of `count` messages in the store `shey`."""

    def __init__(self, box: Box, count: int = 3) -> None:
        self.box = box
        self.home = Home(box.home / ".murmur")
        self.home.root.mkdir(mode=0o700)
        self.given = [said(f"line {number}\nmore") for number in range(count)]
        self.record = self.add("shey", "ctx-1")

    def add(self, store: str, context: str, owner: str | None = "shey") -> Record:
        record = Record(self.home, store, context, owner)
        for each in self.given:
            record.append(each)
        return record


def said(text: str, role: str = "user") -> dict[str, Any]:
    return {"role": role, "content": [{"type": "text", "text": text}], "id": new_id("msg")}


@pytest.fixture
def told(box: Box) -> Told:
    return Told(box)


def loaded(told: Told, *arguments: str) -> Any:
    return json.loads("\n".join(told.box.ok("conversation", *arguments, "--json")))


def test_ls_prints_one_row_for_each_context(told: Told) -> None:
    told.add("other", "ctx-2", owner=None)
    told.record.truncate(1)
    head, *rows = told.box.ok("conversation", "ls")
    assert head.split() == ["RECORD", "CONTEXT", "MESSAGES", "SIZE", "LAST", "TOUCHED", "TRUNCATED"]
    assert rows[0].split()[:3] == ["other", "ctx-2", "3"] and rows[0].endswith("-")
    assert rows[1].split()[:3] == ["shey", "ctx-1", "1"] and rows[1].endswith("2 dropped")
    assert told.box.ok("conversation", "ls", "--record", "shey")[1:] == rows[1:]


def test_ls_json_has_its_keys(told: Told) -> None:
    told.add("other", "ctx-2", owner=None)
    other, shey = loaded(told, "ls")
    assert shey == {
        "record": "shey",
        "context_id": "ctx-1",
        "path": str(told.record.path),
        "messages": 3,
        "bytes": told.record.path.stat().st_size,
        "last_touched_ms": shey["last_touched_ms"],
        "capsule": "shey",
        "truncated": None,
    }
    assert other["capsule"] is None
    told.record.truncate(2)
    [shey] = loaded(told, "ls", "--record", "shey")
    assert set(shey["truncated"]) == {"dropped", "oldest_surviving_id", "last_dropped_id", "at_ms"}


def test_ls_without_any_record_says_so(box: Box) -> None:
    assert box.ok("conversation", "ls") == ["No conversation records."]
    assert json.loads("".join(box.ok("conversation", "ls", "--json"))) == []


def test_ls_message_answers_present_truncated_or_unknown(told: Told) -> None:
    first, second, third = (each["id"] for each in told.given)
    told.record.truncate(1)
    present = loaded(told, "ls", "--message", third)
    assert (present["answer"], present["record"], present["context_id"]) == (
        "present",
        "shey",
        "ctx-1",
    )
    assert present["position"] == 1
    for gone in (first, second):
        found = loaded(told, "ls", "--message", gone)
        assert (found["answer"], found["dropped"], found["oldest_surviving_id"]) == (
            "truncated",
            2,
            third,
        )
    for unknown in (new_id("msg"), "msg_nonsense"):
        assert loaded(told, "ls", "--message", unknown)["answer"] == "unknown"
    assert "present in record shey" in told.box.ok("conversation", "ls", "--message", third)[0]
    assert "2 dropped" in told.box.ok("conversation", "ls", "--message", first)[0]
    assert told.box.ok("conversation", "ls", "--message", "x") == ["x: unknown"]


def test_show_json_is_the_whole_context(told: Told) -> None:
    shown = loaded(told, "show", "ctx-1")
    assert shown == {
        "record": "shey",
        "context_id": "ctx-1",
        "dir": str(told.record.directory),
        "header": {
            "capsule": "shey",
            "created_ms": shown["header"]["created_ms"],
            "truncated": None,
        },
        "messages": told.given,
        "harness_session": None,
    }


def test_show_skips_what_is_no_message(told: Told) -> None:
    with open(told.record.path, "a") as stream:
        stream.write('[1]\n{"type":"x"}\n{"role":7}\n\n{"role":"user","content":"torn')
    assert loaded(told, "show", "ctx-1")["messages"] == told.given


def test_show_prints_a_line_for_each_message(told: Told) -> None:
    call = {"type": "tool_call", "id": "1", "name": "sh", "input": {}}
    told.record.append({"role": "assistant", "content": [call], "id": new_id("msg")})
    told.record.append({"role": "user", "content": "plain\ntext", "id": new_id("msg")})
    assert told.box.ok("conversation", "show", "ctx-1") == [
        "record:   shey",
        "context:  ctx-1",
        "messages: 5",
        "   1  user       line 0",
        "   2  user       line 1",
        "   3  user       line 2",
        "   4  assistant  (calls sh)",
        "   5  user       plain",
    ]


HARNESS = {
    "type": "murmur.harness-session",
    "session_id": "abc",
    "harness": "codex",
    "driver": "murmur/driver-codex",
    "created_ms": 1,
    "updated_ms": 2,
}


def test_show_finds_a_context_that_a_harness_holds(told: Told) -> None:
    folder = told.home.conversations / "shey" / "ctx-h"
    folder.mkdir()
    (folder / "harness-session.json").write_text(json.dumps(HARNESS))
    shown = loaded(told, "show", "ctx-h")
    assert (shown["header"], shown["messages"]) == (None, [])
    assert shown["harness_session"] == {k: v for k, v in HARNESS.items() if k != "type"}
    lines = told.box.ok("conversation", "show", "ctx-h")
    assert lines[3:] == ["harness session: abc (codex, murmur/driver-codex)"]


@pytest.mark.parametrize(
    "text", ["nonsense", "[]", json.dumps({**HARNESS, "type": "x"}), '{"session_id": 1}']
)
def test_an_entry_that_names_no_harness_session_is_none(told: Told, text: str) -> None:
    folder = told.home.conversations / "shey" / "ctx-h"
    folder.mkdir()
    (folder / "harness-session.json").write_text(text)
    assert loaded(told, "show", "ctx-h")["harness_session"] is None


def test_rm_removes_the_directory_and_says_how_much_it_held(told: Told) -> None:
    assert told.box.ok("conversation", "rm", "ctx-1") == [
        f"removed {told.record.directory} (3 messages)"
    ]
    assert not told.record.directory.exists()
    told.box.refused("E-CNV-001", "conversation", "rm", "ctx-1")


def test_truncate_keeps_the_newest_messages(told: Told) -> None:
    last = told.given[2]["id"]
    assert told.box.ok("conversation", "truncate", "ctx-1", "--keep", "1") == [
        f"dropped 2 messages from {told.record.path} (1 kept; oldest surviving is {last})"
    ]
    assert loaded(told, "show", "ctx-1")["messages"] == told.given[2:]
    assert told.box.ok("conversation", "truncate", "ctx-1", "--keep", "1") == [
        f"{told.record.path} already holds 1 messages; nothing dropped"
    ]


def test_truncate_says_how_many_images_went(told: Told) -> None:
    image = {"type": "image", "media_type": "image/png", "sha256": "aa"}
    told.record.append({"role": "tool", "content": [image], "id": new_id("msg")}, {"aa": b"x"})
    told.record.append(said("last"))
    lines = told.box.ok("conversation", "truncate", "ctx-1", "--keep", "1")
    assert lines[1:] == ["removed 1 image blobs no kept message names"]


def test_truncating_to_nothing_is_e_cnv_003(told: Told) -> None:
    before = told.record.path.read_bytes()
    said_ = told.box.refused("E-CNV-003", "conversation", "truncate", "ctx-1", "--keep", "0")
    assert "at least 1" in said_ and "mur conversation rm" in said_
    assert told.record.path.read_bytes() == before


@pytest.mark.parametrize(
    "arguments", [("show", "ctx-1"), ("rm", "ctx-1"), ("truncate", "ctx-1", "--keep", "1")]
)
def test_a_context_in_two_stores_is_e_cnv_002(told: Told, arguments: tuple[str, ...]) -> None:
    other = told.add("other", "ctx-1")
    complaint = told.box.refused("E-CNV-002", "conversation", *arguments)
    assert "2 record stores: other, shey" in complaint and "--record" in complaint
    told.box.ok("conversation", *arguments, "--record", "other")
    assert told.record.load().messages == tuple(told.given)
    assert arguments[0] == "show" or other.load().messages != tuple(told.given)


@pytest.mark.parametrize(
    "arguments",
    [
        ("show", "ctx-9"),
        ("rm", "ctx-9"),
        ("truncate", "ctx-9", "--keep", "1"),
        ("ls", "--record", "nobody"),
        ("show", "ctx-1", "--record", "nobody"),
        ("show", "empty"),
    ],
)
def test_what_is_not_recorded_is_e_cnv_001(told: Told, arguments: tuple[str, ...]) -> None:
    (told.home.conversations / "shey" / "empty").mkdir()
    complaint = told.box.refused("E-CNV-001", "conversation", *arguments)
    assert str(told.home.conversations) in complaint and "mur conversation ls" in complaint


def test_a_record_that_is_no_file_is_e_io_003(told: Told, tmp_path: Path) -> None:
    told.record.path.unlink()
    (tmp_path / "outside").write_bytes(Header("shey", 1).line())
    told.record.path.symlink_to(tmp_path / "outside")
    told.box.refused("E-IO-003", "conversation", "show", "ctx-1")


def test_an_unusable_home_is_e_io_003(box: Box) -> None:
    box.environment["HOME"] = "relative"
    assert "relative" in box.refused("E-IO-003", "conversation", "show", "x")
