"""Both architectures' filters, simulated call by call. spec/containment.md 11 and 18."""

import ctypes
import errno
import os
import re
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from murmur.sandbox.launchspec import constant
from murmur.sandbox.lockdown import find_library

ARCHES: Final = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
I386: Final = 0x40000003
ARM: Final = 0x40000028
ALLOW: Final = 0x7FFF0000
KILL: Final = 0x80000000
MOST: Final = 512

Filter = Callable[..., int]


class Instruction(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_uint16),
        ("jt", ctypes.c_uint8),
        ("jf", ctypes.c_uint8),
        ("k", ctypes.c_uint32),
    )


def refuse(number: int) -> int:
    return 0x00050000 | number


def simulate(program: list[tuple[int, int, int, int]], data: bytes) -> int:
    """What the kernel's classic BPF machine returns for this seccomp_data."""
    accumulator, at = 0, 0
    while True:
        code, jump_true, jump_false, k = program[at]
        at += 1
        if code == 0x20:  # ld [k]
            (accumulator,) = struct.unpack_from("<I", data, k)
        elif code == 0x54:  # and k
            accumulator &= k
        elif code == 0x06:  # ret k
            return k
        else:
            truth = {0x15: accumulator == k, 0x35: accumulator >= k, 0x45: accumulator & k != 0}
            at += jump_true if truth[code] else jump_false


@pytest.fixture(scope="session")
def library(helper: Path) -> ctypes.CDLL:
    return ctypes.CDLL(str(find_library(helper)))


def build(library: ctypes.CDLL, arch: str, *options: str) -> Filter:
    room = (Instruction * MOST)()
    bits = sum(constant(f"SECCOMP_{name}") for name in options)
    length = library.mur_filter(ctypes.c_uint32(ARCHES[arch]), ctypes.c_uint32(bits), room, MOST)
    assert 0 < length <= MOST
    program = [(each.code, each.jt, each.jf, each.k) for each in room[:length]]

    def verdict(number: int, *arguments: int, audit: int = ARCHES[arch]) -> int:
        values = [*arguments, 0, 0, 0, 0, 0, 0][:6]
        return simulate(program, struct.pack("<IIQ6Q", number, audit, 0, *values))

    return verdict


@pytest.fixture(params=list(ARCHES))
def arch(request: pytest.FixtureRequest) -> str:
    return str(request.param)


# Numbers are the kernel's (x86-64, aarch64); None: the call does not exist there.
Numbers = tuple[int | None, int | None]


def number(arch: str, pair: Numbers) -> int | None:
    return pair[list(ARCHES).index(arch)]


SPECIAL: Final[dict[str, Numbers]] = {
    "socket": (41, 198),
    "socketpair": (53, 199),
    "clone": (56, 220),
    "clone3": (435, 435),
    "memfd_create": (319, 279),
    "fork": (57, None),
    "vfork": (58, None),
    "execve": (59, 221),
    "execveat": (322, 281),
}

DENIED: Final[dict[str, Numbers]] = {
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "bpf": (321, 280), "userfaultfd": (323, 282), "perf_event_open": (298, 241),
    "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "open_by_handle_at": (304, 265), "keyctl": (250, 219), "add_key": (248, 217),
    "request_key": (249, 218), "ptrace": (101, 117), "kcmp": (312, 272), "seccomp": (317, 277),
    "personality": (135, 92), "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41),
    "chroot": (161, 51), "unshare": (272, 97), "setns": (308, 268), "open_tree": (428, 428),
    "move_mount": (429, 429), "fsopen": (430, 430), "fsmount": (432, 432),
    "mount_setattr": (442, 442), "init_module": (175, 105), "finit_module": (313, 273),
    "delete_module": (176, 106), "create_module": (174, None), "get_kernel_syms": (177, None),
    "query_module": (178, None), "kexec_load": (246, 104), "kexec_file_load": (320, 294),
    "reboot": (169, 142), "swapon": (167, 224), "swapoff": (168, 225), "acct": (163, 89),
    "quotactl": (179, 60), "nfsservctl": (180, 42), "iopl": (172, None), "ioperm": (173, None),
    "_sysctl": (156, None), "sysfs": (139, None), "uselib": (134, None),
    "lookup_dcookie": (212, 18), "clock_settime": (227, 112), "clock_adjtime": (305, 266),
    "settimeofday": (164, 170), "adjtimex": (159, 171), "set_mempolicy": (238, 237),
    "get_mempolicy": (239, 236), "mbind": (237, 235), "migrate_pages": (256, 238),
    "move_pages": (279, 239), "fanotify_init": (300, 262), "fanotify_mark": (301, 263),
    "landlock_create_ruleset": (444, 444), "pidfd_getfd": (438, 438),
    "process_madvise": (440, 440), "cachestat": (451, 451), "statmount": (457, 457),
}  # fmt: skip

