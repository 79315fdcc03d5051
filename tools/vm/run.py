"""Runs one command on a stock Debian kernel, over a throw-away view of this machine's own files.

    tools/vm-run [-m MEGABYTES] [-t SECONDS] [-a 'KERNEL ARGUMENTS'] -- COMMAND [ARGUMENT...]

QEMU boots Debian's kernel, without /dev/kvm too. The root file system is this machine's, read-only
over 9p, below an overlay in memory: the command may write anywhere and nothing is kept. It runs as
root, with one cgroup v2 hierarchy, Landlock, AppArmor, and no network but lo. The machine changes
its root with switch_root: after a chroot the kernel would give nobody a user namespace.

Exits with the command's status; 124 when the time ran out, 125 when the machine did not come up.
Needs qemu-system-x86_64 and a static /bin/busybox. The kernel is fetched once with apt-get into
$MURMUR_VM_CACHE (default ~/.cache/murmur-vm).
"""

import argparse
import gzip
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

NOT_UP = 125
OUT_OF_TIME = 124
BUSYBOX = Path("/bin/busybox")
MODULES = (
    "drivers/virtio/virtio_ring",
    "drivers/virtio/virtio",
    "drivers/virtio/virtio_pci_legacy_dev",
    "drivers/virtio/virtio_pci_modern_dev",
    "drivers/virtio/virtio_pci",
    "fs/netfs/netfs",
    "fs/fscache/fscache",
    "net/9p/9pnet",
    "net/9p/9pnet_virtio",
    "fs/9p/9p",
    "fs/overlayfs/overlay",
)
BEGIN, END = "VM-RUN-BEGIN", "VM-RUN-END"

# In the initial file system: modules, then the overlay, then the new root with nothing beneath it.
FIRST = """#!/bin/busybox sh
b=/bin/busybox
$b mount -t proc p /proc
$b mount -t devtmpfs d /dev
for module in $($b cat /order); do $b insmod /modules/$module.ko; done
$b mount -t 9p -o trans=virtio,version=9p2000.L,msize=1048576,ro,cache=loose host /below || $b poweroff -f
$b mount -t tmpfs -o size=70% memory /above
$b mkdir /above/files /above/work
$b mount -t overlay -o lowerdir=/below,upperdir=/above/files,workdir=/above/work root /root || $b poweroff -f
$b mkdir -p /root/run && $b mount -t tmpfs run /root/run
$b cp /second /command /root/run/
exec $b switch_root /root /bin/busybox sh /run/second
"""  # noqa: E501
SECOND = f"""b=/bin/busybox
$b mount -t proc p /proc
$b mount -t sysfs s /sys
$b mount -t devtmpfs d /dev
$b mkdir -p /dev/pts /dev/shm
$b mount -t devpts p /dev/pts
$b mount -t tmpfs t /dev/shm
$b mount -t securityfs x /sys/kernel/security
$b mount -t cgroup2 c /sys/fs/cgroup
$b ip link set lo up
echo {BEGIN}
/bin/sh /run/command </dev/null
echo "{END} $?"
$b poweroff -f
"""


class NotUp(Exception):
    """Why there is no machine."""


def kernel_folder(cache: Path) -> Path:
    """A folder with Debian's kernel in boot/ and its modules in lib/; fetched if there is none."""
    found = cache / "kernel"
    if list(found.glob("boot/vmlinuz-*")):
        return found
    cache.mkdir(parents=True, exist_ok=True)
    told = _output("apt-cache", "depends", "linux-image-amd64")
    name = re.search(r"linux-image-[0-9]\S*", told)
    if name is None:
        raise NotUp("apt-cache knows no linux-image-amd64; run apt-get update")
    with tempfile.TemporaryDirectory(dir=cache) as fetched:
        _output("apt-get", "download", "-q", name[0], cwd=fetched)
        (package,) = Path(fetched).glob("*.deb")
        _output("dpkg", "-x", str(package), str(found))
    return found


def _output(*command: str, cwd: str | None = None) -> str:
    try:
        done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=True)
    except FileNotFoundError:
        raise NotUp(f"{command[0]} is not installed") from None
    except subprocess.CalledProcessError as failure:
        raise NotUp(f"{shlex.join(command)}: {failure.stderr.strip()}") from None
    return done.stdout


