"""How guests' processes start, end, and take each other along. design/decisions.md 7."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from murmur.guest.calls import GuestResult, Preopen
from murmur.guest.client import Guests, GuestsFailed

from .starter import PlainProcess, plain_starter


def _alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def _gone_within(seconds: float, *pids: int) -> bool:
    end = time.monotonic() + seconds
    while any(_alive(pid) for pid in pids):
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def test_the_runtime_side_never_imports_the_engine() -> None:
    program = (
        "import sys, murmur.guest.client, murmur.guest.calls;"
        "assert not [name for name in sys.modules if name.startswith('wasmtime')]"
    )
    env = {"PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", program], check=True, env=env)


def test_closing_ends_the_zygote_and_every_host() -> None:
    guests = Guests.start(plain_starter)
    guests.warm("tools")
    guests.warm("drivers")
    pids = [host.pid for host in guests._hosts.values()]
    guests.close()
    guests.close()
    assert _gone_within(2, guests.process.pid, *pids)


def test_hosts_die_with_the_zygote_and_calls_fail_plainly() -> None:
    guests = Guests.start(plain_starter)
    guests.warm("tools")
    host = guests._hosts["tools"].pid
    os.kill(guests.process.pid, signal.SIGKILL)
    assert _gone_within(2, host)
    with pytest.raises(GuestsFailed):
        guests.warm("drivers")
    guests.close()


def test_a_killed_runtime_leaves_no_process_behind() -> None:
    program = (
        "import sys, time;"
        "from murmur.guest.client import Guests;"
        "from murmur.guest.tests.starter import plain_starter;"
        "guests = Guests.start(plain_starter); guests.warm('tools');"
        "print(guests.process.pid, guests._hosts['tools'].pid, flush=True); time.sleep(60)"
    )
    env = {"PYTHONPATH": os.pathsep.join(sys.path)}
    runtime = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, env=env)
    assert runtime.stdout is not None
    pids = [int(word) for word in runtime.stdout.readline().split()]
    assert all(_alive(pid) for pid in pids)
    runtime.kill()
    runtime.wait()
    runtime.stdout.close()
    assert _gone_within(2, *pids)


def test_a_zygote_that_does_not_start_is_a_plain_failure() -> None:
    guests = Guests.start(lambda argv, control: plain_starter(["/bin/false"], control))
    with pytest.raises(GuestsFailed):
        guests.warm("tools")
    guests.close()


def test_a_new_host_has_no_descriptor_but_its_own_socket_and_the_standard_three() -> None:
    guests = Guests.start(plain_starter)
    guests.warm("tools")
    guests.warm("drivers")
    for host in guests._hosts.values():
        assert len(os.listdir(f"/proc/{host.pid}/fd")) == 4
    guests.close()


def test_the_zygote_and_a_new_host_have_one_thread() -> None:
    guests = Guests.start(plain_starter)
    guests.warm("tools")
    for pid in (guests.process.pid, guests._hosts["tools"].pid):
        assert len(os.listdir(f"/proc/{pid}/task")) == 1
    guests.close()


def test_a_host_is_forked_within_fifty_milliseconds(guests: Guests) -> None:
    guests.engine_key()
    taken = []
    for number in range(5):
        started = time.monotonic()
        guests.warm(f"extra{number}")
        taken.append(time.monotonic() - started)
    assert min(taken) < 0.05, taken


def test_a_lockdown_library_that_cannot_be_loaded_fails_every_host(tmp_path: Path) -> None:
    class Missing:
        library = str(tmp_path / "libmur-lockdown.so")

        def open_spec(self, host: str) -> int:
            return os.open("/dev/null", os.O_RDONLY)

    guests = Guests.start(plain_starter, Missing())
    assert not guests.contained
    with pytest.raises(GuestsFailed):
        guests.warm("tools")
    guests.close()


def test_a_zygote_that_cannot_serve_says_why() -> None:
    def broken(argv: list[str], control: socket.socket) -> PlainProcess:
        program = "import sys; sys.modules['wasmtime'] = None; " + argv[4]
        return plain_starter([*argv[:4], program], control)

    guests = Guests.start(broken)
    with pytest.raises(GuestsFailed, match="wasmtime"):
        guests.engine_key()
    guests.close()


def test_the_end_of_a_session_leaves_no_word_on_the_terminal() -> None:
    program = (
        "from murmur.guest.client import Guests;"
        "from murmur.guest.tests.starter import plain_starter;"
        "guests = Guests.start(plain_starter);"
        "[guests.warm(f'h{number}') for number in range(8)];"
        "guests.close()"
    )
    env = {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"", b"")


def test_a_closed_host_is_never_signalled_again() -> None:
    guests = Guests.start(plain_starter)
    guests.warm("tools")
    host = guests._hosts["tools"]
    guests._forget("tools")
    host.handle, host.pid = None, os.getpid()
    host.kill()
    guests.close()


def test_many_calls_leave_no_descriptor_and_no_memory_behind_in_a_host(
    guests: Guests, call: Callable[..., GuestResult], tmp_path: Path
) -> None:
    def held() -> tuple[int, int]:
        pid = guests._hosts["tools"].pid
        status = Path(f"/proc/{pid}/status").read_text()
        mapped = int(status.partition("VmSize:")[2].split()[0])
        return len(os.listdir(f"/proc/{pid}/fd")), mapped

    folder = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        preopens = (Preopen(folder, "."),)
        for _ in range(5):
            call("write", "made", preopens=preopens)
            call("trap")
        before = held()
        for _ in range(50):
            call("write", "made", preopens=preopens)
            call("trap")
        after = held()
    finally:
        os.close(folder)
    assert after[0] <= before[0] + 3, "a few are closed a moment later"
    assert after[1] - before[1] < 1024 * 1024, "a leaked memory would hold 4 GiB of addresses"
