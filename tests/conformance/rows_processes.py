"""Other processes: the runtime, the holder of the session, and what a command starts with.

The holder is pid 1 of the session; the runtime lies outside and its number means nothing inside.
"""

from typing import Final

from tests.conformance.rows import Control, Row, part

# By ptrace's rules; for an ordinary user by hidepid before that.
HIDDEN: Final = ("EACCES", "ENOENT")
REFUSED: Final = ("EACCES", "EPERM", "ENOENT", "EROFS")

_OF_HOLDER: Final = {
    f"holder-{name}": (attempt.format("/proc/1"), HIDDEN)
    for name, attempt in {
        "memory": 'opened("{}/mem")',
        "environment": 'opened("{}/environ")',
        "map": 'opened("{}/maps")',
        "root": 'os.listdir("{}/root")',
        "cwd": 'os.listdir("{}/cwd/")',
        "root-by-thread": 'os.listdir("{}/task/1/root")',
        "mapped-files": 'os.listdir("{}/map_files")',
        "descriptors": '[os.readlink("{0}/fd/" + n) for n in os.listdir("{0}/fd")]',
        "program": 'os.readlink("{}/exe")',
        # CVE-2019-5736: the sandbox's own program, overwritten from inside.
        "program-overwritten": 'opened("{}/exe", os.O_WRONLY)',
        "user-namespace": 'os.readlink("{}/ns/user")',
        "mount-namespace": 'opened("{}/ns/mnt")',
        "kernel-stack": 'text("{}/stack")',
    }.items()
}

ROWS: Final[tuple[Row, ...]] = (
    *part(
        Control('opened("/proc/self/status")', "opened"),
        {
            "runtime-memory": ('opened("/proc/<runtime>/mem")', "ENOENT"),
            "runtime-environment": ('opened("/proc/<runtime>/environ")', "ENOENT"),
            "runtime-descriptors": ('os.listdir("/proc/<runtime>/fd")', "ENOENT"),
            "runtime-root": ('os.listdir("/proc/<runtime>/root")', "ENOENT"),
            **_OF_HOLDER,
            "own-memory": ('opened("/proc/self/mem", os.O_RDWR)', ("EACCES", "EROFS")),
            "own-program-overwritten": (
                'opened("/proc/self/exe", os.O_RDWR)', (*REFUSED, "ETXTBSY")
            ),
            "own-id-map": ('opened("/proc/self/uid_map", os.O_WRONLY)', REFUSED),
            "own-groups": ('opened("/proc/self/setgroups", os.O_WRONLY)', REFUSED),
            "own-profile": ('opened("/proc/self/attr/exec", os.O_WRONLY)', REFUSED),
            "own-oom-score": ('opened("/proc/self/oom_score_adj", os.O_WRONLY)', REFUSED),
        },
    ),
    *part(
        Control("os.kill(os.getpid(), 0)", None),
        {
            "runtime-signal": ("os.kill(<runtime>, 9)", "ESRCH"),
            "runtime-pidfd": ("call(434, 434, <runtime>, 0)", "ESRCH"),
            "runtime-limit": (
                "resource.prlimit(<runtime>, resource.RLIMIT_NOFILE)", "ESRCH"
            ),
            "runtime-owner-of-signals": (
                "fcntl.fcntl(os.pipe()[0], fcntl.F_SETOWN, <runtime>)", "ESRCH"
            ),
            "parent": ("os.getppid()", 0),
            "own-session": ("os.getsid(0) == os.getpid()", True),
        },
    ),
    *part(
        # A system call that is allowed, made in the same way.
        Control("call(39, 172) == os.getpid()", True),
        {
            "holder-trace": ("call(101, 117, 16, 1, 0, 0)", "EPERM"),
            # CVE-2017-5206: a tracer changed system calls after the filter had seen them.
            "trace-me": ("call(101, 117, 0, 0, 0, 0)", "EPERM"),
            "holder-descriptor": ("call(438, 438, os.pidfd_open(1), 0, 0)", "EPERM"),
            "holder-read": ("call(310, 270, 1, 0, 0, 0, 0, 0)", "EPERM"),
            "holder-write": ("call(311, 271, 1, 0, 0, 0, 0, 0)", "EPERM"),
            "holder-kcmp": ("call(312, 272, 1, 1, 0, 0, 0)", "EPERM"),
            "holder-advice": ("call(440, 440, os.pidfd_open(1), 0, 0, 0, 0)", "EPERM"),
        },
    ),
    *part(
        Control("len(os.pipe())", 2),
        {
            # CVE-2024-21626: a folder of the host, still open when the command starts.
            "descriptors": ("STARTED_WITH", [0, 1, 2]),
            "inherited-fd-after-exec": ("held_at_start(<inherited>)", "EBADF"),
            "work-folder-is-current": ('os.getcwd() == "<base>/work"', True),
            "input": ("os.read(0, 1).decode()", ""),
            "secrets": ('[n for n in os.environ if "KEY" in n or "TOKEN" in n]', []),
            "no-new-privileges": ('"NoNewPrivs:\\t1" in text("/proc/self/status")', True),
            "filtered": ('"Seccomp:\\t2" in text("/proc/self/status")', True),
        },
    ),
)  # fmt: skip
