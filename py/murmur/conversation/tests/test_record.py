"""One context's record, alone and with others writing at once. spec/sessions.md 18."""

import fcntl
import json
import multiprocessing
import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmur.conversation import record as module
from murmur.conversation.lines import Message, parse_record
from murmur.conversation.record import Record
from murmur.core.home import Home
from murmur.core.ids import new_id

RUN = multiprocessing.get_context("spawn")


def message(text: str, role: str = "user") -> Message:
    return {"role": role, "content": [{"type": "text", "text": text}], "id": new_id("msg")}


def texts(record: Record) -> list[str]:
    return [each["content"][0]["text"] for each in record.load().messages]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    root = tmp_path / ".murmur"
    root.mkdir(mode=0o700)
    return Home(root)


@pytest.fixture
def record(home: Home) -> Record:
    return Record(home, "agent", "ctx_1")


def test_nothing_is_made_before_the_first_message(home: Home, record: Record) -> None:
    assert record.load().messages == ()
    assert not home.conversations.exists()
    record.append(message("one"))
    assert texts(record) == ["one"]


def test_the_chain_is_closed_to_others_at_every_append(home: Home, record: Record) -> None:
    record.append(message("one"))
    for path in (home.conversations, record.directory.parent, record.directory, record.path):
        path.chmod(0o777)
    record.append(message("two"))
    for path in (home.conversations, record.directory.parent, record.directory):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
    assert stat.S_IMODE(record.path.stat().st_mode) == 0o600


def test_a_recorded_id_is_skipped(home: Home, record: Record) -> None:
    once = message("one")
    record.append(once)
    record.append(once)
    later = Record(home, "agent", "ctx_1")
    later.load()
    later.append(once)
    assert texts(record) == ["one"]


def test_an_owned_record_begins_with_its_header(home: Home) -> None:
    owned = Record(home, "agent", "ctx_1", owner="shey")
    owned.append(message("one"))
    first, second = owned.path.read_text().splitlines()
    header = json.loads(first)
    assert (header["type"], header["capsule"]) == ("murmur.record", "shey")
    assert "role" not in header and json.loads(second)["role"] == "user"
    assert owned.load().header is not None


def test_an_unowned_record_is_adopted_once(record: Record) -> None:
    assert not record.adopt("shey")
    record.append(message("one"))
    assert record.adopt("shey") and not record.adopt("other")
    contents = record.load()
    assert contents.header is not None and contents.header.capsule == "shey"
    assert len(contents.messages) == 1


def test_a_torn_line_costs_itself_alone(record: Record) -> None:
    record.append(message("one"))
    with open(record.path, "ab") as stream:
        stream.write(b'{"role":"user","con')
    record.append(message("two"))
    assert texts(record) == ["one", "two"]
    assert record.load().skipped == 1


def test_a_write_that_fails_leaves_no_half_of_a_line(
    record: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    record.append(message("one"))
    before = record.path.read_bytes()
    real = os.write

    def full(descriptor: int, data: bytes) -> int:
        if len(data) > 20:
            return real(descriptor, data[:20])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.write", lambda fd, data: full(fd, data[:30]))
    failed = message("two")
    with pytest.raises(OSError, match="No space"):
        record.append(failed)
    monkeypatch.undo()
    assert record.path.read_bytes() == before
    record.append(failed)
    assert texts(record) == ["one", "two"]


def test_a_truncation_keeps_the_newest_with_their_ids(record: Record) -> None:
    given = [message(str(number)) for number in range(5)]
    for each in given:
        record.append(each)
    done = record.truncate(2)
    assert (done.dropped, done.kept, done.oldest_surviving_id) == (3, 2, given[3]["id"])
    contents = record.load()
    assert list(contents.messages) == given[3:]
    assert contents.header is not None and contents.header.truncated is not None
    assert contents.header.truncated.last_dropped_id == given[2]["id"]
    record.truncate(1)
    again = record.load().header
    assert again is not None and again.truncated is not None and again.truncated.dropped == 4


def test_a_record_within_the_bound_is_left_as_it_is(record: Record) -> None:
    record.append(message("one"))
    before = record.path.read_bytes()
    assert record.truncate(1).dropped == 0
    assert record.path.read_bytes() == before


def test_a_truncation_removes_images_that_nobody_names(record: Record) -> None:
    for name in ("aa", "bb"):
        image = {"type": "image", "media_type": "image/png", "sha256": name}
        record.append({**message(name), "content": [image]}, {name: name.encode()})
    assert record.image("aa") == b"aa"
    assert record.truncate(1).blobs == 1
    assert (record.image("aa"), record.image("bb")) == (None, b"bb")


def test_a_link_on_the_way_is_not_followed(home: Home, record: Record, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    record.append(message("one"))
    (record.directory.parent / "ctx_2").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError):
        Record(home, "agent", "ctx_2").append(message("two"))
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_held_lock_is_waited_for_and_then_given_up(
    home: Home, record: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    record.append(message("one"))
    monkeypatch.setattr(module, "_PATIENCE_SECONDS", 0.05)
    with open(record.directory.parent / ".lock") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(OSError, match="another process"):
            record.append(message("two"))
    record.append(message("three"))
    assert texts(record) == ["one", "three"]


def _write(root: Path, name: str, count: int) -> None:
    record = Record(Home(root), "agent", "ctx_1")
    for number in range(count):
        record.append(message(f"{name}{number}"))


def _truncate(root: Path, count: int) -> None:
    record = Record(Home(root), "agent", "ctx_1")
    for _ in range(count):
        record.truncate(10_000)


def test_writers_at_once_lose_no_message(home: Home, record: Record) -> None:
    writers = [RUN.Process(target=_write, args=(home.root, name, 50)) for name in ("a", "b", "c")]
    record.append(message("first"))
    cutter = RUN.Process(target=_truncate, args=(home.root, 20))
    for each in (*writers, cutter):
        each.start()
    for each in (*writers, cutter):
        each.join(60)
        assert each.exitcode == 0
    found = texts(record)
    assert len(found) == 151 and len(set(found)) == 151
    for name in ("a", "b", "c"):
        mine = [each for each in found if each.startswith(name)]
        assert mine == [f"{name}{number}" for number in range(50)]


@given(st.binary(max_size=200))
def test_no_bytes_keep_a_record_from_being_read(data: bytes) -> None:
    contents = parse_record(data)
    assert len(contents.messages) == len(contents.raw)


@given(st.lists(st.text(max_size=20), max_size=8), st.integers(0, 400))
def test_a_record_cut_anywhere_keeps_its_whole_lines(lines: list[str], cut: int) -> None:
    whole = [message(text) for text in lines]
    data = b"".join(json.dumps(each).encode() + b"\n" for each in whole)
    kept = parse_record(data[:cut]).messages
    assert list(kept) == whole[: len(kept)]
