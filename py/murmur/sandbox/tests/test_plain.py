"""The environment-only tier, forced here. design/decisions.md 9, spec/containment.md 2."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from murmur.sandbox.cgroup import try_scope
from murmur.sandbox.hierarchy import Blocked, members
from murmur.sandbox.plain import PlainSession
from murmur.sandbox.policy import CommandPolicy, Demands, Folders, derive
from murmur.sandbox.probe import without_linux
from murmur.sandbox.resources import Resources
from murmur.sandbox.results import NotAllowed
from murmur.sandbox.session import open_session

from .watching import emptied, gone, until_alive

ENV = {"PATH": "/usr/bin:/bin"}


def policy(base: Path, **resources: int) -> CommandPolicy:
    names = ("work", "runtime", "records", "records/tmp", "records/home")
    for name in names:
        (base / name).mkdir()
    demands = Demands(("sh", "sleep", "dd", "perl", "head"), resources=Resources(**resources))
    folders = Folders(*(str(base / name) for name in names))
    return derive(without_linux(), folders, demands, "/usr/bin:/bin")


@pytest.fixture
def session(tmp_path: Path) -> Iterator[PlainSession]:
    opened = open_session(policy(tmp_path, max_open_files=100, max_file_size_bytes=1 << 20), None,
                          None)  # fmt: skip
    assert isinstance(opened, PlainSession)
    yield opened
    opened.close()


def test_a_command_runs_in_the_work_folder_with_its_environment(
    session: PlainSession, tmp_path: Path
) -> None:
    result = session.run(("sh", "-c", 'echo "$A" >&2; pwd; exit 3'), ENV | {"A": "b"})
    assert (result.exit_code, result.stderr, result.set_up_failure) == (3, b"b\n", None)
    assert result.stdout.decode().strip() == str(tmp_path / "work")


def test_a_binary_that_is_not_allowed_is_refused(session: PlainSession) -> None:
    with pytest.raises(NotAllowed):
        session.run(("cat", "/etc/passwd"), ENV)


def test_rlimits_are_in_force(session: PlainSession, tmp_path: Path) -> None:
    assert session.run(("sh", "-c", "ulimit -n; ulimit -c"), ENV).stdout == b"100\n0\n"
    result = session.run(("dd", "if=/dev/zero", "of=big", "bs=65536", "count=64"), ENV)
    assert result.resource_limit == "max_file_size_bytes"
    assert (tmp_path / "work" / "big").stat().st_size <= 1 << 20


def test_on_linux_without_seccomp_commands_run_in_the_scope(tmp_path: Path) -> None:
    try:
        scope = try_scope("ses_plain", Resources())
    except Blocked as blocked:
        pytest.skip(f"INCONCLUSIVE: {blocked.reason}")
    session = open_session(policy(tmp_path), scope, None)
    try:
        told = session.run(("sh", "-c", "while read l; do echo $l; done < /proc/self/cgroup"), ENV)
        assert told.stdout.decode().count(scope.folders[0].name) >= 1
        session.run(("sh", "-c", "sleep 600 & :"), ENV)
        assert scope.folders and members(scope.folders[0])
        assert session.close()
        assert emptied(scope.folders[0])
    finally:
        scope.kill()
        assert scope.remove()


def test_arguments_arrive_as_given(session: PlainSession) -> None:
    result = session.run(("sh", "-c", 'printf "%s|" "$@"', "x", "a b", "", "*"), ENV)
    assert result.stdout == b"a b||*|"


def test_a_timeout_and_a_cancel_stop_the_command(session: PlainSession) -> None:
    result = session.run(("sleep", "600"), ENV, timeout=0.2)
    assert (result.exit_code, result.timed_out) == (128 + signal.SIGTERM, True)
    cancel = threading.Event()
    threading.Timer(0.1, cancel.set).start()
    assert session.run(("sleep", "600"), ENV, cancel=cancel).cancelled


def test_output_is_whole(session: PlainSession) -> None:
    assert len(session.run(("head", "-c", "3000000", "/dev/zero"), ENV).stdout) == 3_000_000


def test_closing_kills_what_was_left_running(session: PlainSession) -> None:
    assert session.run(("sh", "-c", "sleep 61536.25 & sleep 61536.25 & :"), ENV).exit_code == 0
    running = session.start(("sleep", "61536.25"), ENV)
    until_alive("61536.25", 3)
    assert session.close()
    assert running.result is not None
    assert gone("61536.25")
    assert session.run(("sh", "-c", ":"), ENV).set_up_failure is not None


def test_a_killed_runtime_leaves_nothing_alive(tmp_path: Path) -> None:
    program = f"""
import sys, time
from pathlib import Path
from murmur.sandbox.cgroup import try_scope
from murmur.sandbox.hierarchy import Blocked, members
from murmur.sandbox.plain import PlainSession
from murmur.sandbox.tests.test_plain import policy, ENV
session = PlainSession(policy(Path({str(tmp_path)!r})))
session.start(("sh", "-c", "sleep 71536.25 & sleep 71536.25"), ENV)
print("ready", flush=True)
time.sleep(60)
"""
    runtime = subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(each for each in sys.path if each)},
    )
    assert runtime.stdout is not None
    try:
        assert runtime.stdout.readline() == b"ready\n"
        until_alive("71536.25", 2)
        runtime.send_signal(signal.SIGKILL)
        runtime.wait(5)
        assert gone("71536.25")
    finally:
        runtime.kill()
        runtime.stdout.close()


def test_what_commands_left_can_be_ended_while_the_session_goes_on(session: PlainSession) -> None:
    marker = "31541.25"
    session.run(("sh", "-c", f"sleep {marker} >/dev/null 2>&1 & :"), ENV)
    until_alive(marker, 1)
    session.kill_leftovers()
    assert gone(marker)
    session.kill_leftovers()  # nobody is left
    assert session.run(("sh", "-c", "exit 3"), ENV).exit_code == 3


def test_nothing_of_linux_is_needed_to_import_the_package(tmp_path: Path) -> None:
    """Every module but the launch's own, on a Python that lacks what other systems lack."""
    program = """
import os, select, signal, socket
for module, names in ((os, ["memfd_create", "P_PIDFD", "pidfd_open", "MFD_CLOEXEC"]),
                      (select, ["poll", "epoll"]), (signal, ["pidfd_send_signal"]),
                      (socket, ["SCM_RIGHTS", "MSG_CMSG_CLOEXEC", "SOCK_SEQPACKET"])):
    for name in names:
        if hasattr(module, name):
            delattr(module, name)
import murmur.sandbox.plain, murmur.sandbox.session, murmur.sandbox.guests
import murmur.sandbox.cgroup, murmur.sandbox.lockdown, murmur.sandbox.probe
"""
    env = os.environ | {"PYTHONPATH": os.pathsep.join(each for each in sys.path if each)}
    done = subprocess.run(
        [sys.executable, "-c", program], env=env, capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_the_command_of_a_session_starts_no_sooner_than_asked(session: PlainSession) -> None:
    started = time.monotonic()
    command = session.start(("sleep", "0.3"), ENV)
    assert command.wait(0.05) is None
    result = command.wait(10)
    assert result is not None
    assert 0.2 < time.monotonic() - started < 5
