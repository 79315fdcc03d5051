"""`mur trace show` against the pages that the CLI reference prints."""

import tracemalloc
from pathlib import Path

import pytest

from murmur.core.diagnostics import MurmurError
from murmur.trace.show.page import show
from murmur.trace.tests import recording as rec

EXAMPLE = """\
── Session ──────────────────────────────────────
session:    ses_aaaaaaaaaaaa4aaa8aaa000000000001
capsule:    my-agent v0.1.0
model:      claude-3-5-sonnet
status:     ok
duration:   500ms
capabilities: shell
tools:      bash
containment: sealed → scoped
workdir exec: no
userns:     profile_confining
prompt:     manifest  cf07194ee232…

── Turns ────────────────────────────────────────
count:      2  (max: 10)

── Tokens ───────────────────────────────────────
input:      2,200  (avg 1100/turn)
output:     350  (avg 175/turn)
total:      2,550
provider:   in 2,090, out 320, cached 1,840, cache write 210

── Wire ─────────────────────────────────────────
turn 1  system bbc5e661e106…  tools f9d35d43770d…  response afb8c1747105…  3 messages
turn 2  system bbc5e661e106…  tools f9d35d43770d…  response 4ed87cafe960…  5 messages
bodies:     mur trace show --body system --turn 1

── Tool calls ───────────────────────────────────
count:      1  (1 ok, 0 error)  success 100.0%
latency:    avg 100ms
  turn 1  bash 100ms ✓  {"command":"cargo test --workspace"}
  turn 2  end_turn

── Redundant calls ──────────────────────────────
count:      0

── Skill calls ──────────────────────────────────
count:      0

── Shell calls ──────────────────────────────────
count:      1
exit codes: 1 ok
latency:    avg 50ms

── Compaction ───────────────────────────────────
fired:      no
"""


def section(lines: list[str], title: str) -> list[str]:
    """The rows of one section; empty when it is not printed."""
    heads = [at for at, line in enumerate(lines) if line.startswith("── ")]
    for at, following in zip(heads, [*heads[1:], len(lines) + 1], strict=True):
        if lines[at].startswith(f"── {title} ─"):
            return [line for line in lines[at + 1 : following] if line]
    return []


def shown(tmp_path: Path, *events: dict[str, object], tail: str = "") -> list[str]:
    return list(show(rec.record(tmp_path / "trace.jsonl", [rec.start(), *events], tail=tail)))


def test_the_single_task_example_is_printed_to_the_letter(tmp_path: Path) -> None:
    assert "\n".join(show(rec.example(tmp_path / "trace.jsonl"))) + "\n" == EXAMPLE


def test_several_tasks_get_a_row_each(tmp_path: Path) -> None:
    tasks = [*rec.task(0x08ECEE82), *rec.task(0xD014BBD7, duration_ms=2, reopen_count=1)]
    lines = shown(tmp_path, *tasks, rec.end())
    assert section(lines, "Tasks") == [
        "task 1  08ecee82  turns: 1  in: 39  out: 20  ok  178ms",
        "task 2  d014bbd7  turns: 1  in: 39  out: 20  ok  2ms  reopens: 1",
    ]
    assert not section(shown(tmp_path, *rec.task(1), rec.end()), "Tasks")


def test_a_rejected_key_is_told_in_two_lines(tmp_path: Path) -> None:
    failed = rec.turn(
        0, "error", error_code="credential_rejected", provider_status=401, error="x" * 250
    )
    rows = section(shown(tmp_path, failed, rec.end()), "Turns")
    assert rows[:2] == [
        "count:      0  (max: 10)",
        "failed:     turn 0  credential_rejected  HTTP 401",
    ]
    assert rows[2] == " " * 12 + "x" * 200 + "…"


def test_retries_come_before_failures_and_name_the_attempt(tmp_path: Path) -> None:
    retry = rec.line(
        "inference_retry", turn=0, attempt=1, max_attempts=3, provider_status=503, wait_ms=5
    )
    lost = rec.line(
        "inference_retry",
        turn=0,
        attempt=2,
        max_attempts=3,
        reason="connection",
        wait_ms=1000,
        origin="hook:c",
    )
    failed = rec.turn(
        0,
        "error",
        error_code="driver_error",
        provider_status=503,
        error="overloaded",
        attempts=3,
        retry_stopped="max_retries",
    )
    rows = section(shown(tmp_path, failed, retry, lost, rec.end()), "Turns")
    assert rows[1:] == [
        "retry:      turn 0  inference_retry  attempt 1 of 3  HTTP 503  wait 5ms",
        "retry:      turn 0  inference_retry  attempt 2 of 3  connection  wait 1.0s  hook:c",
        "failed:     turn 0  driver_error  HTTP 503  attempts 3  retry stopped: max_retries",
        "            overloaded",
    ]


