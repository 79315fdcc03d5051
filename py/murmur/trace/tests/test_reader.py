"""Reading a trace back. spec/observability.md 3, torn lines."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmur.core.diagnostics import MurmurError
from murmur.trace.reader import parse_trace, read_trace

LINES = [
    {"event_type": "session_start", "event_id": "evt_1", "model": "mödel"},
    {"event_type": "from_the_future", "event_id": "evt_2", "x": [1, {"y": None}]},
    {"event_type": "session_end", "event_id": "evt_3", "new_key": 1},
]
WHOLE = b"".join(json.dumps(line, ensure_ascii=False).encode() + b"\n" for line in LINES)


def test_unknown_events_and_keys_are_kept() -> None:
    trace = parse_trace(WHOLE, "trace.jsonl")
    assert list(trace.events) == LINES
    assert not trace.torn and trace.ended
    assert trace.first("session_start") == LINES[0]
    assert trace.of("from_the_future") == [LINES[1]]


@pytest.mark.parametrize("length", range(len(WHOLE) + 1))
def test_a_trace_cut_anywhere_still_parses(length: int) -> None:
    trace = parse_trace(WHOLE[:length], "trace.jsonl")
    whole_lines = WHOLE[:length].count(b"\n")
    # A cut between a line's last brace and its newline loses nothing.
    assert len(trace.events) in (whole_lines, whole_lines + 1)
    assert list(trace.events) == LINES[: len(trace.events)]
    assert trace.torn == (length > 0 and not _complete(WHOLE[:length]))


def _complete(data: bytes) -> bool:
    return data.endswith(b"\n") or data + b"\n" in (WHOLE, *_prefixes())


def _prefixes() -> list[bytes]:
    pieces = WHOLE.splitlines(keepends=True)
    return [b"".join(pieces[:count]) for count in range(1, len(pieces) + 1)]


@pytest.mark.parametrize("bad", [b"{broken", b"[1]", b"3", b"\xff\xfe", b'{"a": "\x00"}'])
def test_a_bad_line_elsewhere_is_e_trc_001_with_file_and_line(bad: bytes) -> None:
    pieces = WHOLE.splitlines(keepends=True)
    with pytest.raises(MurmurError) as caught:
        parse_trace(pieces[0] + bad + b"\n" + pieces[1], "/r/trace.jsonl")
    assert caught.value.code == "E-TRC-001"
    assert "/r/trace.jsonl" in caught.value.message and "line 2" in caught.value.message
    assert parse_trace(pieces[0] + bad + b"\n", "x").torn


def test_a_trace_that_cannot_be_read_is_e_trc_001(tmp_path: Path) -> None:
    with pytest.raises(MurmurError) as caught:
        read_trace(tmp_path / "trace.jsonl")
    assert caught.value.code == "E-TRC-001" and "trace.jsonl" in caught.value.message
    (tmp_path / "trace.jsonl").write_bytes(b"")
    assert read_trace(tmp_path / "trace.jsonl").events == ()


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        trace = parse_trace(data, "x")
    except MurmurError as refusal:
        assert refusal.code == "E-TRC-001"
    else:
        assert all(isinstance(event, dict) for event in trace.events)
