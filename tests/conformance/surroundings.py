"""What lies around a session while it is attacked, and how it looks afterwards."""

import ctypes
import os
import select
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tests.conformance.prison import Prison
from tests.conformance.rows import Control, Row, part

_KEY: Final = 0x6D757201


class Surroundings:
    """Listeners, a shared memory segment, an inheritable descriptor and other sessions' files.

    `facts` are what stands for `<name>` in the attempts.
    """

    def __init__(self, prison: Prison) -> None:
        base = prison.base
        (base / "other").mkdir(mode=0o700)
        (base / "other" / "record.json").write_text('{"token": "secret"}')
        self._trace = base / "records" / "trace.jsonl"
        self._trace.write_text("{}\n")
        self._trace.chmod(0o600)
        (base / "work" / "host-passwd").write_bytes(Path("/etc/passwd").read_bytes())
        self._sockets: list[socket.socket] = []
        self._shared(True)
        self.inherited = os.open("/etc/passwd", os.O_RDONLY)
        os.set_inheritable(self.inherited, True)
        abstract = f"murmur-conformance-{os.getpid()}"
        for kind, at in (
            (socket.SOCK_STREAM, str(base / "listening")),
            (socket.SOCK_SEQPACKET, str(base / "packets")),
            (socket.SOCK_STREAM, f"\0{abstract}"),
        ):
            listening = self._keep(socket.socket(socket.AF_UNIX, kind))
            listening.bind(at)
            listening.listen(1)
        server = self._keep(socket.create_server(("", 0)))
        self.datagrams = self._keep(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        self.datagrams.bind(("", 0))
        self.facts: dict[str, object] = {
            "base": base,
            "runtime": os.getpid(),
            "port": server.getsockname()[1],
            "datagrams": self.datagrams.getsockname()[1],
            "address": _own_address(),
            "abstract": abstract,
            "key": _KEY,
            "inherited": self.inherited,
        }

    def _keep(self, one: socket.socket) -> socket.socket:
        self._sockets.append(one)
        return one

    def _shared(self, make: bool) -> None:
        """A SysV segment of the host's, made or removed."""
        libc = ctypes.CDLL(None)
        at = libc.shmget(_KEY, 4096 if make else 0, 0o1600 if make else 0)
        assert at >= 0
        if not make:
            assert libc.shmctl(at, 0, None) == 0

    def close(self) -> None:
        for each in self._sockets:
            each.close()
        os.close(self.inherited)
        self._shared(False)


def _own_address() -> str:
    """An address of this host other than loopback's, where it has one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return "127.0.0.1"
        return str(probe.getsockname()[0])


AFTERWARDS: Final[tuple[Row, ...]] = part(
    Control("goes_on", 0),
    {
        "trace-unchanged": ("trace", "{}\n600"),
        "other-session-unchanged": ("other_record", '{"token": "secret"}'),
        "host-tmp-unchanged": ("host_tmp", []),
        "nothing-beside": ("beside", []),
        "udp-not-delivered": ("delivered", 0),
        "runtime-priority": ("own_priority", 0),
        "holder-out-of-everything": ("limit_the_holder", 0),
        "holder-deaf-to-signals": ("signal_the_holder", 0),
        "signal-everybody": ("signal_everybody", 0),
        "hidden-process": ("hide", "dead with its session"),
    },
)


def goes_on(prison: Prison, around: Surroundings) -> object:
    return prison.run("true").exit_code


def trace(prison: Prison, around: Surroundings) -> object:
    file = prison.base / "records" / "trace.jsonl"
    return f"{file.read_text()}{file.stat().st_mode & 0o777:o}"


def other_record(prison: Prison, around: Surroundings) -> object:
    return (prison.base / "other" / "record.json").read_text()


def host_tmp(prison: Prison, around: Surroundings) -> object:
    return [name for name in os.listdir("/tmp") if name == f"murmur-escape-{os.getpid()}"]


def beside(prison: Prison, around: Surroundings) -> object:
    """What the attacks left outside of the folders that commands write."""
    places = [prison.base, prison.base / "records", prison.base / "runtime"]
    found = {str(each.relative_to(prison.base)) for place in places for each in place.iterdir()}
    known = {
        "work", "runtime", "records", "other", "listening", "packets", "records/tmp",
        "records/home", "records/trace.jsonl", "runtime/task.md", "sealed-etc",
    }  # fmt: skip
    return sorted(found - known)


def delivered(prison: Prison, around: Surroundings) -> object:
    ready, _, _ = select.select([around.datagrams], [], [], 0.2)
    return len(ready)


def own_priority(prison: Prison, around: Surroundings) -> object:
    """A command may change what belongs to its user: of its own session alone.

    How far it moved the runtime from the priority that it was started with.
    """
    before = os.getpriority(os.PRIO_PROCESS, 0)
    prison.run("python3", "-c", "import os; os.setpriority(os.PRIO_USER, os.getuid(), 9)")
    return os.getpriority(os.PRIO_PROCESS, 0) - before


def limit_the_holder(prison: Prison, around: Surroundings) -> object:
    """The kernel lets a process lower the limits of its user's others. The holder needs nothing."""
    program = (
        "import resource\nfor n in range(16):\n  try: resource.prlimit(1, n, (0, 0))\n"
        "  except (OSError, ValueError): pass"
    )
    prison.run("python3", "-c", program)
    return prison.run("true").exit_code


def signal_the_holder(prison: Prison, around: Surroundings) -> object:
    program = "import os\nfor n in range(1, 65):\n  try: os.kill(1, n)\n  except OSError: pass"
    prison.run("python3", "-c", program)
    return prison.run("true").exit_code


def signal_everybody(prison: Prison, around: Surroundings) -> object:
    prison.run("python3", "-c", "import os, signal\nos.kill(-1, signal.SIGKILL)")
    return prison.run("true").exit_code


_HIDE: Final = (
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


def hide(prison: Prison, around: Surroundings) -> object:
    """Two forks, a session of its own, no descriptors, deaf to every signal. Ends the session."""
    prison.run("python3", "-c", _HIDE)
    alive = prison.work / "alive"
    deadline = time.monotonic() + 10
    while not alive.exists():
        if time.monotonic() > deadline:
            return "never started"
        time.sleep(0.02)
    if not prison.close():
        return "not all gone"
    size = alive.stat().st_size
    time.sleep(0.3)
    return "dead with its session" if alive.stat().st_size == size else "alive"


SEEN: Final[dict[str, Callable[[Prison, Surroundings], object]]] = {
    each.__name__: each
    for each in (
        trace, other_record, host_tmp, beside, delivered, own_priority, limit_the_holder,
        signal_the_holder, signal_everybody, hide,
    )
}  # fmt: skip


def undumpable() -> None:
    """As the runtime does first of all: a command of the same user cannot read its memory."""
    ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