def test_an_unended_session_is_counted_from_its_lines(tmp_path: Path) -> None:
    turn = rec.turn(0, "tool_call", input_tokens=10, output_tokens=2)
    lines = shown(tmp_path, turn, rec.call(0, "bash", {}), tail='{"event_type":"tool')
    session = section(lines, "Session")
    assert session[3:6] == [
        "status:     ended without a session_end (last event: tool_call at "
        "2026-09-21T14:13:20.200Z); line 4, the last, is not valid JSON and was skipped",
        "duration:   200ms  (first to last event)",
        "totals:     counted from the events recorded; no session_end recorded the session's own",
    ]
    assert section(lines, "Turns") == ["count:      1  (max: 10)"]
    assert section(lines, "Tokens")[0] == "input:      10  (avg 10/turn)"


def test_redundant_calls_name_the_earlier_read(tmp_path: Path) -> None:
    read = {"state_effect": "read"}
    events = [
        rec.call(0, "editor", {"path": "a"}, **read),
        rec.call(1, "editor", {"Path": "a"}, **read),
        rec.call(2, "editor", {"path": "a"}, state_effect="mutate"),
        rec.call(3, "editor", {"path": "a"}, **read),
        rec.line(
            "plan_step",
            plan_id="p",
            step_id="s",
            kind="tool",
            status="success",
            attempts=1,
            duration_ms=1,
            input={"file": "a"},
            **read,
        ),
    ]
    assert section(shown(tmp_path, *events, rec.end()), "Redundant calls") == [
        "count:      2",
        "  turn 1  editor  a  (re-reads turn 0)",
        "  plan p/s  a  (re-reads turn 3)",
    ]


def test_commands_are_told_by_exit_code(tmp_path: Path) -> None:
    detached = rec.line("shell_detached", turn=1, work_id="wrk_1", binary="b", command=["b"])
    done = rec.line(
        "shell_completed", work_id="wrk_1", exit_code=2, duration_ms=150, status="error"
    )
    lines = shown(tmp_path, rec.command(0), rec.command(1), detached, done)
    assert section(lines, "Shell calls") == [
        "count:      3",
        "exit codes: 1 ok, 1 failed (exit 1), 1 failed (exit 2)",
        "latency:    avg 83ms",
    ]


def test_call_settings_group_by_caller_cap_and_config(tmp_path: Path) -> None:
    events = [
        rec.turn(0, "tool_call", max_output_tokens=100, driver_config={"a": 1}),
        rec.turn(
            1, "error", error_code="x", error="", max_output_tokens=100, driver_config={"a": 1}
        ),
        rec.turn(1, "end_turn", max_output_tokens=50, origin="hook:compactor"),
    ]
    assert section(shown(tmp_path, *events, rec.end()), "Call settings") == [
        'agent  max_tokens 100  driver_config {"a":1}  2 call(s)  turn(s) 0, 1',
        "hook:compactor  max_tokens 50  driver_config none  1 call(s)  turn(s) 1",
    ]


def test_an_a2a_section_counts_senders_most_first(tmp_path: Path) -> None:
    received = [
        rec.line("a2a_task_received", task_id=f"t{at}", **who)
        for at, who in enumerate(
            [{"caller": "operator"}, {"caller": "member"}, {"caller_member": "b"}, {}]
        )
    ]
    sent = rec.line("a2a_send", peer_url="http://h:1", message_id="m")
    assert section(shown(tmp_path, *received, sent, sent, rec.end()), "A2A") == [
        "received:   4 tasks — member 2, operator 1, unknown caller 1",
        "sent:       2 messages",
        "peers:      http://h:1",
    ]


def test_recorded_text_cannot_steer_the_terminal(tmp_path: Path) -> None:
    denied = rec.line(
        "call_denied",
        turn=0,
        event="on-shell",
        target="/usr/bin/bash",
        hook_name="policy",
        reason="\x1b[2Jgone",
    )
    assert section(shown(tmp_path, denied, rec.end()), "Denied calls") == [
        "turn 0  on-shell  /usr/bin/bash  by policy  “\\x1b[2Jgone”"
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it holds no event"),
        ('{"event_type":"task_start"}\n', "it has no session_start"),
        ('{"event_type":"session_start"}\nnope\n{}\n', "line 2 is no JSON object"),
    ],
)
def test_what_is_no_trace_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text(text)
    with pytest.raises(MurmurError) as refused:
        list(show(path))
    assert refused.value.code == "E-TRC-001"
    assert str(path) in refused.value.diagnostic.message
    assert reason in refused.value.diagnostic.message


def test_a_long_trace_takes_constant_memory(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    with open(rec.record(path, [rec.start()]), "a") as file:
        row = rec.line("tool_call", turn=1, tool_name="t", input={"x": "y" * 500}, duration_ms=1)
        text = str(row).replace("'", '"') + "\n"
        file.writelines(text for _ in range(20_000))
    tracemalloc.start()
    try:
        rows = sum(1 for _ in show(path))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert rows > 20_000
    assert peak < 2 * 1024 * 1024