ALLOWED: Final[dict[str, Numbers]] = {
    "read": (0, 63), "write": (1, 64), "open": (2, None), "openat": (257, 56),
    "openat2": (437, 437), "close_range": (436, 436), "stat": (4, None), "newfstatat": (262, 79),
    "statx": (332, 291), "fchmodat2": (452, 452), "faccessat2": (439, 439), "mmap": (9, 222),
    "mprotect": (10, 226), "exit_group": (231, 94), "wait4": (61, 260), "futex": (202, 98),
    "futex_waitv": (449, 449), "rseq": (334, 293), "rt_sigreturn": (15, 139),
    "epoll_pwait2": (441, 441), "getrandom": (318, 278), "prlimit64": (302, 261),
    "connect": (42, 203), "mq_getsetattr": (245, 185),
    "shmget": (29, 194), "timer_getoverrun": (225, 109), "pkey_free": (331, 290),
    "prctl": (157, 167), "arch_prctl": (158, None), "ioctl": (16, 29), "io_submit": (209, 2),
    "sched_setattr": (314, 274), "pidfd_open": (434, 434), "execve": (59, 221),
}  # fmt: skip


@pytest.mark.parametrize("name", DENIED)
def test_a_call_that_must_stay_denied_is_refused(
    library: ctypes.CDLL, arch: str, name: str
) -> None:
    call = number(arch, DENIED[name])
    if call is not None:
        assert build(library, arch)(call) == refuse(errno.EPERM)


def test_calls_of_the_allowlist_pass(library: ctypes.CDLL, arch: str) -> None:
    verdict = build(library, arch)
    for name, pair in ALLOWED.items():
        call = number(arch, pair)
        assert call is None or verdict(call) == ALLOW, name


def test_exactly_the_table_is_allowed(library: ctypes.CDLL, arch: str) -> None:
    """Every number below 1024, against the table read from its source as text."""
    source = Path(__file__).parents[4] / "c/sandbox/seccomp_table.h"
    if not source.exists():
        source = Path("c/sandbox/seccomp_table.h")
    rows = re.findall(r"\{(-?\d+), (-?\d+)\}, /\* (\w+) \*/", source.read_text())
    assert len(rows) == 276, "275 names of containment.md 11 and socket"
    column = list(ARCHES).index(arch)
    wanted = {int(row[column]) for row in rows if int(row[column]) >= 0}
    special = {number(arch, pair) for name, pair in SPECIAL.items() if "exec" not in name}
    verdict = build(library, arch)
    found = {call for call in range(1024) if verdict(call) == ALLOW}
    assert found - special == wanted - special - {number(arch, SPECIAL["clone3"])}


def test_another_architecture_is_killed(library: ctypes.CDLL, arch: str) -> None:
    verdict = build(library, arch)
    others = {I386, ARM, *ARCHES.values()} - {ARCHES[arch]}
    assert {verdict(1, audit=other) for other in others} == {KILL}


def test_x32_is_killed(library: ctypes.CDLL) -> None:
    verdict = build(library, "x86_64")
    for call in (0, 1, 39, 512, 520):
        assert verdict(0x40000000 + call) == KILL
    assert verdict(0xFFFFFFFF) == KILL


def test_a_number_that_no_kernel_has_is_refused(library: ctypes.CDLL, arch: str) -> None:
    verdict = build(library, arch)
    assert verdict(511) == verdict(512) == verdict(100_000) == refuse(errno.EPERM)


@pytest.mark.parametrize("unix_sockets", [False, True])
def test_socket_families(library: ctypes.CDLL, arch: str, unix_sockets: bool) -> None:
    verdict = build(library, arch, *(["UNIX_SOCKETS"] if unix_sockets else []))
    call = number(arch, SPECIAL["socket"])
    assert call is not None
    for family in range(64):
        expected = {
            1: ALLOW if unix_sockets else refuse(errno.EACCES),
            2: ALLOW,
            10: ALLOW,
            16: refuse(errno.EACCES),
            17: refuse(errno.EACCES),
        }.get(family, refuse(errno.EPERM))
        assert verdict(call, family) == expected, family


def test_clone_makes_processes_and_threads_but_no_namespace(
    library: ctypes.CDLL, arch: str
) -> None:
    verdict = build(library, arch)
    clone = number(arch, SPECIAL["clone"])
    assert clone is not None
    assert verdict(clone, 17) == verdict(clone, 0x3D0F00) == ALLOW
    for bit in (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000):
        assert verdict(clone, 17 | bit) == refuse(errno.EPERM), hex(bit)
    assert verdict(435) == refuse(errno.ENOSYS)


