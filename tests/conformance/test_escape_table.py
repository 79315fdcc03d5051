"""Escapes that hold, as a table. spec/containment.md 8 to 14, 18 and 26.1, class `scoped`.

One command tries every row, with Python and bare system calls; each row is then a test of its own.
A row is an expression, and what it must come to: the name of an error, or a value.
"""

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from .conftest import FOLDERS, Prison

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the helper's home")

PRELUDE: Final = """
import ctypes, errno, fcntl, json, mmap, os, resource, signal, socket, sys, termios
libc = ctypes.CDLL(None, use_errno=True)
X86 = os.uname().machine == "x86_64"
def call(x86, arm, *arguments):
    number = x86 if X86 else arm
    if number is None:
        return "absent"
    result = libc.syscall(number, *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), "")
    return result
def opened(path, flags=os.O_RDONLY):
    os.close(os.open(path, flags))
    return "opened"
def connected(family, kind, address):
    with socket.socket(family, kind) as one:
        one.settimeout(2)
        one.connect(address)
    return "connected"
results = {}
for name, expression in json.load(open("rows.json")).items():
    try:
        results[name] = eval(expression)
    except socket.gaierror:
        results[name] = "gaierror"
    except OSError as failure:
        results[name] = errno.errorcode.get(failure.errno, str(failure))
    except Exception as failure:
        results[name] = type(failure).__name__
json.dump(results, open("results.json", "w"))
"""

REFUSED = ("EACCES", "EPERM", "ENOENT", "EROFS")
HIDDEN = ("EACCES", "ENOENT")  # by ptrace rules; for an ordinary user by hidepid before that
REFUSED_MOVE = (*REFUSED, "EXDEV")