def _entries(kernel: Path, command: list[str]) -> Iterator[tuple[str, int, bytes]]:
    """Name, mode and content of what the initial file system holds."""
    for folder in ("bin", "modules", "proc", "dev", "below", "above", "root"):
        yield folder, 0o040755, b""
    yield "bin/busybox", 0o100755, BUSYBOX.read_bytes()
    order = []
    (modules,) = kernel.glob("lib/modules/*/kernel")
    for module in MODULES:
        file = modules / f"{module}.ko"
        if file.exists():  # some are built in, by version
            order.append(file.stem)
            yield f"modules/{file.name}", 0o100644, file.read_bytes()
    yield "order", 0o100644, " ".join(order).encode()
    yield "init", 0o100755, FIRST.encode()
    yield "second", 0o100644, SECOND.encode()
    names = ("PATH", "HOME", "LANG", "PYTHONPATH")
    exported = [f"{each}={shlex.quote(os.environ[each])}" for each in names if each in os.environ]
    lines = [
        f"cd {shlex.quote(os.getcwd())}",
        f"export VM_RUN=1 {' '.join(exported)}",
        f"exec {shlex.join(command)}",
    ]
    yield "command", 0o100644, "\n".join(lines).encode() + b"\n"


def archive(entries: Iterator[tuple[str, int, bytes]]) -> bytes:
    """The entries as a cpio archive in the kernel's form ("newc")."""
    parts: list[bytes] = []

    def add(number: int, name: str, mode: int, data: bytes) -> None:
        text = name.encode() + b"\0"
        fields = (number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(text), 0)
        head = b"070701" + b"".join(b"%08x" % field for field in fields) + text
        parts.extend((head, bytes(-len(head) % 4), data, bytes(-len(data) % 4)))

    for number, (name, mode, data) in enumerate(entries, start=1):
        add(number, name, mode, data)
    add(0, "TRAILER!!!", 0, b"")
    return b"".join(parts)


def boot(kernel: Path, initial: Path, memory: int, extra: str, seconds: float) -> tuple[str, bool]:
    """What the machine said, and whether it was stopped because the time ran out."""
    (image,) = kernel.glob("boot/vmlinuz-*")
    flags = Path("/proc/cpuinfo").read_text()
    fast = os.access("/dev/kvm", os.W_OK) and re.search(r"\b(vmx|svm)\b", flags) is not None
    command = [
        "qemu-system-x86_64",
        *("-accel", "kvm" if fast else "tcg,thread=multi", "-smp", "2", "-m", str(memory)),
        *("-kernel", str(image), "-initrd", str(initial)),
        *("-append", f"console=ttyS0 quiet loglevel=1 panic=-1 mitigations=off {extra}"),
        *("-display", "none", "-serial", "stdio", "-no-reboot", "-net", "none"),
        "-virtfs",
        "local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap",
    ]
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=seconds,
            check=False,
        )
    except FileNotFoundError:
        raise NotUp("qemu-system-x86_64 is not installed") from None
    except subprocess.TimeoutExpired as late:
        return (late.stdout or b"").decode("utf-8", "replace"), True
    return done.stdout.decode("utf-8", "replace"), False


def main() -> int:
    parser = argparse.ArgumentParser(description="Runs a command on a stock Debian kernel.")
    parser.add_argument("-m", "--memory", type=int, default=3072, metavar="MEGABYTES")
    parser.add_argument("-t", "--time", type=float, default=600, metavar="SECONDS")
    parser.add_argument("-a", "--append", default="", metavar="KERNEL_ARGUMENTS")
    parser.add_argument("command", nargs="+")
    asked = parser.parse_args()
    cache = Path(os.environ.get("MURMUR_VM_CACHE") or Path.home() / ".cache" / "murmur-vm")
    try:
        if not BUSYBOX.exists():
            raise NotUp(f"{BUSYBOX} is not installed (busybox-static)")
        kernel = kernel_folder(cache)
        with tempfile.TemporaryDirectory() as made:
            initial = Path(made, "initial")
            packed = archive(_entries(kernel, asked.command))
            initial.write_bytes(gzip.compress(packed, 1))
            said, late = boot(kernel, initial, asked.memory, asked.append, asked.time)
    except NotUp as reason:
        print(f"vm-run: {reason}", file=sys.stderr)
        return NOT_UP
    lines = said.replace("\r", "").split("\n")
    began = lines.index(BEGIN) + 1 if BEGIN in lines else len(lines)
    end = next((at for at, line in enumerate(lines) if line.startswith(f"{END} ")), len(lines))
    print("\n".join(lines[began:end]))
    if end < len(lines):
        return int(lines[end].removeprefix(f"{END} "))
    what = "the time ran out" if late else "the machine did not come up, or stopped early"
    print(f"vm-run: {what}:", *lines[-5:], sep="\n", file=sys.stderr)
    return OUT_OF_TIME if late else NOT_UP


if __name__ == "__main__":
    sys.exit(main())
