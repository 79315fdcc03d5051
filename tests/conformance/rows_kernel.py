"""The kernel's surface: devices, settings, cgroups, system calls, capabilities, limits."""

from typing import Final

from tests.conformance.rows import Control, Row, part
from tests.conformance.rows_processes import REFUSED

_CALL: Final = Control("call(39, 172) == os.getpid()", True)
_ABSENT: Final = ("EACCES", "ENOENT")

_DEVICES: Final = (
    "mem", "kmem", "port", "kmsg", "kvm", "fuse", "net/tun", "loop-control", "loop0", "vhost-net",
    "vhost-vsock", "userfaultfd", "mapper/control", "dri/card0", "snd/timer", "uinput", "watchdog",
    "hpet", "nvram", "rtc0", "sda", "vda", "console", "tty0", "tty1", "vcs", "hwrng", "mcelog",
    "cpu/0/msr", "btrfs-control", "snapshot", "autofs", "ppp", "input/event0", "ttyS0", "pts/0",
)  # fmt: skip

_SETTINGS: Final = (
    "/proc/sysrq-trigger",
    "/proc/sys/kernel/core_pattern",
    "/proc/sys/kernel/modprobe",
    "/proc/sys/kernel/hotplug",
    "/proc/sys/kernel/poweroff_cmd",
    "/proc/sys/kernel/randomize_va_space",
    "/proc/sys/kernel/yama/ptrace_scope",
    "/proc/sys/kernel/hostname",
    "/proc/sys/kernel/ns_last_pid",
    "/proc/sys/fs/binfmt_misc/register",
    "/proc/sys/fs/suid_dumpable",
    "/proc/sys/vm/memfd_noexec",
    "/proc/sys/vm/drop_caches",
    "/proc/sys/user/max_user_namespaces",
    "/proc/sys/net/ipv4/ip_forward",
    "/proc/sys/net/ipv4/ping_group_range",
    "/proc/irq/0/smp_affinity",
    "/sys/kernel/uevent_helper",
    "/sys/kernel/mm/transparent_hugepage/enabled",
    "/sys/module/apparmor/parameters/mode",
    "/sys/power/state",
    # CVE-2022-0492: a program that the kernel runs outside when a cgroup becomes empty.
    "/sys/fs/cgroup/release_agent",
    "/sys/fs/cgroup/memory/release_agent",
    "/sys/fs/cgroup/cgroup.procs",
    "/sys/fs/cgroup/memory/cgroup.procs",
    "/sys/fs/cgroup/pids/cgroup.procs",
    "/sys/fs/cgroup/freezer/cgroup.procs",
    "/sys/fs/cgroup/cgroup.subtree_control",
)

# Name -> (x86-64, aarch64). spec/containment.md 11, *must stay denied*, and newer ones.
DENIED: Final[dict[str, tuple[int | None, int | None]]] = {
    "io-uring-setup": (425, 425), "io-uring-enter": (426, 426), "io-uring-register": (427, 427),
    "bpf": (321, 280), "userfaultfd": (323, 282), "perf-event-open": (298, 241),
    "open-by-handle-at": (304, 265), "keyctl": (250, 219), "add-key": (248, 217),
    "request-key": (249, 218), "seccomp": (317, 277), "personality": (135, 92),
    "mount": (165, 40), "umount2": (166, 39), "pivot-root": (155, 41), "chroot": (161, 51),
    "unshare": (272, 97), "setns": (308, 268), "open-tree": (428, 428), "move-mount": (429, 429),
    # CVE-2022-0185 and CVE-2021-41133: mounts by calls that an older list did not know.
    "fsopen": (430, 430), "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433),
    "mount-setattr": (442, 442), "statmount": (457, 457), "listmount": (458, 458),
    "open-tree-attr": (467, 467), "init-module": (175, 105), "finit-module": (313, 273),
    "delete-module": (176, 106), "kexec-load": (246, 104), "kexec-file-load": (320, 294),
    "reboot": (169, 142), "swapon": (167, 224), "swapoff": (168, 225), "acct": (163, 89),
    "quotactl": (179, 60), "quotactl-fd": (443, 443), "iopl": (172, None), "ioperm": (173, None),
    "modify-ldt": (154, None), "vhangup": (153, 58), "syslog": (103, 116), "sysfs": (139, None),
    "uselib": (134, None), "lookup-dcookie": (212, 18), "sethostname": (170, 161),
    "setdomainname": (171, 162), "clock-settime": (227, 112), "clock-adjtime": (305, 266),
    "settimeofday": (164, 170), "adjtimex": (159, 171), "set-mempolicy": (238, 237),
    "get-mempolicy": (239, 236), "mbind": (237, 235), "migrate-pages": (256, 238),
    "move-pages": (279, 239), "fanotify-init": (300, 262), "fanotify-mark": (301, 263),
    "memfd-secret": (447, 447), "process-mrelease": (448, 448), "cachestat": (451, 451),
    "map-shadow-stack": (453, 453), "lsm-set-self-attr": (460, 460), "landlock-again": (446, 446),
}  # fmt: skip

