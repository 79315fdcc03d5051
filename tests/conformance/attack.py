"""What runs inside: tries every expression of rows.json and writes what each came to.

It is started by name in the work folder of a contained session, with Python and bare system calls
at hand. Nothing here is imported by the tests; the expressions are data of theirs.
"""

import ctypes
import errno
import fcntl
import json
import mmap
import os
import resource
import signal
import socket
import termios
import time
from collections.abc import Callable

STARTED_WITH: list[int] = []
for number in range(1024):
    try:
        fcntl.fcntl(number, fcntl.F_GETFD)
    except OSError:
        continue
    STARTED_WITH.append(number)

libc = ctypes.CDLL(None, use_errno=True)
X86 = os.uname().machine == "x86_64"


def call(x86: int | None, arm: int | None, *arguments: object) -> object:
    """A bare system call by its number on either architecture; `absent` where there is none."""
    number = x86 if X86 else arm
    if number is None:
        return "absent"
    result = libc.syscall(number, *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), "")
    return int(result)


def opened(path: str, flags: int = os.O_RDONLY, folder: int | None = None) -> str:
    os.close(os.open(path, flags, dir_fd=folder))
    return "opened"


def held_at_start(descriptor: int) -> str:
    if descriptor not in STARTED_WITH:
        raise OSError(errno.EBADF, "")
    return "held"


def text(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


def written(path: str) -> str:
    with open(path, "w", encoding="utf-8") as file:
        file.write("x")
    return "written"


def connected(family: int, kind: int, address: str | tuple[str, int]) -> str:
    with socket.socket(family, kind) as one:
        one.settimeout(2)
        one.connect(address)
    return "connected"


def sent(address: tuple[str, int]) -> str:
    """A datagram went off; whether anybody got it is seen outside."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.sendto(b"secret", address)
    return "sent"


def families() -> list[int]:
    """The socket families that can be made, beside the two of IP."""
    made = []
    for family in range(48):
        if family in (socket.AF_INET, socket.AF_INET6):
            continue
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET):
            try:
                socket.socket(family, kind).close()
            except OSError:
                continue
            made.append(family)
    return made


def option(level: int, name: int, value: int) -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as one:
        one.setsockopt(level, name, value)
    return "set"


def refusals(*calls: tuple[int | None, int | None]) -> dict[str, object]:
    """Of several system calls with empty arguments, those that came to anything but EPERM."""
    odd = {}
    for x86, arm in calls:
        try:
            result = call(x86, arm, 0, 0, 0, 0, 0, 0)
        except OSError as failure:
            result = errno.errorcode.get(failure.errno or 0)
        if result not in ("EPERM", "absent"):
            odd[f"{x86}"] = result
    return odd


def in_child(act: Callable[[], object]) -> object:
    """What `act` comes to in a process of its own: a value's text, an error, or a signal."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            said = str(act())
        except OSError as failure:
            said = errno.errorcode.get(failure.errno or 0, str(failure))
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    with open(reading, encoding="utf-8") as end:
        said = end.read()
    _, status = os.waitpid(child, 0)
    return signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else said


def machine_code(code: bytes) -> object:
    """Runs code of our own in anonymous memory."""
    room = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    room.write(code)
    address = ctypes.addressof(ctypes.c_char.from_buffer(room))
    return ctypes.CFUNCTYPE(ctypes.c_int)(address)()


def old_abi() -> object:
    """getpid by x86's 32-bit entry, which the filter cannot tell by its number."""
    if not X86:
        return "absent"
    return in_child(lambda: machine_code(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3"))


def moved_then(path: str, name: str) -> object:
    """Opens a bare name after going to its folder, which no right of Landlock holds off."""

    def act() -> object:
        os.chdir(path)
        return opened(name)

    return in_child(act)


def linked_from_nothing(target: str) -> object:
    """A file without a name gets one elsewhere, by its descriptor."""
    held = os.open(".", os.O_TMPFILE | os.O_RDWR, 0o600)
    try:
        os.link(f"/proc/self/fd/{held}", target, follow_symlinks=True)
    finally:
        os.close(held)
    return "linked"


def exchanged(left: str, right: str) -> object:
    return call(316, 276, -100, left.encode(), -100, right.encode(), 2)


def mapped_writable(path: str) -> str:
    """A shared mapping that writes to a file which may only be read."""
    held = os.open(path, os.O_RDONLY)
    mmap.mmap(held, 0, flags=mmap.MAP_SHARED, prot=mmap.PROT_READ | mmap.PROT_WRITE)
    return "mapped"


def dirty_pipe(path: str) -> str:
    """Writes into a page that a pipe shares with a read-only file, where the kernel forgets to
    ask; what the file holds then."""
    reading, writing = os.pipe()
    room = fcntl.fcntl(writing, fcntl.F_GETPIPE_SZ)
    os.write(writing, bytes(room))
    os.read(reading, room)
    with open(path, "rb") as file:
        os.splice(file.fileno(), writing, 1, offset_src=0)
    os.write(writing, b"XX")
    return text(path)


def swapped(path: str, seconds: float = 0.5) -> list[str]:
    """What a name comes to while it is a file and a link out, in turns."""
    seen = set()
    child = os.fork()
    if child == 0:
        while True:
            os.symlink(path, "swap-link")
            os.rename("swap-link", "swap")
            with open("swap-file", "w", encoding="utf-8") as file:
                file.write("mine")
            os.rename("swap-file", "swap")
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            seen.add(text("swap"))
        except OSError as failure:
            seen.add(errno.errorcode.get(failure.errno or 0, "?"))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return sorted(seen - {"", "ENOENT"})


def main() -> None:
    with open("rows.json", encoding="utf-8") as file:
        rows = json.load(file)
    results: dict[str, object] = {}
    for name, expression in rows.items():
        try:
            results[name] = eval(expression)
        except socket.gaierror:
            results[name] = "gaierror"
        except OSError as failure:
            results[name] = errno.errorcode.get(failure.errno or 0, str(failure))
        except Exception as failure:
            results[name] = type(failure).__name__
    with open("results.json", "w", encoding="utf-8") as file:
        json.dump(results, file)


# Only the expressions use these.
_USED_BY_ROWS = (resource, termios)

if __name__ == "__main__":
    main()
