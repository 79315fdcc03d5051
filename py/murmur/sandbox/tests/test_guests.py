"""The zygote's namespaces and a guest host's lockdown. design/decisions.md 7 and 10."""

import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from murmur.sandbox.guests import GuestsProcess, start_zygote
from murmur.sandbox.lockdown import (
    HostLockdown,
    Opening,
    find_library,
    interpreter_openings,
    lockdown_spec,
)
from murmur.sandbox.probe import HostReading
from murmur.sandbox.results import SetUpFailed

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the helper's home")

# Answers each line of Python that arrives on descriptor 3 with the repr of its value, as JSON.
ANSWERING = """
import json, os, socket
channel = socket.socket(fileno=3).makefile("rw")
names = {}
for line in channel:
    try:
        value = eval(line, names)
    except Exception as failure:
        value = type(failure).__name__
    channel.write(json.dumps(value) + "\\n")
    channel.flush()
"""


class Zygote:
    def __init__(self, helper: Path) -> None:
        self.channel, theirs = socket.socketpair()
        argv = [os.path.realpath(sys.executable), "-I", "-S", "-c", ANSWERING]
        with theirs:
            self.process: GuestsProcess = start_zygote(helper, argv, theirs)
        self.channel.settimeout(20)
        self.file = self.channel.makefile("rw")

    def ask(self, expression: str) -> object:
        self.file.write(expression.strip().replace("\n", " ") + "\n")
        self.file.flush()
        return json.loads(self.file.readline())

    def close(self) -> None:
        self.file.close()
        self.channel.close()
        self.process.listener.close()
        os.waitpid(self.process.pid, 0)


@pytest.fixture
def zygote(helper: Path) -> Iterator[Zygote]:
    made = Zygote(helper)
    yield made
    made.close()


def test_the_zygote_has_an_empty_environment_and_no_foreign_descriptor(zygote: Zygote) -> None:
    environment = zygote.ask("dict(__import__('os').environ)")
    assert isinstance(environment, dict)
    assert set(environment) <= {"LC_CTYPE"}, "Python's own coercion of the locale, at most"
    listed = zygote.ask("sorted(map(int, __import__('os').listdir('/proc/self/fd')))")
    assert isinstance(listed, list)
    assert listed[:4] == [0, 1, 2, 3]
    assert len(listed) == 5, "and the folder that is being listed"


def test_the_zygotes_network_is_its_own_and_the_listener_is_in_it(
    zygote: Zygote, reading: HostReading
) -> None:
    if not reading.network.ok:
        assert not zygote.process.contained
        assert zygote.process.reason
        return
    assert (zygote.process.contained, zygote.process.reason) == (True, None)
    port = zygote.process.listener.getsockname()[1]
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), 1)
    sent = zygote.ask(
        f"__import__('socket').create_connection(('127.0.0.1', {port}), 5).send(b'hello')"
    )
    assert sent == 5
    zygote.process.listener.settimeout(5)
    connection, _ = zygote.process.listener.accept()
    with connection:
        assert connection.recv(10) == b"hello"


WITHOUT_NAMESPACES = """
import json, os, socket, sys
from pathlib import Path
from murmur.sandbox.guests import start_zygote
ours, theirs = socket.socketpair()
with theirs:
    process = start_zygote(Path(sys.argv[1]), ["/bin/cat", "/dev/fd/3"], theirs)
with socket.create_connection(process.listener.getsockname(), 5):
    reached = True
print(json.dumps([process.contained, process.reason, reached]))
ours.close()
os.waitpid(process.pid, 0)
"""


def test_where_namespaces_are_refused_the_listener_is_on_the_hosts_loopback(
    helper: Path, reading: HostReading
) -> None:
    command = [sys.executable, "-c", WITHOUT_NAMESPACES, str(helper)]
    if reading.network.ok:  # then take them away: a user namespace that may have no others
        forbid = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"'
        command = ["unshare", "-U", "-r", "sh", "-c", forbid, "sh", *command]
    done = subprocess.run(
        command,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(each for each in sys.path if each)},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    contained, reason, reached = json.loads(done.stdout)
    assert (contained, reached) == (False, True)
    assert reason.startswith("namespaces: unshare")


def test_a_program_that_is_not_there_is_an_error(helper: Path) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs, pytest.raises(SetUpFailed, match="execve /no/such: No such file"):
        start_zygote(helper, ["/no/such"], theirs)


