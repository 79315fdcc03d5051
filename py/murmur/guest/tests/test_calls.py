"""A guest called end to end: runtime, zygote, host. spec/sessions.md 25; spec/artifacts.md 6."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from murmur.guest.calls import (
    GuestCall,
    GuestFailure,
    GuestResult,
    Limits,
    Preopen,
    ToolInput,
    ToolResult,
)
from murmur.guest.client import CompileFailed, Guests, InputRefused
from murmur.guest.processes import zygote_argv
from murmur.guest.questions import TASK_INTERFACE, Question, Value

Call = Callable[..., GuestResult]


def _failure(result: GuestResult) -> GuestFailure:
    assert isinstance(result, GuestFailure), result
    return result


def _until_reaped(pid: int) -> None:
    """Waits for a killed process to be gone; its parent collects it when it gets to that."""
    give_up = time.monotonic() + 5
    with contextlib.suppress(ProcessLookupError):
        while time.monotonic() < give_up:
            os.kill(pid, 0)
            time.sleep(0.01)
        pytest.fail(f"process {pid} is still there")


def test_a_guest_gets_its_input_and_its_result_comes_back(call: Call) -> None:
    assert call("echo", '{"a":"ö"}') == ToolResult("passed", data='{"a":"ö"}')


def test_a_large_text_passes_whole_in_both_directions(call: Call) -> None:
    text = "x" * (20 * 1024 * 1024)
    result = call("echo", text)
    assert isinstance(result, ToolResult) and result.data == text


def test_a_driver_is_served_by_a_host_of_its_own(call: Call, guests: Guests) -> None:
    assert isinstance(call("echo", "x", role="driver"), ToolResult)
    assert {"drivers", "tools"} <= set(guests._hosts)
    assert guests._hosts["drivers"].pid != guests._hosts["tools"].pid


def test_a_guest_that_spins_is_ended_on_time_and_the_next_call_works(call: Call) -> None:
    call("echo", "loaded")
    started = time.monotonic()
    failure = _failure(call("spin", limits=Limits(deadline_seconds=1)))
    took = time.monotonic() - started
    assert failure.kind == "deadline"
    assert failure.message == (
        "tool 'spin' exceeded its 1s execution deadline (capabilities.limits.deadline_seconds)"
    )
    assert failure.backtrace, "the epoch deadline ends a spinning guest and tells where it was"
    assert 1.0 <= took < 2.5
    assert call("echo", "next") == ToolResult("passed", data="next")


def test_a_guest_that_sleeps_is_ended_on_time_and_the_next_call_works(
    call: Call, guests: Guests
) -> None:
    call("echo", "loaded")
    host = guests._hosts["tools"].pid
    started = time.monotonic()
    failure = _failure(call("sleep", limits=Limits(deadline_seconds=1)))
    took = time.monotonic() - started
    assert failure.kind == "deadline"
    assert "exceeded its 1s execution deadline" in failure.message
    assert 1.0 <= took < 2.5
    started = time.monotonic()
    assert call("echo", "next") == ToolResult("passed", data="next")
    assert time.monotonic() - started < 1, "the successor was started at once"
    assert guests._hosts["tools"].pid != host
    _until_reaped(host)


def test_a_guest_that_spins_while_it_starts_is_ended_on_time(call: Call) -> None:
    started = time.monotonic()
    failure = _failure(call("spin_at_start", limits=Limits(deadline_seconds=1)))
    assert failure.kind == "deadline"
    assert time.monotonic() - started < 2.5


def test_ending_a_tool_costs_the_drivers_host_nothing(call: Call, guests: Guests) -> None:
    call("echo", "x", role="driver")
    host = guests._hosts["drivers"].pid
    _failure(call("sleep", limits=Limits(deadline_seconds=0.2)))
    call("echo", "x", role="driver")
    assert guests._hosts["drivers"].pid == host


def test_a_trap_is_reported_with_the_guests_backtrace(call: Call) -> None:
    failure = _failure(call("trap"))
    assert failure.kind == "trap"
    assert (
        failure.message == "tool 'trap' trapped: wasm trap: wasm `unreachable` instruction executed"
    )
    assert "innermost" in failure.backtrace[0]
    assert failure.field is None


def test_exhausting_the_stack_is_a_trap_and_the_host_lives(call: Call, guests: Guests) -> None:
    call("echo", "x")
    host = guests._hosts["tools"].pid
    failure = _failure(call("recurse"))
    assert failure.kind == "trap" and "call stack exhausted" in failure.message
    call("echo", "x")
    assert guests._hosts["tools"].pid == host


def test_what_the_guest_wrote_to_stderr_comes_with_the_failure(call: Call) -> None:
    assert _failure(call("complain", "last words")).stderr == "last words"


def test_refused_memory_growth_decides_ahead_of_the_trap(call: Call) -> None:
    failure = _failure(call("grow_then_trap", limits=Limits(memory_bytes=8 * 1024 * 1024)))
    assert failure.kind == "resource"
    assert failure.field == "capabilities.limits.memory_bytes"
    wanted = 65536 + 8 * 1024 * 1024
    assert failure.message == (
        f"tool 'grow_then_trap' exceeded configured resource limits: {wanted} wanted, "
        "capabilities.limits.memory_bytes is 8388608"
    )


def test_a_guest_that_bears_a_refused_growth_returns(call: Call) -> None:
    limits = Limits(memory_bytes=8 * 1024 * 1024)
    assert call("grow_then_pass", "ok", limits=limits) == ToolResult("passed", data="ok")


def test_a_denial_of_one_call_is_no_matter_of_the_next(call: Call) -> None:
    call("grow_then_pass", "ok", limits=Limits(memory_bytes=8 * 1024 * 1024))
    assert _failure(call("trap")).kind == "trap"


def test_an_initial_memory_above_the_limit_is_a_resource_failure(call: Call) -> None:
    failure = _failure(call("large", limits=Limits(memory_bytes=1024 * 1024)))
    assert (failure.kind, failure.field) == ("resource", "capabilities.limits.memory_bytes")
    assert "268435456 wanted" in failure.message


def test_the_default_memory_limit_admits_256_mib(call: Call) -> None:
    assert call("large", "ok") == ToolResult("passed", data="ok")


def test_table_growth_past_the_limit_is_refused(call: Call) -> None:
    limits = Limits(table_elements=1000)
    assert call("table_then_pass", "ok", limits=limits) == ToolResult("passed", data="ok")
    assert _failure(call("table_then_trap", limits=limits)).kind == "trap"


def test_an_initial_table_above_the_limit_is_a_resource_failure(call: Call) -> None:
    failure = _failure(call("large_table", limits=Limits(table_elements=1000)))
    assert (failure.kind, failure.field) == ("resource", "capabilities.limits.table_elements")
    assert "50000 wanted, capabilities.limits.table_elements is 1000" in failure.message


def test_more_instances_than_the_limit_are_a_resource_failure(call: Call) -> None:
    failure = _failure(call("starts_many", limits=Limits(instances=5)))
    assert (failure.kind, failure.field) == ("resource", "capabilities.limits.instances")
    assert "12" not in failure.message and "capabilities.limits.instances is 5" in failure.message
    assert _failure(call("starts_many", limits=Limits(instances=20))).kind == "load"


def test_every_call_gets_a_fresh_instance(call: Call) -> None:
    limits = Limits(memory_bytes=8 * 1024 * 1024)
    for _ in range(3):
        assert isinstance(call("grow_then_pass", "ok", limits=limits), ToolResult)


def test_a_guest_sees_the_environment_it_is_given_and_no_other(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET", "s")
    assert call("environment") == ToolResult("passed", data="")
    given = (("MURMUR_SESSION_ID", "ses_ä"), ("B", "2"))
    assert call("environment", env=given) == ToolResult("passed", data="ses_ä")


def test_a_preopened_directory_is_read_and_written_through_its_descriptor(
    call: Call, tmp_path: Path
) -> None:
    (tmp_path / "note").write_text("hello")
    folder = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        preopens = (Preopen(folder, "."),)
        assert call("read", "note", preopens=preopens) == ToolResult("passed", data="hello")
        assert call("write", "made", preopens=preopens) == ToolResult("passed", data="made")
    finally:
        os.close(folder)
    assert (tmp_path / "made").read_text() == "made"


def test_a_guest_without_a_preopen_has_no_directory(call: Call) -> None:
    assert call("read", "note") == ToolResult("passed", data="p000")


def test_a_read_only_preopen_refuses_to_write(call: Call, tmp_path: Path) -> None:
    folder = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        result = call("write", "made", preopens=(Preopen(folder, ".", read_only=True),))
    finally:
        os.close(folder)
    assert isinstance(result, ToolResult) and result.data is not None
    assert result.data.startswith("o")
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("path", ["../outside", "link", "/outside"])
def test_a_guest_does_not_leave_its_directory(call: Call, tmp_path: Path, path: str) -> None:
    (tmp_path / "outside").write_text("secret")
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "link").symlink_to(tmp_path / "outside")
    folder = os.open(inside, os.O_RDONLY | os.O_DIRECTORY)
    try:
        result = call("read", path, preopens=(Preopen(folder, "."),))
    finally:
        os.close(folder)
    assert isinstance(result, ToolResult) and result.data is not None
    assert result.data.startswith("o")


def test_the_directory_is_the_one_whose_descriptor_was_held_not_what_the_path_is_now(
    call: Call, tmp_path: Path
) -> None:
    held, other = tmp_path / "held", tmp_path / "other"
    held.mkdir()
    other.mkdir()
    (held / "note").write_text("held")
    (other / "note").write_text("other")
    folder = os.open(held, os.O_RDONLY | os.O_DIRECTORY)
    try:
        held.rename(tmp_path / "moved")
        held.symlink_to(other)
        result = call("read", "note", preopens=(Preopen(folder, "."),))
    finally:
        os.close(folder)
    assert result == ToolResult("passed", data="held")


def test_stream_calls_reach_the_runtime_in_order(call: Call) -> None:
    heard: list[tuple[str, dict[str, Any]]] = []
    call("speak", "hi", role="driver", on_event=lambda name, facts: heard.append((name, facts)))
    assert heard == [
        ("emit-chunk", {"chunk": "hi"}),
        ("emit-thinking-chunk", {"chunk": "hi"}),
        ("tool-call-started", {"id": "hi", "name": "hi"}),
        ("tool-call-input-bytes", {"id": "hi", "bytes": 5_000_000_000}),
    ]


def test_stream_calls_do_nothing_outside_a_task(call: Call) -> None:
    heard: list[str] = []
    result = call("speak", "hi", in_task=False, on_event=lambda name, facts: heard.append(name))
    assert result == ToolResult("passed", data="hi") and heard == []


def test_request_input_waits_for_the_answer_and_the_wait_is_not_charged(call: Call) -> None:
    def answer(question: Question) -> Value:
        (prompt,) = question.arguments
        assert (question.interface, question.function) == (TASK_INTERFACE, "request-input")
        time.sleep(1.2)
        return Value(f"{prompt} yes")

    limits = Limits(deadline_seconds=0.5)
    result = call("ask", "sure?", answering=answer, limits=limits)
    assert result == ToolResult("passed", data="sure? yes")


@pytest.mark.parametrize(
    "settings", [{"role": "driver"}, {"in_task": False}, {}], ids=["driver", "no-task", "no-answer"]
)
def test_request_input_traps_at_once_where_nobody_can_answer(
    call: Call, settings: dict[str, Any]
) -> None:
    failure = _failure(call("ask", "sure?", **settings))
    assert failure.kind == "trap" and "request-input" in failure.message


def test_request_input_that_is_refused_traps_with_the_reason(call: Call) -> None:
    def refuse(question: Question) -> Value:
        raise InputRefused("input-timeout")

    failure = _failure(call("ask", "sure?", answering=refuse))
    assert failure.kind == "trap" and "input-timeout" in failure.message


def test_murmur_process_answers_refused_with_the_rule_unavailable(call: Call) -> None:
    assert call("start_program", "/bin/true") == ToolResult("failed", data="unavailable")


def test_no_guest_gets_a_raw_socket(call: Call) -> None:
    access_denied = 1
    assert call("socket") == ToolResult("passed", data=f"e{access_denied:03}")


def test_a_guest_built_for_another_version_fails_to_load_and_says_which(call: Call) -> None:
    failure = _failure(call("newer"))
    assert (failure.kind, failure.field) == ("unlinked", "murmur:task/task@9.9.0")
    assert "imports murmur:task/task@9.9.0, but murmur:task/task@0.1.0 is served" in failure.message
    assert "mur install" in failure.message
    failure = _failure(call("outdated"))
    assert failure.kind == "load" and "murmur:tool/run@0.2.0" in failure.message


def test_an_import_that_the_host_does_not_provide_makes_instantiation_fail(call: Call) -> None:
    failure = _failure(call("foreign"))
    assert (failure.kind, failure.field) == ("unlinked", "test:elsewhere/nowhere")
    assert "test:elsewhere/nowhere" in failure.message


def test_cancelling_ends_the_call_at_once_and_the_next_call_works(call: Call) -> None:
    cancel = threading.Event()
    threading.Timer(0.2, cancel.set).start()
    started = time.monotonic()
    assert _failure(call("sleep", cancel=cancel)).kind == "cancelled"
    assert time.monotonic() - started < 2
    assert isinstance(call("echo", "x"), ToolResult)


def test_a_crash_of_the_host_is_a_failed_call_and_the_next_call_works(
    call: Call, guests: Guests
) -> None:
    call("echo", "x")
    host = guests._hosts["tools"].pid
    threading.Timer(0.3, os.kill, (host, signal.SIGABRT)).start()
    failure = _failure(call("sleep"))
    assert failure.kind == "trap" and "SIGABRT" in failure.message
    assert isinstance(call("echo", "x"), ToolResult)


def test_a_host_killed_between_calls_fails_no_call(call: Call, guests: Guests) -> None:
    call("echo", "x")
    os.kill(guests._hosts["tools"].pid, signal.SIGKILL)
    time.sleep(0.1)
    assert isinstance(call("echo", "x"), ToolResult)


def test_calls_from_several_threads_do_not_mix(call: Call) -> None:
    results: dict[int, GuestResult] = {}

    def one(number: int) -> None:
        role = "driver" if number % 2 else "tool"
        results[number] = call("echo", f"n{number}", role=role)

    call("echo", "compiled")
    threads = [threading.Thread(target=one, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {number: ToolResult("passed", data=f"n{number}") for number in range(8)}


def test_a_compiled_form_that_is_none_is_a_load_failure(guests: Guests, tmp_path: Path) -> None:
    form = tmp_path / "form"
    for number, content in enumerate((b"", b"no compiled form", bytes(100_000))):
        form.write_bytes(content)
        failure = _failure(guests.call(GuestCall("x", "tool", form, f"bad{number}", ToolInput())))
        assert failure.kind == "load" and "compiled form" in failure.message


def test_a_link_in_place_of_the_compiled_form_is_not_followed(
    guests: Guests, tmp_path: Path
) -> None:
    (tmp_path / "link").symlink_to("/etc/passwd")
    with pytest.raises(OSError):
        guests.call(GuestCall("x", "tool", tmp_path / "link", "link"))


@pytest.mark.parametrize("wasm", [b"", b"not wasm", b"\0asm\1\0\0\0"], ids=["none", "text", "core"])
def test_what_is_no_component_does_not_compile(guests: Guests, tmp_path: Path, wasm: bytes) -> None:
    with open(tmp_path / "out", "wb") as target, pytest.raises(CompileFailed):
        guests.compile(wasm, target.fileno())
    assert (tmp_path / "out").read_bytes() == b""


def test_the_engine_key_is_sixteen_hex_digits_and_depends_on_the_build(guests: Guests) -> None:
    key = guests.engine_key("1.0")
    assert len(key) == 16 and set(key) <= set("0123456789abcdef")
    assert key == guests.engine_key("1.0") != guests.engine_key("1.1")


def test_the_zygote_runs_isolated_from_the_users_python() -> None:
    argv = zygote_argv()
    assert argv[1:4] == ["-I", "-S", "-c"]


def test_a_guest_that_returns_more_than_the_runtime_takes_fails_and_the_host_lives(
    call: Call, guests: Guests
) -> None:
    call("echo", "x")
    host = guests._hosts["tools"].pid
    failure = _failure(call("flood", "result"))
    assert failure.kind == "trap" and "more than" in failure.message
    call("echo", "x")
    assert guests._hosts["tools"].pid == host


def test_a_guest_that_says_more_at_once_than_the_runtime_takes_traps(call: Call) -> None:
    heard: list[str] = []
    failure = _failure(call("shout", "x", on_event=lambda name, facts: heard.append(name)))
    assert failure.kind == "trap" and "more than" in failure.message
    assert heard == []


def test_a_guest_that_never_stops_talking_is_ended_on_time(call: Call) -> None:
    count = 0

    def hear(name: str, facts: dict[str, Any]) -> None:
        nonlocal count
        count += 1

    started = time.monotonic()
    failure = _failure(call("babble", "x", on_event=hear, limits=Limits(deadline_seconds=0.5)))
    assert failure.kind == "deadline" and count > 10
    assert time.monotonic() - started < 2


def test_an_exception_of_the_runtimes_own_listener_ends_the_call_and_the_next_works(
    call: Call,
) -> None:
    def fail(name: str, facts: dict[str, Any]) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        call("speak", "x", on_event=fail)
    assert isinstance(call("echo", "x"), ToolResult)
