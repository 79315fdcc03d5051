"""A guest that is kept and called again, as a hook is. spec/artifacts.md 6, *Instance lifetime*."""

from __future__ import annotations

from collections.abc import Callable

from murmur.guest.calls import GuestFailure, GuestResult, Limits, ToolResult
from murmur.guest.client import Guests

Call = Callable[..., GuestResult]


def _count(call: Call, data: str = "x", *, artifact_role: str = "hook", **more: object) -> str:
    result = call("count", data, role=artifact_role, lasting=True, **more)
    assert isinstance(result, ToolResult), result
    assert result.data is not None
    return result.data


def test_a_lasting_guest_remembers_its_earlier_calls(call: Call) -> None:
    first = int(_count(call))
    assert [_count(call), _count(call)] == [str(first + 1), str(first + 2)]


def test_a_hook_has_a_host_of_its_own(call: Call, guests: Guests) -> None:
    call("echo", "x")
    _count(call)
    assert guests._hosts["hook count"].pid != guests._hosts["tools"].pid


def test_a_call_in_an_instance_of_its_own_leaves_the_lasting_one_alone(call: Call) -> None:
    before = int(_count(call))
    alone = call("count", "x", role="hook")
    assert isinstance(alone, ToolResult) and alone.data == "1"
    assert _count(call) == str(before + 1)


def test_a_guest_that_failed_is_made_anew(call: Call) -> None:
    _count(call)
    failure = call("count", "!", role="hook", lasting=True)
    assert isinstance(failure, GuestFailure) and failure.kind == "trap"
    assert _count(call) == "1"


def test_each_call_of_a_lasting_guest_has_its_whole_time(call: Call) -> None:
    limits = Limits(deadline_seconds=1)
    first = int(_count(call, limits=limits))
    for number in range(1, 4):
        assert _count(call, limits=limits) == str(first + number)


def test_a_function_that_a_component_has_not_is_absent_and_costs_it_nothing(call: Call) -> None:
    before = int(_count(call))
    failure = call("count", "x", role="hook", lasting=True, function="murmur:tool/run@0.2.0#walk")
    assert isinstance(failure, GuestFailure) and failure.kind == "absent"
    assert failure.field == "murmur:tool/run@0.2.0#walk"
    assert _count(call) == str(before + 1)


def test_a_component_without_a_function_that_it_must_have_does_not_load(call: Call) -> None:
    failure = call("count", "x", role="hook", must_export=("run", "walk"))
    assert isinstance(failure, GuestFailure) and failure.kind == "load"
    assert "walk of murmur:tool/run@0.2.0" in failure.message


def test_a_fresh_call_begins_a_run_with_a_guest_that_remembers_nothing(call: Call) -> None:
    def count(*, fresh: bool = False) -> str:
        return _count(call, artifact_role="process-driver", fresh=fresh)

    assert [count(fresh=True), count(), count()] == ["1", "2", "3"]
    assert [count(fresh=True), count()] == ["1", "2"]


def test_a_process_driver_has_a_host_of_its_own_and_no_way_out(call: Call, guests: Guests) -> None:
    failure = call("fetch", "http://127.0.0.1/", role="process-driver")
    assert isinstance(failure, GuestFailure) and failure.kind == "load"
    assert "wasi:http" in failure.message and failure.message.startswith("process driver 'fetch'")
    _count(call, artifact_role="process-driver", fresh=True)
    assert guests._hosts["process-driver"].pid != guests._hosts["tools"].pid
