"""Guests in hosts that are contained by the kernel. design/decisions.md 7 and 10."""

from __future__ import annotations

import functools
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from murmur.guest.calls import (
    GateRules,
    GuestCall,
    GuestFailure,
    GuestResult,
    Limits,
    Preopen,
    ToolInput,
    ToolResult,
)
from murmur.guest.client import Guests, GuestsFailed
from murmur.guest.tests.components import component
from murmur.sandbox.guests import start_zygote
from murmur.sandbox.lockdown import (
    HostLockdown,
    Opening,
    find_library,
    interpreter_openings,
)
from murmur.sandbox.mur_sandbox import HelperMissing, find_helper


@dataclass(frozen=True, slots=True)
class Session:
    """Contained guests whose hosts may open `work` and nothing else of the user's."""

    guests: Guests
    base: Path

    @property
    def work(self) -> Path:
        return self.base / "work"

    def call(self, name: str, data: str | None = None, **settings: object) -> GuestResult:
        form = self.base / f"{name}.cwasm"
        if not form.exists():
            target = os.open(form, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            self.guests.compile(component(name), target)
            os.close(target)
        request = GuestCall(name, "tool", form, name, ToolInput(data), **settings)  # type: ignore[arg-type]
        return self.guests.call(request)

    def read(self, folder: Path, name: str) -> str | None:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            result = self.call("read", name, preopens=(Preopen(descriptor, "."),))
        finally:
            os.close(descriptor)
        assert isinstance(result, ToolResult), result
        return result.data

    def host(self) -> int:
        self.guests.warm("tools")
        return self.guests._hosts["tools"].pid


def _helper() -> Path:
    try:
        return find_helper()
    except HelperMissing as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    helper = _helper()
    base = tmp_path_factory.mktemp("session")
    (base / "work").mkdir()
    modules = interpreter_openings()
    calling = (*modules, Opening(str(base / "work"), write=True))
    openings = {"compile": modules, "tools": calling, "drivers": calling}
    lockdown = HostLockdown(str(find_library(helper)), openings)
    guests = Guests.start(functools.partial(start_zygote, helper), lockdown)
    yield Session(guests, base)
    guests.close()


def test_the_guests_are_contained_and_say_so(session: Session) -> None:
    assert session.guests.process.reason is None
    assert session.guests.contained
    session.host()
    assert session.guests._hosts["tools"].contained
    assert session.call("echo", "x") == ToolResult("passed", data="x")


def test_a_host_has_no_capability_no_new_privileges_and_a_filter(session: Session) -> None:
    status = Path(f"/proc/{session.host()}/status").read_text()
    facts = dict(re.findall(r"^(\w+):\s*(\S+)", status, re.MULTILINE))
    assert all(int(facts[name], 16) == 0 for name in ("CapEff", "CapPrm", "CapInh", "CapBnd"))
    assert (facts["NoNewPrivs"], facts["Seccomp"]) == ("1", "2")


@pytest.mark.parametrize("namespace", ["user", "net", "ipc", "uts"])
def test_hosts_live_in_namespaces_of_the_guests_own(session: Session, namespace: str) -> None:
    theirs = os.readlink(f"/proc/{session.host()}/ns/{namespace}")
    assert theirs != os.readlink(f"/proc/self/ns/{namespace}")


def test_a_host_has_an_empty_environment(session: Session) -> None:
    assert Path(f"/proc/{session.guests.process.pid}/environ").read_bytes() == b""
    assert Path(f"/proc/{session.host()}/environ").read_bytes() == b""


def test_the_granted_folder_is_read_and_written(session: Session) -> None:
    (session.work / "note").write_text("hello")
    assert session.read(session.work, "note") == "hello"
    descriptor = os.open(session.work, os.O_RDONLY | os.O_DIRECTORY)
    try:
        session.call("write", "made", preopens=(Preopen(descriptor, "."),))
    finally:
        os.close(descriptor)
    assert (session.work / "made").read_text() == "made"


def test_a_folder_that_the_host_was_not_granted_is_refused_by_the_kernel(
    session: Session,
) -> None:
    outside = session.base / "outside"
    outside.mkdir()
    (outside / "note").write_text("secret")
    descriptor = os.open(outside, os.O_RDONLY | os.O_DIRECTORY)
    try:
        result = session.call("read", "note", preopens=(Preopen(descriptor, "."),))
    finally:
        os.close(descriptor)
    if isinstance(result, GuestFailure):
        assert result.kind == "load" and "preopen" in result.message
    else:
        assert result.data == "o000", "the open fails, access denied"


def test_a_guest_reaches_the_gateway_listener_and_no_port_of_this_machine(
    session: Session,
) -> None:
    listener = session.guests.process.listener
    assert listener is not None

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(65536)
            connection.sendall(b"HTTP/1.1 204 X\r\nconnection: close\r\n\r\n")

    thread = threading.Thread(target=serve)
    thread.start()
    host, port = listener.getsockname()
    gate = GateRules(f"{host}:{port}", "tok", ("example.com",))
    assert session.call("fetch", "1example.com", gate=gate) == ToolResult("passed", data="s204")
    thread.join()
    with socket.create_server(("127.0.0.1", 0)) as other:
        other.settimeout(0.2)
        host, port = other.getsockname()
        gate = GateRules(f"{host}:{port}", "tok", ("example.com",))
        result = session.call("fetch", "1example.com", gate=gate)
        assert isinstance(result, ToolResult) and str(result.data).startswith("e")
        with pytest.raises(TimeoutError):
            other.accept()


@pytest.mark.parametrize("guest", ["spin", "sleep"])
def test_a_contained_guest_is_ended_on_time_and_the_next_call_works(
    session: Session, guest: str
) -> None:
    session.call("echo", "x")
    started = time.monotonic()
    failure = session.call(guest, limits=Limits(deadline_seconds=1))
    assert isinstance(failure, GuestFailure) and failure.kind == "deadline"
    assert 1.0 <= time.monotonic() - started < 4
    assert session.call("echo", "next") == ToolResult("passed", data="next")


def test_limits_hold_in_a_contained_host(session: Session) -> None:
    failure = session.call("grow_then_trap")
    assert isinstance(failure, GuestFailure)
    assert (failure.kind, failure.field) == ("resource", "capabilities.limits.memory_bytes")


def test_a_host_that_cannot_be_contained_opens_nothing(tmp_path: Path) -> None:
    helper = _helper()

    class Unfit:
        library = str(find_library(helper))

        def open_spec(self, host: str) -> int:
            return os.open(os.devnull, os.O_RDONLY)

    guests = Guests.start(functools.partial(start_zygote, helper), Unfit())
    with pytest.raises(GuestsFailed, match="could not be contained"):
        guests.warm("tools")
    with open(tmp_path / "form", "wb") as target, pytest.raises(GuestsFailed):
        guests.compile(component("echo"), target.fileno())
    assert (tmp_path / "form").read_bytes() == b""
    guests.close()


def test_a_process_with_two_threads_is_not_locked_down() -> None:
    program = """
import os, sys, threading
from murmur.guest import lockdown
library = lockdown.load_library(sys.argv[1])
threading.Thread(target=threading.Event().wait, daemon=True).start()
try:
    lockdown.apply(library, os.open(os.devnull, os.O_RDONLY))
except lockdown.LockdownFailed as failed:
    print(failed, flush=True)
    os._exit(7)
"""
    argv = [sys.executable, "-c", program, str(find_library(_helper()))]
    env = {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(argv, env=env, capture_output=True, text=True)
    assert done.returncode == 7, done.stderr
    assert "2 threads" in done.stdout
