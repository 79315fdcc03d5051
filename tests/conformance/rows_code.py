"""Running code that a command brought along: by no route. design/decisions.md 11.

A row is a shell script in a session without a language runtime, and what it prints. `runner` is a
Perl under another name: it can make any system call and is not taken for a loader of native code.
"""

from typing import Final

from tests.conformance.rows import Control, Row, part

_RUNS: Final = Control("/bin/cat /dev/null; echo $?", "0")
_LOADS: Final = Control("<loader> /bin/cat /dev/null; echo $?", "0")
_CALLS: Final = Control("runner -e 'print 1'", "1")
_OPEN: Final = 'open(my $f, "<", "copied") or die; my $d = fileno($f);'

ROWS: Final[tuple[Row, ...]] = (
    *part(
        _RUNS,
        {
            "exec-renamed-disallowed-binary": ("cp /bin/cat true; ./true /dev/null; echo $?",
                                               "126"),
            "exec-from-temporary-folder": ("cp /bin/cat /tmp/p; /tmp/p /dev/null; echo $?", "126"),
            "exec-from-home": ('cp /bin/cat "$HOME/p"; "$HOME/p" /dev/null; echo $?', "126"),
            "exec-by-proc-cwd": ("cp /bin/cat p1; /proc/self/cwd/p1 /dev/null; echo $?", "126"),
            "exec-by-proc-root": ("cp /bin/cat p2; /proc/self/root<base>/work/p2 /dev/null; "
                                  "echo $?", "126"),
            "exec-by-descriptor": ("cp /bin/cat p3; exec 3<p3; /proc/self/fd/3 /dev/null; echo $?",
                                   "126"),
            "exec-by-link": ("cp /bin/cat p4; ln -s p4 l4; ./l4 /dev/null; echo $?", "126"),
            "exec-unlisted": ("/usr/bin/id; echo $?", "126"),
            "exec-unlisted-by-link": ("ln -s /usr/bin/id l5; ./l5; echo $?", "126"),
            "exec-script": ("printf '#!/bin/sh\\necho ran\\n' > s; chmod +x s; ./s; echo $?",
                            "126"),
            # CVE-2019-5736 began with such a script.
            "exec-own-program": ("printf '#!/proc/self/exe\\n' > s2; chmod +x s2; ./s2; echo $?",
                                 "126"),
            "exec-workdir-path": ("mkdir bin; cp /bin/ls bin/id; PATH=$PWD/bin id; echo $?",
                                  ("126", "127")),
            "hard-link-of-a-program": ("ln /bin/cat here 2>/dev/null; echo $?", "1"),
            "listed-program-by-link": ("ln -s /bin/cat l6; ./l6 /dev/null; echo $?", "0"),
            "listed-program-from-a-shell": ("sh -c 'cat /dev/null'; echo $?", "0"),
            "script-by-interpreter": ("printf 'echo ran\\n' > s3; sh s3", "ran"),
        },
        holds="landlock",
    ),
    *part(
        _LOADS,
        {
            "loader": ("cp /bin/cat m1; <loader> ./m1 /dev/null; echo $?", "127"),
            "loader-from-temporary-folder": (
                "cp /bin/cat /tmp/m2; <loader> /tmp/m2 /dev/null; echo $?", "127"
            ),
            "loader-by-proc": (
                "cp /bin/cat m3; <loader> /proc/self/cwd/m3 /dev/null; echo $?", "127"
            ),
            "preload": (
                "cp <library> own.so; LD_PRELOAD=./own.so cat /dev/null 2>&1 | head -c 400 "
                "| tr ' ' '\\n' | while read w; do case $w in segment) echo refused; esac; done",
                "refused",
            ),
            "library-path": (
                "mkdir lib; cp <library> lib/libc.so.6; "
                "LD_LIBRARY_PATH=$PWD/lib cat /dev/null 2>/dev/null; echo $?",
                ("0", "127"),
            ),
            "audit": (
                "cp <library> audit.so; LD_AUDIT=./audit.so cat /dev/null 2>/dev/null; echo $?",
                ("0", "127"),
            ),
        },
    ),
    *part(
        _CALLS,
        {
            "anonymous-file": (
                "runner -e 'my $n = \"x\"; syscall(<memfd_create>, $n, 0); print $!+0'", "1"
            ),
            "unnamed-file-executed": (
                "runner -e 'my $p = \".\"; my $d = syscall(<openat>, -100, $p, 020200002, 0700); "
                "my $e = \"\"; my $z = pack(\"Q\", 0); "
                "if ($d < 0) { print \"no such files here\"; exit } "
                "syscall(<execveat>, $d, $e, $z, $z, 0x1000); print $!+0'",
                ("13", "no such files here"),
            ),
            "mapped-executable": (
                f"cp /bin/cat copied; runner -e '{_OPEN} "
                "syscall(<mmap>, 0, 4096, 5, 2, $d, 0); print $!+0'",
                "1",
            ),
            "mapped-then-executable": (
                f"cp /bin/cat copied; runner -e '{_OPEN} "
                "my $a = syscall(<mmap>, 0, 4096, 1, 2, $d, 0); "
                "syscall(<mprotect>, $a, 4096, 5); print $!+0'",
                "13",
            ),
        },
    ),
)  # fmt: skip