def test_the_zygote_dies_with_its_starter(helper: Path) -> None:
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            ours, theirs = socket.socketpair()
            os.set_inheritable(ours.fileno(), True)
            process = start_zygote(helper, ["/bin/sleep", "600"], theirs)
            os.write(write, str(process.pid).encode())
            time.sleep(60)
        finally:
            os._exit(1)
    os.close(write)
    pid = int(os.read(read, 20))
    os.close(read)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return
        if state == "Z":
            return
        time.sleep(0.02)
    os.kill(pid, signal.SIGKILL)
    pytest.fail("the zygote outlived its starter")


def locked(library: Path, spec: int, attempts: dict[str, str]) -> dict[str, object]:
    """What each attempt gives in a forked process that has locked itself down."""
    loaded = ctypes.CDLL(str(library))
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            error = ctypes.create_string_buffer(1024)
            done = loaded.mur_lockdown(ctypes.c_int(spec), error, ctypes.c_size_t(1024))
            results: dict[str, object] = {"lockdown": done, "error": error.value.decode()}
            for name, expression in attempts.items():
                try:
                    results[name] = eval(expression)
                except OSError as failure:
                    results[name] = f"errno {failure.errno}"
                except RuntimeError as failure:
                    results[name] = str(failure)
            os.write(write, json.dumps(results).encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as answers:
        text = answers.read()
    os.waitpid(child, 0)
    results = json.loads(text)
    assert isinstance(results, dict)
    return results


def test_a_locked_host_opens_what_it_was_given_and_nothing_else(
    helper: Path, reading: HostReading, tmp_path: Path
) -> None:
    if not reading.landlock.ok:
        pytest.skip(f"INCONCLUSIVE: {reading.landlock.reason}")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "data").write_text("given")
    (tmp_path / "other").write_text("not given")
    openings = (*interpreter_openings(), Opening(str(tmp_path / "in"), write=True))
    lockdown = HostLockdown(str(find_library(helper)), {"tools": openings})
    spec = lockdown.open_spec("tools")
    results = locked(
        Path(lockdown.library),
        spec,
        {
            "given": f"open('{tmp_path}/in/data').read()",
            "new": f"open('{tmp_path}/in/new', 'w').write('x')",
            "other": f"open('{tmp_path}/other').read()",
            "shadow": "open('/etc/shadow').read()",
            "import": "__import__('wave').__name__",
            "fork": "os.fork()",
            "exec": "os.execv('/bin/true', ['true'])",
            "unix": "socket.socket(socket.AF_UNIX).fileno() > 0",
            "inet": "socket.socket(socket.AF_INET).fileno() > 0",
            "thread": "__import__('threading').Thread(target=int).start()",
            "caps": "[line for line in open('/proc/self/status')]",
        },
    )
    os.close(spec)
    assert results["lockdown"] == 0, results["error"]
    assert results["given"] == "given"
    assert results["new"] == 1
    assert results["other"] == results["shadow"] == results["caps"] == "errno 13"
    assert results["import"] == "wave"
    assert results["fork"] == results["exec"] == "errno 1"
    assert results["unix"] == "errno 13"
    assert results["inet"] is True
    assert results["thread"] is None


def test_a_held_folder_that_was_replaced_fails_the_lockdown(helper: Path, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    held = os.open(tmp_path / "in", os.O_RDONLY)
    (tmp_path / "in").rename(tmp_path / "moved")
    (tmp_path / "in").mkdir()
    spec = lockdown_spec([Opening(str(tmp_path / "in"), held=held)])
    results = locked(find_library(helper), spec, {})
    os.close(spec)
    os.close(held)
    assert results["lockdown"] == -1
    assert str(results["error"]).startswith(f"landlock: openat2 {tmp_path}/in: Stale")


def test_a_process_with_a_second_thread_is_not_locked_down(helper: Path) -> None:
    library = find_library(helper)
    spec = lockdown_spec([])
    program = f"""
import ctypes, threading
library = ctypes.CDLL({str(library)!r})
wait = threading.Event()
threading.Thread(target=wait.wait, daemon=True).start()
error = ctypes.create_string_buffer(1024)
print(library.mur_lockdown({spec}, error, 1024), error.value.decode())
"""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program],
        pass_fds=[spec],
        capture_output=True,
        text=True,
        check=True,
    )
    os.close(spec)
    assert done.stdout.startswith("-1 threads: readdir the process has more than one thread")
