"""Whatever a component does, its call ends with a failure that says what, and the next one works.

Each in hosts contained by the kernel. spec/sessions.md 25; design/decisions.md 7.
"""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from murmur.guest.calls import (
    CAPSULE_RUN,
    GateRules,
    GuestCall,
    GuestFailure,
    Limits,
    Returned,
    ToolInput,
    ToolResult,
)
from murmur.guest.client import CompileFailed, Guests
from murmur.guest.tests import components
from murmur.sandbox.guests import start_zygote
from murmur.sandbox.lockdown import HostLockdown, find_library, interpreter_openings
from murmur.sandbox.mur_sandbox import HelperMissing, find_helper
from tests.guests import zoo

SECOND = Limits(deadline_seconds=1)


class Keeper:
    """Contained guests with a compiled form of every animal that was asked for."""

    def __init__(self, guests: Guests, folder: Path) -> None:
        self.guests = guests
        self._folder = folder

    def form(self, name: str, component: bytes) -> Path:
        path = self._folder / f"{name}.cwasm"
        if not path.exists():
            target = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            try:
                self.guests.compile(component, target)
            finally:
                os.close(target)
        return path

    def run(self, name: str, limits: Limits | None = None) -> Returned | GuestFailure:
        form = self.form(name, zoo.component(name))
        function = f"{CAPSULE_RUN}#run"
        call = GuestCall(name, "capsule", form, name, function=function, limits=limits or Limits())
        return self.guests.invoke(call)

    def tool(
        self, name: str, data: str, limits: Limits | None = None, gate: GateRules | None = None
    ) -> ToolResult | GuestFailure:
        form = self.form(f"tool-{name}", components.component(name))
        call = GuestCall(
            name, "tool", form, name, ToolInput(data), limits=limits or Limits(), gate=gate
        )
        return self.guests.call(call)


@pytest.fixture(scope="module")
def keeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Keeper]:
    try:
        helper = find_helper()
    except HelperMissing as missing:
        pytest.skip(str(missing))
    modules = interpreter_openings()
    openings = dict.fromkeys(("compile", "capsule", "tools"), modules)
    lockdown = HostLockdown(str(find_library(helper)), openings)
    guests = Guests.start(functools.partial(start_zygote, helper), lockdown)
    yield Keeper(guests, tmp_path_factory.mktemp("zoo"))
    guests.close()


@pytest.fixture(autouse=True)
def session_alive(keeper: Keeper) -> Iterator[None]:
    yield
    assert keeper.run("returns") == Returned(None)
    assert keeper.tool("echo", "x") == ToolResult("passed", data="x")


@pytest.mark.parametrize("animal", ["spins", "spins_at_start", "sleeps_for_a_day"])
def test_what_does_not_end_is_ended_at_its_deadline(keeper: Keeper, animal: str) -> None:
    keeper.form(animal, zoo.component(animal))
    began = time.monotonic()
    failure = keeper.run(animal, SECOND)
    assert isinstance(failure, GuestFailure) and failure.kind == "deadline", failure
    assert failure.field == "capabilities.limits.deadline_seconds" and "1s" in failure.message
    assert 1.0 <= time.monotonic() - began < 5


@pytest.mark.parametrize(
    ("animal", "kind", "field", "said"),
    [
        ("traps", "trap", None, "unreachable"),
        ("recurses", "trap", None, "call stack exhausted"),
        ("grows_memory", "resource", "memory_bytes", "536870912"),
        ("wants_much_memory", "resource", "memory_bytes", "4294967296 wanted"),
        # The engine tells of a refused growth only when it is the first size of a table.
        ("grows_a_table", "trap", None, "unreachable"),
        ("traps_in_a_destructor", "trap", None, "unreachable"),
        ("hoards_handles", "trap", None, "handle limit exceeded"),
        ("hoards_timers", "trap", None, "handle limit exceeded"),
        (
            "two_thousand_instances",
            "resource",
            "instances",
            "capabilities.limits.instances is 1000",
        ),
        ("a_million_instances", "resource", "instances", "capabilities.limits.instances is 1000"),
        ("takes_an_argument", "load", None, "takes other arguments"),
        ("has_no_run", "load", None, "does not export murmur:capsule/run@0.1.0"),
    ],
)
def test_what_breaks_a_rule_is_a_failure_that_names_it(
    keeper: Keeper, animal: str, kind: str, field: str | None, said: str
) -> None:
    failure = keeper.run(animal)
    assert isinstance(failure, GuestFailure), failure
    named = field and f"capabilities.limits.{field}"
    assert (failure.kind, failure.field) == (kind, named), failure
    assert said in failure.message


def test_what_is_no_component_does_not_compile(keeper: Keeper) -> None:
    with pytest.raises(CompileFailed):
        keeper.form("is_garbage", zoo.component("is_garbage"))


@pytest.mark.parametrize("guest", ["flood", "shout"])
def test_a_huge_string_is_a_trap_of_the_guest(keeper: Keeper, guest: str) -> None:
    failure = keeper.tool(guest, "x")
    assert isinstance(failure, GuestFailure) and failure.kind == "trap"
    assert "70000000" in failure.message or "characters" in failure.message


def test_an_import_called_while_the_guest_is_entered_is_a_trap(keeper: Keeper) -> None:
    failure = keeper.tool("reenter", "x")
    assert isinstance(failure, GuestFailure) and failure.kind == "trap", failure
    assert "cannot leave component instance" in failure.message


def test_a_server_that_never_answers_costs_its_callers_deadline(keeper: Keeper) -> None:
    listener = keeper.guests.process.listener
    assert listener is not None
    held: list[socket.socket] = []

    def accept() -> None:
        held.append(listener.accept()[0])

    thread = threading.Thread(target=accept)
    thread.start()
    host, port = listener.getsockname()
    keeper.form("tool-fetch", components.component("fetch"))
    began = time.monotonic()
    gate = GateRules(f"{host}:{port}", "token", ("example.com",))
    failure = keeper.tool("fetch", "1example.com", SECOND, gate)
    thread.join()
    held[0].close()
    assert isinstance(failure, GuestFailure) and failure.kind == "deadline", failure
    assert time.monotonic() - began < 5


@pytest.mark.parametrize("sent", [signal.SIGSEGV, signal.SIGKILL, signal.SIGABRT])
def test_a_crash_of_the_host_is_a_failed_call(keeper: Keeper, sent: signal.Signals) -> None:
    form = keeper.form("tool-babble", components.component("babble"))
    call = GuestCall("babble", "tool", form, "babble", ToolInput("x"))

    def crash(kind: str, facts: dict[str, Any]) -> None:  # while the guest speaks
        with contextlib.suppress(ProcessLookupError):  # what it said before may still come in
            os.kill(keeper.guests._hosts["tools"].pid, sent)

    failure = keeper.guests.call(call, on_event=crash)
    assert isinstance(failure, GuestFailure) and failure.kind == "trap"
    assert f"its guest host ended ({sent.name})" in failure.message