ROWS: Final[tuple[Row, ...]] = (
    *part(
        Control('opened("/dev/null", os.O_RDWR)', "opened"),
        {
            **{
                f"device-{name.replace('/', '-')}": (f'opened("/dev/{name}")', _ABSENT, "ENOENT")
                for name in _DEVICES
            },
            "device-entropy": ('opened("/dev/urandom", os.O_WRONLY)', "EACCES"),
            "proc-self-fd-reopen": (
                'written(f"/proc/self/fd/{os.open(\'/dev/urandom\', 0)}")', "EACCES"
            ),
            "device-random": ('opened("/dev/random")', "EACCES", "opened"),
            "device-full": ('opened("/dev/full", os.O_RDWR)', "EACCES", "opened"),
            "device-numbers": (
                '[os.stat(f"/dev/{n}").st_rdev for n in ("null", "zero", "urandom")] == '
                "[os.makedev(1, n) for n in (3, 5, 9)]",
                True,
            ),
            "device-links": ('os.readlink("/dev/stdin")', "/proc/self/fd/0"),
            "device-zero": ('opened("/dev/zero")', "opened"),
            "terminal": ('opened("/dev/tty", os.O_RDWR)', ("EACCES", "ENXIO"), "ENXIO"),
            "terminal-master": ('opened("/dev/ptmx", os.O_RDWR)', "EACCES", ("EACCES", "opened")),
        },
        holds="landlock",
    ),
    *part(
        Control('opened("/dev/null", os.O_RDWR)', "opened"),
        {
            # CVE-2017-5226, CVE-2019-10063 (high bits) and CVE-2023-1523: typing for the operator.
            "terminal-input": ('fcntl.ioctl(0, termios.TIOCSTI, b"x")', "ENOTTY"),
            "terminal-input-high": ('call(16, 29, 0, 0x100005412, b"x")', "ENOTTY"),
            "terminal-paste": ('call(16, 29, 0, 0x541c, b"\\x03")', "ENOTTY"),
            "mknod-block-device-in-workdir": (
                'os.mknod("node", 0o60644, os.makedev(7, 0))', ("EPERM", "EACCES")
            ),
            "character-device": (
                'os.mknod("node", 0o20644, os.makedev(1, 1))', ("EPERM", "EACCES")
            ),
        },
    ),
    *part(
        Control('opened("/proc/self/status")', "opened"),
        {
            **{
                f"setting{path.replace('/', '-')}": (f'opened("{path}", os.O_WRONLY)', REFUSED)
                for path in _SETTINGS
            },
            "kernel-memory": ('opened("/proc/kcore")', REFUSED),
            "kernel-messages": ('opened("/proc/kmsg", os.O_RDONLY | os.O_NONBLOCK)', REFUSED),
        },
    ),
    *part(
        Control('opened("/proc/self/status")', "opened"),
        {
            "sys": ('os.listdir("/sys/class")', "EACCES", "ENOENT"),
            "cgroup-list": ('os.listdir("/sys/fs/cgroup")', "EACCES", "ENOENT"),
            "debugfs": ('os.listdir("/sys/kernel/debug")', _ABSENT, "ENOENT"),
            "tracefs": ('os.listdir("/sys/kernel/tracing")', _ABSENT, "ENOENT"),
            "firmware": ('os.listdir("/sys/firmware")', _ABSENT, "ENOENT"),
            "docker-socket-folder": ('os.listdir("/run")', "EACCES", "ENOENT"),
        },
        holds="landlock",
    ),
    *part(
        _CALL,
        {
            **{f"syscall-{name}": (f"refusals({numbers})", {})
               for name, numbers in DENIED.items()},
            # CVE-2022-0185 and its kind begin with a user namespace.
            "clone-user-namespace": ("call(56, 220, 0x10000011, 0, 0, 0, 0)", "EPERM"),
            "clone-mount-namespace": ("call(56, 220, 0x00020011, 0, 0, 0, 0)", "EPERM"),
            "clone-high-bits": ("call(56, 220, 0x110000011, 0, 0, 0, 0)", "EPERM"),
            "clone3": ("call(435, 435, 0, 0)", "ENOSYS"),
            "syscall-beyond-the-table": ("refusals((600, 600), (1000, 1000))", {}),
            "other-abi-x32": (
                "in_child(lambda: call(0x40000027, None))", ("SIGSYS", "absent")
            ),
            "other-abi-i386": ("old_abi()", ("SIGSYS", "absent")),
        },
    ),
    *part(
        Control('opened("/proc/self/status")', "opened"),
        {
            "capabilities": (
                'sum(int(l.split()[1], 16) for l in text("/proc/self/status").splitlines() '
                'if l.startswith("Cap"))',
                0,
            ),
            "ambient-capability": ("call(157, 167, 47, 2, 21, 0, 0)", "EPERM"),
            "keep-capabilities": ("call(157, 167, 28, 0x2f, 0, 0, 0)", "EPERM"),
            "new-privileges-again": ("call(157, 167, 38, 0, 0, 0, 0)", "EINVAL"),
            "memory-map-forged": ("call(157, 167, 35, 1, 4096, 0, 0)", "EPERM"),
            "become-somebody": ("os.setresuid(12345, 12345, 12345)", ("EPERM", "EINVAL")),
            "join-a-group": ("os.setgroups([12345])", ("EPERM", "EINVAL")),
            "more-files": ("resource.setrlimit(resource.RLIMIT_NOFILE, (1 << 20, 1 << 20))",
                           "ValueError"),
            "more-memory": ("resource.setrlimit(resource.RLIMIT_AS, (-1, -1))", "ValueError"),
            "larger-files": ("resource.setrlimit(resource.RLIMIT_FSIZE, (-1, -1))", "ValueError"),
            "more-time": ("resource.setrlimit(resource.RLIMIT_CPU, (-1, -1))", "ValueError"),
            "core-dumps": ("list(resource.getrlimit(resource.RLIMIT_CORE))", [0, 0]),
            "higher-priority": ("os.setpriority(os.PRIO_PROCESS, 0, -5)", "EACCES"),
            "real-time": ("os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))", "EPERM"),
            "lock-memory": ("resource.setrlimit(resource.RLIMIT_MEMLOCK, (-1, -1))",
                            ("ValueError", None)),
        },
    ),
)  # fmt: skip