# Paths are formatted with: base, the folder around the session; runtime, this process's pid.
ROWS: Final[dict[str, tuple[str, object]]] = {
    # The runtime and the holder.
    "runtime-memory": ('opened("/proc/{runtime}/mem")', "ENOENT"),
    "runtime-environment": ('opened("/proc/{runtime}/environ")', "ENOENT"),
    "runtime-descriptors": ('os.listdir("/proc/{runtime}/fd")', "ENOENT"),
    "runtime-root": ('os.listdir("/proc/{runtime}/root")', "ENOENT"),
    "runtime-signal": ("os.kill({runtime}, 9)", "ESRCH"),
    "runtime-pidfd": ("call(434, 434, {runtime}, 0)", "ESRCH"),
    "holder-memory": ('opened("/proc/1/mem")', HIDDEN),
    "holder-environment": ('opened("/proc/1/environ")', HIDDEN),
    "holder-map": ('opened("/proc/1/maps")', HIDDEN),
    "holder-root": ('os.listdir("/proc/1/root")', HIDDEN),
    "holder-program": ('os.readlink("/proc/1/exe")', HIDDEN),
    "holder-namespace": ('os.readlink("/proc/1/ns/user")', HIDDEN),
    "holder-trace": ("call(101, 117, 16, 1, 0, 0)", "EPERM"),
    "holder-descriptor": ("call(438, 438, os.pidfd_open(1), 0, 0)", "EPERM"),
    "holder-read": ("call(310, 270, 1, 0, 0, 0, 0, 0)", "EPERM"),
    "holder-write": ("call(311, 271, 1, 0, 0, 0, 0, 0)", "EPERM"),
    "holder-kcmp": ("call(312, 272, 1, 1, 0, 0, 0)", "EPERM"),
    "parent": ("os.getppid()", 0),
    # Files of other sessions and of the records.
    "other-session": ('opened("{base}/other/record.json")', "EACCES"),
    "other-session-list": ('os.listdir("{base}/other")', "EACCES"),
    "records-append": ('opened("{base}/records/trace.jsonl", os.O_WRONLY | os.O_APPEND)', REFUSED),
    "records-truncate": ('os.truncate("{base}/records/trace.jsonl", 0)', REFUSED),
    "records-remove": ('os.unlink("{base}/records/trace.jsonl")', REFUSED),
    "records-rename": ('os.rename("{base}/records/trace.jsonl", "{base}/work/t")', REFUSED_MOVE),
    "records-make": ('os.mkdir("{base}/records/made")', REFUSED),
    "records-link": ('os.symlink("/etc/passwd", "{base}/records/link")', REFUSED),
    "records-mode": ('os.chmod("{base}/records/trace.jsonl", 0o666)', "EROFS"),
    "runtime-folder-mode": ('os.chmod("{base}/runtime", 0o777)', "EROFS"),
    "records-time": ('os.utime("{base}/records/trace.jsonl")', "EROFS"),
    "host-mode": ('os.chmod("/etc/passwd", 0o666)', "EROFS"),
    "host-owner": ('os.chown("/etc/passwd", os.getuid(), os.getgid())', "EROFS"),
    "host-attribute": ('os.setxattr("/etc/passwd", "user.x", b"")', "EROFS"),
    "host-hard-link": ('os.link("/etc/passwd", "{base}/work/hard")', ("EXDEV", "EACCES")),
    "host-unnamed-file": ('opened("/var/tmp", os.O_TMPFILE | os.O_RDWR)', REFUSED),
    "host-handle": ("call(304, 265, -100, 0, 0)", "EPERM"),
    "magic-link": ('opened("/proc/self/root/etc/passwd")', "EACCES"),
    "own-memory": ('opened("/proc/self/mem", os.O_RDWR)', REFUSED),
    # Devices, kernel settings, cgroups.
    "terminal": ('opened("/dev/tty", os.O_RDWR)', ("EACCES", "ENXIO")),
    "terminal-master": ('opened("/dev/ptmx", os.O_RDWR)', "EACCES"),
    "terminal-input": ('fcntl.ioctl(0, termios.TIOCSTI, b"x")', "ENOTTY"),
    "device-memory": ('opened("/dev/mem")', ("EACCES", "ENOENT")),
    "device-messages": ('opened("/dev/kmsg")', ("EACCES", "ENOENT")),
    "device-fuse": ('opened("/dev/fuse", os.O_RDWR)', ("EACCES", "ENOENT")),
    "device-tunnel": ('opened("/dev/net/tun", os.O_RDWR)', ("EACCES", "ENOENT")),
    "device-entropy": ('opened("/dev/urandom", os.O_WRONLY)', "EACCES"),
    "device-null": ('opened("/dev/null", os.O_RDWR)', "opened"),
    "device-node": ('os.mknod("node", 0o60644, os.makedev(7, 0))', ("EPERM", "EACCES")),
    "shared-memory-folder": ('opened("/dev/shm/x", os.O_WRONLY | os.O_CREAT)', REFUSED),
    "sysrq": ('opened("/proc/sysrq-trigger", os.O_WRONLY)', REFUSED),
    "core-pattern": ('opened("/proc/sys/kernel/core_pattern", os.O_WRONLY)', REFUSED),
    "namespace-ceiling": ('opened("/proc/sys/user/max_user_namespaces", os.O_WRONLY)', REFUSED),
    "oom-score": ('opened("/proc/self/oom_score_adj", os.O_WRONLY)', REFUSED),
    "kernel-memory": ('opened("/proc/kcore")', REFUSED),
    "kernel-messages": ('opened("/proc/kmsg", os.O_RDONLY | os.O_NONBLOCK)', REFUSED),
    "kernel-log-call": ("call(103, 116, 3, 0, 0)", "EPERM"),
    "cgroup-leave": ('opened("/sys/fs/cgroup/cgroup.procs", os.O_WRONLY)', REFUSED),
    "cgroup-list": ('os.listdir("/sys/fs/cgroup")', "EACCES"),
    "sys": ('os.listdir("/sys/class")', "EACCES"),
    # Sockets.
    "unix": ("socket.socket(socket.AF_UNIX).close()", "EACCES"),
    "unix-abstract": ('connected(socket.AF_UNIX, socket.SOCK_STREAM, "\\0x")', "EACCES"),
    "unix-datagram-pair": ("len(socket.socketpair(1, socket.SOCK_DGRAM))", "EACCES"),
    "unix-raw-pair": ("len(socket.socketpair(1, socket.SOCK_RAW))", "EACCES"),
    "unix-stream-pair": ("len(socket.socketpair(1, socket.SOCK_STREAM))", 2),
    "unix-pair-elsewhere": (
        'socket.socketpair(1, socket.SOCK_STREAM)[0].sendto(b"x", "{base}/listening")', "EISCONN"
    ),
    "unix-pair-connect": (
        'socket.socketpair(1, socket.SOCK_STREAM)[0].connect("{base}/listening")', "EISCONN"
    ),
    "unix-packets-connect": (
        'socket.socketpair(1, socket.SOCK_SEQPACKET)[0].connect("{base}/packets")', "EISCONN"
    ),
    "netlink": ("socket.socket(16, socket.SOCK_RAW).close()", "EACCES"),
    "packet": ("socket.socket(17, socket.SOCK_RAW).close()", "EACCES"),
    "kernel-crypto": ("socket.socket(38, socket.SOCK_SEQPACKET).close()", "EPERM"),
    "virtual-machine": ("socket.socket(40, socket.SOCK_STREAM).close()", "EPERM"),
    "raw-ip": ("socket.socket(2, socket.SOCK_RAW, 1).close()", "EPERM"),
    "host-loopback": (
        'connected(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", {port}))', "ECONNREFUSED"
    ),
    "world": ('connected(socket.AF_INET, socket.SOCK_STREAM, ("1.1.1.1", 443))', "ECONNREFUSED"),
    "world-6": (
        'connected(socket.AF_INET6, socket.SOCK_STREAM, ("2606:4700::1111", 443))',
        ("ENETUNREACH", "EADDRNOTAVAIL", "EAFNOSUPPORT"),
    ),
    "name": ('socket.getaddrinfo("example.com", 443)', "gaierror"),
    # Namespaces, mounts, keys and other surface.
    "mount": ('call(165, 40, b"x", b"/", b"tmpfs", 0, 0)', "EPERM"),
    "unmount": ('call(166, 39, b"/proc", 2)', "EPERM"),
    "remount": ('call(442, 442, -100, b"/", 0, 0, 0)', "EPERM"),
    "open-tree": ('call(428, 428, -100, b"/", 1)', "EPERM"),
    "chroot": ('os.chroot(".")', "EPERM"),
    "unshare": ("call(272, 97, 0x10000000)", "EPERM"),
    "setns": ("call(308, 268, 0, 0)", "EPERM"),
    "clone-user": ("call(56, 220, 0x10000011, 0, 0, 0, 0)", "EPERM"),
    "clone3": ("call(435, 435, 0, 0)", "ENOSYS"),
    "io-uring": ("call(425, 425, 1, 0)", "EPERM"),
    "keyring": ("call(250, 219, 0, -3, 0)", "EPERM"),
    "add-key": ('call(248, 217, b"user", b"k", b"v", 1, -3)', "EPERM"),
    "bpf": ("call(321, 280, 0, 0, 0)", "EPERM"),
    "userfaultfd": ("call(323, 282, 0)", "EPERM"),
    "perf": ("call(298, 241, 0, 0, -1, -1, 0)", "EPERM"),
    "personality": ("call(135, 92, 0xffffffff)", "EPERM"),
    "listener": ("call(317, 277, 1, 8, 0)", "EPERM"),
    "host-name": ('socket.sethostname("x")', "EPERM"),
    "clock": ("call(227, 112, 0, 0)", "EPERM"),
    "fanotify": ("call(300, 262, 0, 0)", "EPERM"),
    "shared-memory-of-the-host": ("call(29, 194, {key}, 0, 0)", "ENOENT"),
    # Rights and limits.
    "capabilities": (
        'sum(int(l.split()[1], 16) for l in open("/proc/self/status") if l.startswith("Cap"))', 0
    ),
    "become-somebody": ("os.setresuid(12345, 12345, 12345)", ("EPERM", "EINVAL")),
    "join-a-group": ("os.setgroups([12345])", "EPERM"),
    "more-files": ("resource.setrlimit(resource.RLIMIT_NOFILE, (1 << 20, 1 << 20))", "ValueError"),
    "more-memory": ("resource.setrlimit(resource.RLIMIT_AS, (-1, -1))", "ValueError"),
    "core-dumps": ("list(resource.getrlimit(resource.RLIMIT_CORE))", [0, 0]),
    "higher-priority": ("os.setpriority(os.PRIO_PROCESS, 0, -5)", "EACCES"),
    "real-time": ("os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))", "EPERM"),
    "set-user-id": ('os.chmod("{base}/work/rows.json", 0o4755)', "EPERM"),
    "set-group-id": ('os.chmod("{base}/work/rows.json", 0o2755)', "EPERM"),
    # What a command is started with.
    "descriptors": ('sorted(map(int, os.listdir("/proc/self/fd")))[:3]', [0, 1, 2]),
    "inherited": ("fcntl.fcntl({inherited}, fcntl.F_GETFD)", "EBADF"),
    "input": ("os.read(0, 1).decode()", ""),
    "own-session": ("os.getsid(0) == os.getpid()", True),
    "secrets": ('[n for n in os.environ if "KEY" in n]', []),
    "unlisted-program": ('os.execve("/usr/bin/id", ["id"], {{}})', "EACCES"),
    "unlisted-program-by-descriptor": (
        'os.execve(os.open("/usr/bin/id", os.O_PATH), ["id"], {{}})', "EACCES"
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def verdicts(prison: Prison) -> Iterator[dict[str, object]]:
    key = 0x6D757201
    subprocess.run([sys.executable, "-c", _SHARED.format(key=key)], check=True, capture_output=True)
    inherited = os.open("/etc/passwd", os.O_RDONLY)
    os.set_inheritable(inherited, True)
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(prison.base / "listening"))
    packets = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    packets.bind(str(prison.base / "packets"))
    with listening, packets, socket.create_server(("127.0.0.1", 0)) as server:
        for each in (listening, packets):
            each.listen(1)
        facts = {
            "base": prison.base,
            "runtime": os.getpid(),
            "port": server.getsockname()[1],
            "key": key,
            "inherited": inherited,
        }
        rows = {name: expression.format(**facts) for name, (expression, _) in ROWS.items()}
        (prison.work / "rows.json").write_text(json.dumps(rows))
        (prison.work / "attack.py").write_text(PRELUDE)
        result = prison.run("python3", "attack.py")
        assert result.exit_code == 0, result
        yield json.loads((prison.work / "results.json").read_text())
    os.close(inherited)
    subprocess.run([sys.executable, "-c", _UNSHARED.format(key=key)], check=True)


_SHARED: Final = """
import ctypes
assert ctypes.CDLL(None).shmget({key}, 4096, 0o1600) >= 0
"""
_UNSHARED: Final = """
import ctypes
libc = ctypes.CDLL(None)
assert libc.shmctl(libc.shmget({key}, 0, 0), 0, None) == 0
"""


@pytest.mark.parametrize("name", ROWS)
def test_an_escape_comes_to_nothing(verdicts: dict[str, object], name: str) -> None:
    expected = ROWS[name][1]
    if isinstance(expected, tuple):
        assert verdicts[name] in expected
    else:
        assert verdicts[name] == expected


def test_the_trace_is_as_it_was(prison: Prison, verdicts: dict[str, object]) -> None:
    assert verdicts
    trace = prison.base / "records" / "trace.jsonl"
    assert trace.read_text() == "{}\n"
    assert trace.stat().st_mode & 0o777 == 0o600


def test_the_holder_survives_every_signal(prison: Prison) -> None:
    program = "import os\nfor n in range(1, 65):\n  try: os.kill(1, n)\n  except OSError: pass"
    assert prison.run("python3", "-c", program).exit_code == 0
    assert prison.run("true").exit_code == 0


def test_a_folder_that_becomes_a_link_while_commands_start_leads_nowhere(prison: Prison) -> None:
    """`cwd` is opened below the held work folder; whoever swaps it wins nothing but a refusal."""
    (prison.work / "real").mkdir()
    (prison.base / "other" / "inside").mkdir()
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            (prison.work / "here").unlink(missing_ok=True)
            (prison.work / "here").symlink_to(prison.base / "other")
            (prison.work / "here").unlink()
            (prison.work / "real").rename(prison.work / "here")
            (prison.work / "here").rename(prison.work / "real")

    swapping = threading.Thread(target=swap)
    swapping.start()
    try:
        for _ in range(60):
            result = prison.run("sh", "-c", "pwd -P", cwd="here")
            if result.set_up_failure is None:
                assert str(prison.work) in result.stdout.decode()
            else:
                assert "work folder" in result.set_up_failure
    finally:
        stop.set()
        swapping.join()


def test_a_process_that_hides_in_every_usual_way_dies_with_the_session(prison: Prison) -> None:
    """Two forks, a session of its own, no descriptors, deaf to every signal."""
    (prison.work / "hide.py").write_text(
        "import os, signal, time\n"
        "if os.fork(): os._exit(0)\n"
        "os.setsid()\n"
        "if os.fork(): os._exit(0)\n"
        "for n in range(1, 65):\n"
        "  try: signal.signal(n, signal.SIG_IGN)\n"
        "  except (OSError, ValueError): pass\n"
        "os.closerange(0, 64)\n"
        "while True:\n"
        "  open('alive', 'a').write('x'); time.sleep(0.02)\n"
    )
    assert prison.run("python3", "hide.py").exit_code == 0
    alive = prison.work / "alive"
    for _ in range(200):
        if alive.exists():
            break
        threading.Event().wait(0.02)
    assert alive.exists()
    assert prison.session.close()
    size = alive.stat().st_size
    threading.Event().wait(0.3)
    assert alive.stat().st_size == size
    assert not [name for name in FOLDERS if not Path(prison.base, name).exists()]
