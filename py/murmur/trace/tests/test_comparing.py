"""`mur trace diff` against the table that the CLI reference prints."""

from pathlib import Path

import pytest

from murmur.core.diagnostics import MurmurError
from murmur.trace.comparing import compare
from murmur.trace.tests import recording as rec

TABLE = """\
Metric                 Run A            Run B            Delta
────────────────────── ──────────────── ──────────────── ──────────────────────────
turns                  2                5                +3 (A better)
duration               500ms            1.7s             +1.2s (A better)
input tokens           2,200            9,700            +7500 (A better)
output tokens          350              1,090            +740 (A better)
input/turn (avg)       1100             1940             +840.0 (A better)
output/turn (avg)      175              218              +43.0 (A better)
tool calls             1                5                +4 (A better)
tool success rate      100.0%           80.0%            -20.0 (A better)
avg tool latency       100ms            188ms            +88ms (A better)
shell calls            1                5                +4 (A better)
avg shell latency      50ms             36ms             -14ms (B better)
compaction             none             turn 3           —
exit status            ok               max_turns_reached —
"""


def other(path: Path, *turns: dict[str, object]) -> Path:
    calls = [
        rec.call(1, "bash", {}, duration_ms=188, status="error" if at == 0 else "ok")
        for at in range(5)
    ]
    commands = [rec.command(0, duration_ms=36) for _ in range(5)]
    totals = {
        "total_turns": 5,
        "total_input_tokens": 9700,
        "total_output_tokens": 1090,
        "total_tool_calls": 5,
        "total_shell_calls": 5,
        "duration_ms": 1700,
        "exit_status": "max_turns_reached",
    }
    fired = rec.line("compaction", turn=3, tokens_before=1, tokens_after=1)
    return rec.record(path, [rec.start(), *turns, *calls, *commands, fired, rec.end(**totals)])


def hashed(number: int, system: str, *messages: str) -> dict[str, object]:
    return rec.turn(number, "tool_call", **rec.hashes(system, "143f541e445d", "r", *messages))


def test_the_table_is_printed_to_the_letter(tmp_path: Path) -> None:
    a, b = rec.example(tmp_path / "a" / "trace.jsonl"), other(tmp_path / "b" / "trace.jsonl")
    lines = list(compare(a, b))
    assert "\n".join(lines[:15]) + "\n" == TABLE
    assert lines[15:17] == ["", "── Prefix divergence ────────────────────────────"]
    assert lines[17:] == [
        "run B recorded no content hashes — it ran under trace.capture: none; nothing is compared"
    ]


def test_requests_are_compared_message_by_message(tmp_path: Path) -> None:
    a = other(
        tmp_path / "a" / "trace.jsonl",
        hashed(1, "d27e9be1c0de", "a", "4d3fd85ffaa2"),
        hashed(2, "d27e9be1c0de", "a", "b"),
        hashed(3, "d27e9be1c0de", "a"),
        hashed(4, "d27e9be1c0de", "a"),
    )
    b = other(
        tmp_path / "b" / "trace.jsonl",
        hashed(1, "aaaaaaaaaaaa", "a", "ffffffffffff"),
        hashed(2, "bbbbbbbbbbbb", "a", "b"),
        hashed(3, "bbbbbbbbbbbb", "a", "c", "d"),
    )
    assert list(compare(a, b))[17:] == [
        "system prompt: differs    A d27e9be1c0de…  B aaaaaaaaaaaa…",
        "note: run B changes its system prompt at turn 2",
        "tool schemas:  identical  143f541e445d…",
        "turn 1:  diverges at message 1  A 4d3fd85ffaa2…  B ffffffffffff…",
        "turn 2:  identical  (2 messages)",
        "turn 3:  diverges at message 1  (A has 1 messages, B has 3)",
        "turn 4:  only in run A",
    ]


def test_an_unended_or_torn_trace_is_refused(tmp_path: Path) -> None:
    whole = rec.example(tmp_path / "a" / "trace.jsonl")
    unended = rec.record(tmp_path / "b" / "trace.jsonl", [rec.start()])
    torn = rec.record(tmp_path / "c" / "trace.jsonl", [rec.start(), rec.end()], tail="{")
    for path, reason in ((unended, "it has no session_end"), (torn, "line 3, the last")):
        with pytest.raises(MurmurError) as refused:
            list(compare(whole, path))
        assert refused.value.code == "E-TRC-001"
        assert reason in refused.value.diagnostic.message
