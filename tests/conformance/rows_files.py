"""Files: what lies outside the grants, by every name that leads there. spec/containment.md 26.1."""

from typing import Final

from tests.conformance.rows import Control, Row, part
from tests.conformance.rows_processes import REFUSED

MOVE: Final = (*REFUSED, "EXDEV")

_READ: Final = Control('opened("rows.json")', "opened")
_WRITE: Final = Control('written("mine")', "written")

ROWS: Final[tuple[Row, ...]] = (
    *part(
        _READ,
        {
            "read-etc-shadow": ('opened("/etc/shadow")', "EACCES", "ENOENT"),
            "read-home": ('os.listdir("/root")', "EACCES", "ENOENT"),
            "read-passwd": (
                'opened("/etc/passwd")', "EACCES", "opened"
            ),
            "passwd-is-the-host-s": (
                'text("/etc/passwd") == open("<base>/work/host-passwd").read()', "EACCES", False
            ),
            "symlink-to-passwd": (
                'os.symlink("/etc/passwd", "pw") or '
                '("root:x:0:0:root:" in text("pw") and text("pw") != text("host-passwd"))',
                "EACCES", True,
            ),
            "who-am-i": (
                '__import__("pwd").getpwuid(os.getuid())[0] in ("capsule", "root")',
                "KeyError", True,
            ),
            "list-dev": ('os.listdir("/dev")', "EACCES"),
            "list-programs": ('"sh" in os.listdir("/usr/bin")', "EACCES", True),
            "old-root": ('os.listdir("/.mur-oldroot")', "ENOENT"),
            "list-root": ('os.listdir("/")', "EACCES"),
            "list-etc": ('os.listdir("/etc")', "EACCES"),
            "other-session": ('opened("<base>/other/record.json")', "EACCES", "ENOENT"),
            "other-session-list": ('os.listdir("<base>/other")', "EACCES", "ENOENT"),
            "symlink-escape": (
                'os.symlink("<base>/other/record.json", "out") or opened("out")',
                "EACCES", "ENOENT",
            ),
            "symlink-chain": (
                'os.symlink("../other", "up") or os.symlink("up", "up2") '
                'or opened("up2/record.json")',
                "EACCES", "ENOENT",
            ),
            "symlink-swapped": ('swapped("<base>/other/record.json")', ["EACCES", "mine"],
                                ["mine"]),
            "proc-self-cwd-reopen": (
                'opened("/proc/self/cwd/../other/record.json")', "EACCES", "ENOENT"
            ),
            "proc-pid-root-reopen": (
                'opened(f"/proc/{os.getpid()}/root<base>/other/record.json")', "EACCES", "ENOENT"
            ),
            "proc-thread-root-reopen": (
                'opened("/proc/thread-self/root/etc/shadow")', "EACCES", "ENOENT"
            ),
            "above-a-descriptor": (
                'opened("../other/record.json", folder=os.open(".", os.O_PATH))',
                "EACCES", "ENOENT",
            ),
            "after-chdir": ('moved_then("<base>/other", "record.json")', "EACCES", "ENOENT"),
            "host-handle": ("call(304, 265, -100, 0, 0)", "EPERM"),
        },
        holds="landlock",
    ),
    *part(
        _READ,
        {
            "stat-outside-workdir": (
                'os.stat("<base>/other/record.json").st_size > 0', True, "ENOENT"
            ),
            "access-outside-workdir": ('os.access("/etc/hostname", os.R_OK)', True, False),
            "watch-outside-workdir": (
                'call(254, 27, call(294, 26, 0), b"<base>/other", 2) > 0', True, "ENOENT"
            ),
            "size-of-the-file-system": ('os.statvfs("<base>/other").f_bsize > 0', True, "ENOENT"),
            "real-path-of-secret": ('os.stat("<base>/other").st_nlink > 0', True, "ENOENT"),
        },
    ),
    *part(
        _WRITE,
        {
            "write-outside-workdir": ('written("/tmp/murmur-escape-<runtime>")', "written"),
            "write-beside": ('written("<base>/made")', REFUSED),
            "write-through-link": (
                'os.symlink("<base>/other/record.json", "out2") or written("out2")', REFUSED
            ),
            "write-var-tmp": ('written("/var/tmp/murmur-escape")', REFUSED),
            "write-root": ('os.mkdir("/murmur-escape")', REFUSED),
            "write-dev": ('written("/dev/murmur-escape")', REFUSED),
            "write-proc": ('written("/proc/murmur-escape")', REFUSED),
            "write-etc": ('written("/etc/murmur-escape")', REFUSED),
            "write-usr": ('written("/usr/murmur-escape")', REFUSED),
            "write-program": ('opened("/bin/sh", os.O_WRONLY)', (*REFUSED, "ETXTBSY")),
            "write-runtime-folder": ('written("<base>/runtime/made")', REFUSED),
            "write-task": ('opened("<base>/runtime/task.md", os.O_WRONLY)', REFUSED),
            "write-by-mapping": ('mapped_writable("<base>/runtime/task.md")', "EACCES"),
            # CVE-2022-0847.
            "write-by-pipe": ('dirty_pipe("<base>/runtime/task.md")', "the task"),
            "shared-memory-folder": ('written("/dev/shm/murmur-escape")', REFUSED),
            "records-append": (
                'opened("<base>/records/trace.jsonl", os.O_WRONLY | os.O_APPEND)', REFUSED
            ),
            "records-truncate": ('os.truncate("<base>/records/trace.jsonl", 0)', REFUSED),
            "records-remove": ('os.unlink("<base>/records/trace.jsonl")', REFUSED),
            "records-make": ('os.mkdir("<base>/records/made")', REFUSED),
            "records-link": ('os.symlink("/etc/passwd", "<base>/records/link")', REFUSED),
            "rename-across-boundary": ('os.rename("mine", "<base>/mine")', MOVE),
            "records-rename": ('os.rename("<base>/records/trace.jsonl", "taken")', MOVE),
            "records-exchange": (
                'exchanged("<base>/work/rows.json", "<base>/records/trace.jsonl")', MOVE
            ),
            "hardlink-escape": ('os.link("<base>/other/record.json", "hard")', MOVE),
            "host-hard-link": ('os.link("/etc/passwd", "hard2")', MOVE),
            "unnamed-file-elsewhere": ('opened("/var/tmp", os.O_TMPFILE | os.O_RDWR)', REFUSED),
            # Overlay knows no file without a name before 6.3.
            "unnamed-file-linked": (
                'linked_from_nothing("<base>/records/made")', (*MOVE, "ENOTSUP")
            ),
        },
    ),
    *part(
        Control('os.chmod("rows.json", 0o640)', None),
        {
            "host-mode": ('os.chmod("/etc/passwd", 0o666)', "EROFS"),
            "host-owner": ('os.chown("/etc/passwd", os.getuid(), os.getgid())', "EROFS"),
            "host-attribute": ('os.setxattr("/etc/passwd", "user.x", b"")', "EROFS"),
            "records-mode": ('os.chmod("<base>/records/trace.jsonl", 0o666)', "EROFS"),
            "records-time": ('os.utime("<base>/records/trace.jsonl")', "EROFS"),
            "runtime-folder-mode": ('os.chmod("<base>/runtime", 0o777)', "EROFS"),
            "other-session-mode": ('os.chmod("<base>/other", 0o777)', "EROFS", "ENOENT"),
            "set-user-id": ('os.chmod("<base>/work/rows.json", 0o4755)', "EPERM"),
            "set-group-id": ('os.chmod("<base>/work/rows.json", 0o2755)', "EPERM"),
            "set-user-id-by-fd": ("os.fchmod(os.open('rows.json', 0), 0o4755)", "EPERM"),
        },
    ),
    *part(
        _WRITE,
        {
            "work-folder-mkdir": ('os.mkdir("made")', None),
            "work-folder-symlink": ('os.symlink("made", "link")', None),
            "work-folder-fifo": ('os.mkfifo("fifo")', None),
            "work-folder-rename": ('os.rename("made", "renamed")', None),
            "temporary-folder": ('written("/tmp/here")', "written"),
            "home": ('written(os.environ["HOME"] + "/here")', "written"),
            "runtime-folder-read": ('text(os.environ["MURMUR_RUNTIME_DIR"] + "/task.md")',
                                    "the task"),
        },
    ),
)  # fmt: skip