def test_a_memfd_is_refused_where_the_kernel_does_not_keep_it_from_being_executed(
    library: ctypes.CDLL, arch: str
) -> None:
    call = number(arch, SPECIAL["memfd_create"])
    assert call is not None
    assert build(library, arch)(call) == ALLOW
    assert build(library, arch, "NO_MEMFD")(call) == refuse(errno.EPERM)


def test_a_guest_host_makes_threads_alone_and_executes_nothing(
    library: ctypes.CDLL, arch: str
) -> None:
    verdict = build(library, arch, "GUEST")
    for name in ("fork", "vfork", "execve", "execveat"):
        call = number(arch, SPECIAL[name])
        assert call is None or verdict(call) == refuse(errno.EPERM), name
    clone = number(arch, SPECIAL["clone"])
    assert clone is not None
    assert verdict(clone, 0x3D0F00) == ALLOW
    assert verdict(clone, 17) == refuse(errno.EPERM)
    assert verdict(clone, 0x3D0F00 | 0x10000000) == refuse(errno.EPERM)


def test_a_filter_is_short_and_no_evaluation_is_long(library: ctypes.CDLL, arch: str) -> None:
    room = (Instruction * MOST)()
    length = library.mur_filter(ctypes.c_uint32(ARCHES[arch]), ctypes.c_uint32(7), room, MOST)
    assert 0 < length < 300
    assert library.mur_filter(ctypes.c_uint32(ARCHES[arch]), ctypes.c_uint32(0), room, 50) == -1
    assert library.mur_filter(ctypes.c_uint32(1), ctypes.c_uint32(0), room, MOST) == -1


def test_the_kernels_own_numbers_agree_with_the_table() -> None:
    """Names of this machine's headers, where it has them, have the numbers of the table."""
    machine = os.uname().machine
    headers = Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h")
    source = Path(__file__).parents[4] / "c/sandbox/seccomp_table.h"
    if machine != "x86_64" or not headers.exists():
        pytest.skip("no kernel headers of x86-64 here")
    known = dict(re.findall(r"#define __NR_(\w+) (\d+)", headers.read_text()))
    for first, _, name in re.findall(r"\{(-?\d+), (-?\d+)\}, /\* (\w+) \*/", source.read_text()):
        assert name not in known or known[name] == first, name


STREAM, DATAGRAM, RAW, SEQPACKET = 1, 2, 3, 5
CLOEXEC_NONBLOCK: Final = 0o2004000


def test_only_pairs_that_stay_connected_are_made_without_unix_sockets(
    library: ctypes.CDLL, arch: str
) -> None:
    pair = number(arch, SPECIAL["socketpair"])
    assert pair is not None
    without, with_them = build(library, arch), build(library, arch, "UNIX_SOCKETS")
    for flags in (0, CLOEXEC_NONBLOCK):
        for kind in (STREAM, SEQPACKET):
            assert without(pair, 1, kind | flags) == ALLOW
        for kind in (DATAGRAM, RAW, 0, 4, 10):
            assert without(pair, 1, kind | flags) == refuse(errno.EACCES)
            assert with_them(pair, 1, kind | flags) == ALLOW


def test_no_mode_with_a_set_id_bit_is_set(library: ctypes.CDLL, arch: str) -> None:
    calls = {"chmod": (90, None, 1), "fchmod": (91, 52, 1), "fchmodat": (268, 53, 2),
             "fchmodat2": (452, 452, 2)}  # fmt: skip
    for x86_64, aarch64, position in calls.values():
        asked = number(arch, (x86_64, aarch64))
        if asked is None:
            continue
        verdict = build(library, arch)
        before = [0] * position
        for mode in (0o755, 0o1777, 0):
            assert verdict(asked, *before, mode) == ALLOW
        for mode in (0o4755, 0o2755, 0o6000):
            assert verdict(asked, *before, mode) == refuse(errno.EPERM)


def test_a_guest_host_signals_and_limits_itself_alone(library: ctypes.CDLL, arch: str) -> None:
    calls = {"kill": (62, 129), "tkill": (200, 130), "rt_sigqueueinfo": (129, 138),
             "rt_tgsigqueueinfo": (297, 240), "pidfd_send_signal": (424, 424),
             "pidfd_open": (434, 434)}  # fmt: skip
    guest, command = build(library, arch, "GUEST"), build(library, arch)
    for name, pair in calls.items():
        call = number(arch, pair)
        assert call is not None
        assert guest(call, os.getpid()) == refuse(errno.EPERM), name
        assert command(call, 1) == ALLOW, name
    tgkill, prlimit = number(arch, (234, 131)), number(arch, (302, 261))
    assert tgkill is not None and prlimit is not None
    assert guest(tgkill, os.getpid()) == guest(prlimit, 0) == ALLOW
    assert guest(tgkill, os.getppid()) == guest(prlimit, os.getppid()) == refuse(errno.EPERM)
