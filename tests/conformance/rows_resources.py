"""Resource cases under the tight profile.

spec/containment.md 26.2 and 21. A row names a function of this module.
"""

from collections.abc import Callable
from typing import Final

from tests.conformance.prison import MIB, Prison
from tests.conformance.rows import Control, Row, part

_RUNS: Final = Control("runs", 0)

CASES: Final[tuple[Row, ...]] = part(
    _RUNS,
    {
        "fork-bomb": ("fork_bomb", "CONTAINED cgroup_pids_max"),
        "thread-bomb": ("thread_bomb", "CONTAINED"),
        "memory-hog": ("memory_hog", "CONTAINED cgroup_memory_bytes"),
        "memory-hog-shared": ("shared_memory_hog", "CONTAINED"),
        "memory-hog-in-pipes": ("pipe_hog", "CONTAINED"),
        "disk-filler-per-file": ("large_file", "CONTAINED max_file_size_bytes"),
        "disk-filler-aggregate": ("many_files", "CONTAINED"),
        "disk-filler-in-temporary-folder": ("many_temporary_files", "CONTAINED"),
        "fd-exhauster": ("descriptors", "CONTAINED"),
    },
)
# Cases that only a cgroup scope contains: inconclusive on a host without one.
NEED_SCOPE: Final = frozenset(
    {"fork-bomb", "thread-bomb", "memory-hog", "memory-hog-shared", "memory-hog-in-pipes"}
)


def runs(prison: Prison) -> object:
    """The control: an ordinary command, in a session of its own."""
    return prison.run("true").exit_code


def _contained(held: bool, limit: str | None = None) -> str:
    return (f"CONTAINED {limit}" if limit else "CONTAINED") if held else "UNCONTAINED"


def fork_bomb(prison: Prison) -> str:
    result = prison.run(
        "python3",
        "-c",
        "import os, time\nmade = 0\ntry:\n  while made < 200:\n"
        "    if os.fork() == 0: time.sleep(20); os._exit(0)\n    made += 1\n"
        "except BlockingIOError as e: print(made, e.errno)",
    )
    made, number = result.stdout.split()
    return _contained(25 <= int(made) <= 31 and int(number) == 11, result.resource_limit)


def thread_bomb(prison: Prison) -> str:
    result = prison.run(
        "python3",
        "-c",
        "import threading, time\nmade = 0\ntry:\n  while made < 200:\n"
        "    threading.Thread(target=time.sleep, args=(20,), daemon=True).start(); made += 1\n"
        "except RuntimeError: pass\nprint(made)",
    )
    return _contained(20 <= int(result.stdout) <= 31)


def memory_hog(prison: Prison) -> str:
    result = prison.run("python3", "-c", "x = bytearray(600 << 20); print(len(x))")
    return _contained(result.exit_code == 137 and not result.stdout, result.resource_limit)


def shared_memory_hog(prison: Prison) -> str:
    result = prison.run(
        "python3",
        "-c",
        "import mmap\nm = mmap.mmap(-1, 600 << 20)\n"
        "for n in range(0, 600 << 20, 4096): m[n] = 1\nprint('all')",
    )
    return _contained(result.exit_code == 137 and not result.stdout)


def pipe_hog(prison: Prison) -> str:
    """Pages in pipes belong to nobody's address space."""
    result = prison.run(
        "python3",
        "-c",
        "import fcntl, os\nfilled = 0\ntry:\n  while True:\n    a, b = os.pipe()\n"
        "    os.set_blocking(b, False)\n    fcntl.fcntl(b, fcntl.F_SETPIPE_SZ, 1 << 20)\n"
        "    filled += os.write(b, bytes(1 << 20))\nexcept OSError as e: print(filled, e.errno)",
    )
    filled = int(result.stdout.split()[0]) if result.stdout else 0
    return _contained(filled <= 256 * MIB)


def large_file(prison: Prison) -> str:
    result = prison.run(
        "python3", "-c", "f = open('big', 'wb')\nwhile f.write(bytes(1 << 20)): pass"
    )
    small = (prison.work / "big").stat().st_size <= 10 * MIB
    # Python is deaf to SIGXFSZ and is told EFBIG instead; a program that is not is killed.
    killed = prison.run("sh", "-c", "exec cat /dev/zero > big2")
    held = small and b"File too large" in result.stderr and killed.exit_code == 153
    return _contained(held, killed.resource_limit)


def many_files(prison: Prison) -> str:
    return _fill(prison, "f")


def many_temporary_files(prison: Prison) -> str:
    return _fill(prison, "/tmp/f")


def _fill(prison: Prison, prefix: str) -> str:
    prison.run(
        "python3", "-c",
        f"for n in range(7): open({prefix!r} + str(n), 'wb').write(bytes(9 << 20))",
    )  # fmt: skip
    second = prison.session.run(("true",), prison.env).set_up_failure or ""
    return _contained(second.startswith("error[E-RUN-013]") and "workdir_max_bytes" in second)


def descriptors(prison: Prison) -> str:
    result = prison.run(
        "python3",
        "-c",
        "import os\nheld = []\ntry:\n  while True: held.append(os.open('/dev/null', 0))\n"
        "except OSError as e: print(len(held), e.errno)",
    )
    most, number = result.stdout.split()
    return _contained(int(most) <= 128 and int(number) == 24)


ATTEMPTS: Final[dict[str, Callable[[Prison], object]]] = {
    each.__name__: each
    for each in (
        fork_bomb, thread_bomb, memory_hog, shared_memory_hog, pipe_hog, large_file, many_files,
        many_temporary_files, descriptors,
    )
}  # fmt: skip
