"""What the kernel refuses a contained command. spec/containment.md 26.1, class `scoped`.

Each attack has a control beside it that must succeed in the same session.
"""

import os
import shutil
import socket
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from murmur.sandbox.probe import HostReading
from murmur.sandbox.results import NotAllowed

from .conftest import TOOLS, Contained, Opener

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the helper's home")

NUMBERS = {"x86_64": 0, "aarch64": 1}
PYTHON = Path(sys.executable).name


@pytest.fixture
def python(contain: Opener) -> Contained:
    """A session that may run an interpreter: it can make any system call."""
    return contain("sh", "cat", "python3", "perl")


def perl(session: Contained, program: str) -> str:
    """What a Perl one-liner prints. Its own core needs no modules, so no library folder either."""
    env = session.env | {"PERL_BADLANG": "0"}  # the locale's files are not granted
    result = session.session.run(("perl", "-e", program), env, timeout=30)
    assert result.set_up_failure is None, result.set_up_failure
    return result.stdout.decode() + result.stderr.decode()


def test_reading_etc_shadow_is_refused_and_a_file_in_the_work_folder_is_read(
    session: Contained,
) -> None:
    (session.work / "mine").write_text("content")
    assert session.run("cat", "mine").stdout == b"content"
    refused = session.run("cat", "/etc/shadow")
    assert refused.exit_code != 0
    assert b"Permission denied" in refused.stderr


def test_a_binary_that_is_not_allowed_is_refused_by_name_before_anything_starts(
    session: Contained,
) -> None:
    with pytest.raises(NotAllowed):
        session.run("find", "/")


def test_a_program_that_is_not_allowed_is_refused_by_the_kernel_from_a_shell(
    session: Contained,
) -> None:
    assert session.sh("cat /dev/null").exit_code == 0
    for program in ("/usr/bin/find", "/bin/find", "find"):
        refused = session.sh(f"{program} / -maxdepth 0")
        assert refused.exit_code in (126, 127)
        assert b"Permission denied" in refused.stderr


def test_an_unlisted_program_is_refused_through_the_loader_too(session: Contained) -> None:
    loader = next(path for path in session.policy.binaries["sh"].closure if "ld-linux" in path)
    control = session.sh(f"{loader} /bin/cat /dev/null")
    refused = session.sh(f"{loader} /usr/bin/find /")
    assert control.exit_code == 0, control.stderr
    assert refused.exit_code != 0


def test_stat_outside_the_work_folder_succeeds_on_scoped(session: Contained) -> None:
    assert session.sh("[ -e /etc/shadow ]").exit_code == 0


def test_writing_to_tmp_lands_in_the_sessions_temporary_folder(session: Contained) -> None:
    name = f"murmur-escape-{os.getpid()}"
    assert session.sh(f"echo x > /tmp/{name}").exit_code == 0
    assert not Path("/tmp", name).exists()
    assert Path(session.folders.temp, name).read_text() == "x\n"


def test_writing_elsewhere_is_refused(session: Contained) -> None:
    for place in ("/var/tmp/x", "/etc/x", "/usr/x", f"{session.folders.runtime}/x",
                  f"{session.folders.records}/x", "/dev/shm/x"):  # fmt: skip
        refused = session.sh(f"echo x > {place}")
        assert refused.exit_code != 0, place
        assert not Path(place).exists()


def test_the_runtime_directory_is_read_but_never_written(session: Contained) -> None:
    Path(session.folders.runtime, "MURMUR.md").write_text("hello")
    assert session.sh('cat "$MURMUR_RUNTIME_DIR/MURMUR.md"').stdout == b"hello"
    assert session.sh('echo x >> "$MURMUR_RUNTIME_DIR/MURMUR.md"').exit_code != 0


def test_a_link_in_the_work_folder_does_not_lead_out(session: Contained) -> None:
    (session.work / "out").symlink_to("/etc/passwd")
    assert b"Permission denied" in session.run("cat", "out").stderr


def test_a_hard_link_to_an_outside_file_is_refused(session: Contained) -> None:
    outside = session.base / "outside"
    outside.write_text("secret")
    assert session.sh("echo x > a; ln a b").exit_code == 0
    assert session.run("ln", str(outside), "here").exit_code != 0
    assert not (session.work / "here").exists()


def test_a_rename_across_the_boundary_is_refused(session: Contained) -> None:
    assert session.sh("echo x > a; mkdir d; mv a d/a").exit_code == 0
    assert session.run("mv", "d/a", str(session.base / "a")).exit_code != 0
    assert (session.work / "d" / "a").exists()


def test_proc_is_no_way_around(session: Contained) -> None:
    for way in ("/proc/self/cwd/../runtime/../../../../etc/passwd", "/proc/self/root/etc/passwd"):
        assert b"Permission denied" in session.run("cat", way).stderr


def test_a_device_opened_for_reading_is_not_reopened_for_writing(session: Contained) -> None:
    assert session.sh("exec 5</dev/urandom; head -c1 /proc/self/fd/5 >/dev/null").exit_code == 0
    refused = session.sh("exec 5</dev/urandom; echo x > /proc/self/fd/5")
    assert b"Permission denied" in refused.stderr


def test_the_work_folder_works(session: Contained) -> None:
    result = session.sh("mkdir -p d/e && echo one > d/e/f && mv d/e/f g && ln -s g h && cat h")
    assert (result.exit_code, result.stdout, result.stderr) == (0, b"one\n", b"")
    assert (session.work / "g").read_text() == "one\n"


def test_the_current_folder_is_the_work_folder_and_may_be_one_below(session: Contained) -> None:
    (session.work / "below").mkdir()
    assert session.sh("pwd -P").stdout.decode().strip() == session.folders.workdir
    below = session.session.run(("sh", "-c", "pwd -P"), session.env, cwd="below")
    assert below.stdout.decode().strip() == f"{session.folders.workdir}/below"


def test_a_current_folder_outside_the_work_folder_is_a_set_up_failure(session: Contained) -> None:
    (session.work / "link").symlink_to("/")
    for cwd in ("..", "/", "link"):
        result = session.session.run(("true",), session.env, cwd=cwd)
        assert result.set_up_failure is not None
        assert result.set_up_failure.startswith("sandbox setup failed before exec: work folder: ")


def test_only_the_three_standard_descriptors_survive_exec(session: Contained) -> None:
    held = os.open("/etc/shadow" if os.geteuid() == 0 else "/etc/passwd", os.O_RDONLY)
    os.set_inheritable(held, True)
    try:
        listed = session.sh("for fd in /proc/self/fd/*; do echo ${fd##*/}; done")
    finally:
        os.close(held)
    numbers = {int(line) for line in listed.stdout.split()}
    # The shell itself may hold the folder that it lists.
    assert {0, 1, 2} <= numbers
    assert session.sh(f"cat <&{held}").exit_code != 0


def test_standard_input_is_empty(session: Contained) -> None:
    assert session.run("cat").stdout == b""


def test_no_capability_is_left_and_none_can_be_gained(session: Contained) -> None:
    status = session.run("cat", "/proc/self/status").stdout.decode()
    facts = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(facts[name], 16) == 0, name
    assert facts["NoNewPrivs"] == "1"
    assert facts["Seccomp"] == "2"


def test_other_processes_of_the_host_are_invisible(session: Contained) -> None:
    listed = session.sh("cd /proc; echo [0-9]*").stdout.decode().split()
    assert str(os.getpid()) not in listed or len(listed) < 8
    assert session.run("cat", f"/proc/{os.getppid()}/environ").exit_code != 0
    assert all(int(pid) < 100 for pid in listed), "numbers are of a namespace of its own"


def test_the_holder_and_the_runtime_do_not_give_away_their_environment(session: Contained) -> None:
    for pid in ("1", "$PPID"):
        assert session.sh(f"cat /proc/{pid}/environ").stdout == b""


@pytest.mark.parametrize("place", ["work", "tmp", "home"])
def test_a_program_brought_along_is_not_executed_by_any_way(session: Contained, place: str) -> None:
    folder = {"work": session.folders.workdir, "tmp": "/tmp", "home": session.folders.home}[place]
    loader = next(path for path in session.policy.binaries["sh"].closure if "ld-linux" in path)
    assert session.sh(f"cp /bin/cat {folder}/prog && [ -s {folder}/prog ]").exit_code == 0
    direct = session.sh(f"{folder}/prog /dev/null")
    assert direct.exit_code == 126
    by_loader = session.sh(f"{loader} {folder}/prog /dev/null")
    assert by_loader.exit_code != 0
    assert b"failed to map segment" in by_loader.stderr


def test_a_program_of_an_allowed_name_in_the_work_folder_is_not_executed(
    session: Contained,
) -> None:
    assert session.sh("cp /bin/ls ./true; ./true").exit_code == 126
    shadowed = session.session.run(
        ("sh", "-c", "true; echo $?"), session.env | {"PATH": session.folders.workdir}
    )
    assert b"Permission denied" not in shadowed.stdout


def test_with_workdir_exec_a_program_in_the_work_folder_runs(contain: Opener) -> None:
    session = contain(*TOOLS, workdir_exec=True)
    assert session.sh("cp /bin/cat ./prog; ./prog /dev/null").exit_code == 0
    assert session.sh("cp /bin/cat /tmp/prog; /tmp/prog /dev/null").exit_code == 126


def test_an_anonymous_file_is_not_executed(python: Contained, reading: HostReading) -> None:
    number = {"x86_64": (319, 322), "aarch64": (279, 281)}[os.uname().machine]
    printed = perl(
        python,
        f"""
        my $name = "x"; my $fd = syscall({number[0]}, $name, 0);
        if ($fd < 0) {{ print "memfd refused ", $!+0; exit }}
        print "memfd made, ";
        open(my $in, "<", "/bin/cat") or die; binmode $in; local $/; my $data = <$in>;
        open(my $out, ">&=", $fd) or die; binmode $out; syswrite($out, $data) or die;
        print chmod(0755, "/proc/self/fd/$fd") ? "marked, " : "not marked, ";
        my $empty = ""; my $none = pack("Q", 0);
        syscall({number[1]}, $fd, $empty, $none, $none, 0x1000);
        print "exec refused ", $!+0;
        """,
    )
    if python.session._holder is not None and python.session._holder.memfd_noexec:
        assert "memfd made" in printed
        assert "exec refused 13" in printed
    else:
        assert "memfd refused 1" in printed


def test_where_the_work_folder_is_noexec_anonymous_files_are_refused_too(
    contain: Opener,
) -> None:
    """The loader maps code from `/proc/self/fd/N` of a file that cannot be executed by name."""
    unrecognised = Path(tempfile.mkdtemp(dir="/var/tmp")) / "runner"
    try:
        shutil.copyfile("/usr/bin/perl", unrecognised)
        unrecognised.chmod(0o755)
        session = contain("runner", "sh", path=f"{unrecognised.parent}:/usr/bin:/bin")
        assert session.policy.workdir_noexec
        number = {"x86_64": 319, "aarch64": 279}[os.uname().machine]
        env = session.env | {"PERL_BADLANG": "0"}
        program = f'my $n = "x"; print syscall({number}, $n, 0), " ", $!+0'
        result = session.session.run(("runner", "-e", program), env, timeout=30)
        assert result.stdout == b"-1 1", result
    finally:
        shutil.rmtree(unrecognised.parent)


def test_modes_owners_times_and_attributes_outside_are_not_changed(
    contain: Opener,
) -> None:
    session = contain("sh", "chmod", "touch", "perl")
    outside = session.base / "outside"
    outside.write_text("theirs")
    outside.chmod(0o600)
    os.utime(outside, (1, 1))
    assert session.sh("echo x > mine; chmod 640 mine; touch -d @5 mine").exit_code == 0
    assert (session.work / "mine").stat().st_mtime == 5
    assert b"Read-only file system" in session.run("chmod", "666", str(outside)).stderr
    assert session.run("touch", "-c", str(outside)).exit_code != 0
    chown, setxattr = {"x86_64": (92, 188), "aarch64": (None, 5)}[os.uname().machine]
    name = "my $n = 'user.x'; my $v = 'y';"
    path = f"my $p = '{outside}';"
    printed = perl(session, f"{path} {name} syscall({setxattr}, $p, $n, $v, 1, 0); print $!+0")
    assert printed == "30"
    if chown is not None:
        printed = perl(session, f"{path} syscall({chown}, $p, {os.geteuid()}, -1); print $!+0")
        assert printed == "30"
    assert outside.stat().st_mode & 0o777 == 0o600
    assert outside.stat().st_mtime == 1


def test_no_program_is_marked_set_user_id(contain: Opener) -> None:
    session = contain("sh", "chmod")
    assert session.sh("echo x > p; chmod 755 p").exit_code == 0
    for mode in ("4755", "2755", "u+s", "g+s"):
        assert b"not permitted" in session.run("chmod", mode, "p").stderr
    assert (session.work / "p").stat().st_mode & 0o7777 == 0o755


def test_a_datagram_does_not_reach_a_path_socket_of_the_host(contain: Opener) -> None:
    session = contain("perl", "sh")
    at = str(session.base / "log")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as log:
        log.bind(at)
        log.settimeout(0.2)
        printed = perl(
            session,
            f"""
            for my $type (2, 3, 1, 5) {{
              if (!socketpair(my $a, my $b, 1, $type, 0)) {{ print $!+0, " "; next }}
              print send($a, "in", 0, pack("Sa108", 1, "{at}")) ? "sent " : "made ";
            }}
            """,
        )
        with pytest.raises(TimeoutError):
            log.recv(2)
    assert printed.split()[:2] == ["13", "13"]
    assert len(printed.split()) == 4


def test_a_private_network_has_only_itself(python: Contained) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    with listener:
        port = listener.getsockname()[1]
        printed = perl(
            python,
            f"""
            socket(my $s, 2, 1, 0) or die $!;
            for my $to ([127,0,0,1,{port}], [1,1,1,1,443]) {{
              my $a = pack("SnC4x8", 2, $to->[4], @$to[0..3]);
              print connect($s, $a) ? "connected" : $!+0, " ";
            }}
            """,
        )
    assert printed.split() == ["111", "111"], "ECONNREFUSED, twice"


def test_a_datagram_reaches_nobody_outside(python: Contained) -> None:
    receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with receiver:
        receiver.bind(("127.0.0.1", 0))
        receiver.settimeout(0.3)
        port = receiver.getsockname()[1]
        printed = perl(
            python,
            f"""
            socket(my $s, 2, 2, 0) or die $!;
            print send($s, "x", 0, pack("SnC4x8", 2, {port}, 127,0,0,1)) ? "sent" : $!+0;
            """,
        )
        with pytest.raises(TimeoutError):
            receiver.recv(1)
    assert printed == "sent"


def test_two_commands_of_a_session_share_their_loopback(python: Contained) -> None:
    server = """
        socket(my $s, 2, 1, 0); setsockopt($s, 1, 2, pack("i", 1));
        bind($s, pack("SnC4x8", 2, 8080, 127,0,0,1)) or die "bind $!"; listen($s, 5);
        open(my $f, ">", "ready"); close $f; accept(my $c, $s); syswrite($c, "hello");
    """
    waiting = threading.Thread(target=perl, args=(python, server))
    waiting.start()
    client = """
        for (1..200) { last if -e "ready"; select(undef, undef, undef, 0.02); }
        socket(my $s, 2, 1, 0); connect($s, pack("SnC4x8", 2, 8080, 127,0,0,1)) or die "no $!";
        sysread($s, my $b, 5); print $b;
    """
    assert perl(python, client) == "hello"
    waiting.join(20)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", 8080), 1)


@pytest.mark.parametrize(
    ("family", "errno"),
    [(1, 13), (16, 13), (17, 13), (2, 0), (10, 0), (29, 1), (31, 1), (40, 1)],
)
def test_socket_families_are_as_the_table_says(python: Contained, family: int, errno: int) -> None:
    printed = perl(python, f"print socket(my $s, {family}, 1, 0) ? 0 : $!+0")
    assert int(printed) == errno


def test_unix_sockets_are_an_opt_in_and_still_cannot_be_bound_in_the_work_folder(
    contain: Opener,
) -> None:
    session = contain("perl", "sh", unix_sockets=True)
    printed = perl(
        session,
        """
        socket(my $s, 1, 1, 0) or die $!; print "made ";
        print bind($s, pack("Sa108", 1, "here.sock")) ? "bound" : $!+0;
        """,
    )
    assert printed == "made 13"


SYSCALLS = {
    "io_uring_setup": (425, 425),
    "userfaultfd": (323, 282),
    "bpf": (321, 280),
    "open_by_handle_at": (304, 265),
    "perf_event_open": (298, 241),
    "keyctl": (250, 219),
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount_setattr": (442, 442),
    "ptrace": (101, 117),
}


@pytest.mark.parametrize("name", SYSCALLS)
def test_a_dangerous_call_is_refused(python: Contained, name: str) -> None:
    number = SYSCALLS[name][NUMBERS[os.uname().machine]]
    printed = perl(python, f"syscall({number}, 0, 0, 0, 0, 0); print $!+0")
    assert printed == "1"


def test_a_clone_into_a_user_namespace_is_refused(python: Contained) -> None:
    clone, clone3 = {"x86_64": (56, 435), "aarch64": (220, 435)}[os.uname().machine]
    assert perl(python, f"print syscall({clone}, 0x10000011, 0, 0, 0, 0), ' ', $!+0") == "-1 1"
    assert perl(python, f"print syscall({clone3}, 0, 0), ' ', $!+0") == "-1 38"


def test_the_other_abis_of_x86_are_killed(python: Contained) -> None:
    if os.uname().machine != "x86_64":
        pytest.skip("x32 is an ABI of x86-64")
    result = python.run("perl", "-e", "syscall(0x40000000 + 39); print 'alive'")
    assert result.exit_code == 128 + 31
    assert result.stdout == b""


def test_a_device_node_is_not_made(python: Contained) -> None:
    number = {"x86_64": 133, "aarch64": None}[os.uname().machine]
    if number is None:
        pytest.skip("mknod is an old call of x86-64")
    printed = perl(python, f'my $p = "node"; syscall({number}, $p, 0060644, 0x700); print $!+0')
    assert printed in ("1", "13")


def test_folders_below_tmp_stay_reachable_although_tmp_is_covered(contain: Opener) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        session = contain(base=Path(folder))
        Path(session.folders.runtime, "task.md").write_text("read me")
        result = session.sh('echo x > made; pwd; cat "$MURMUR_RUNTIME_DIR/task.md"; ls /tmp')
        assert result.stdout.decode().split("\n")[:2] == [session.folders.workdir, "read me" +
                                                           os.path.basename(folder)]  # fmt: skip
        assert (session.work / "made").exists()
        assert session.sh("cp /bin/cat p; ./p").exit_code == 126
        session.close()


def test_a_server_left_running_is_reached_by_the_next_command_and_dies_with_the_session(
    contain: Opener,
) -> None:
    session = contain()
    first = session.sh("(while :; do echo tick; echo x >> ticks; sleep 0.05; done) & echo started")
    assert first.stdout.startswith(b"started")
    assert first.duration_ms < 5000
    assert session.run("sleep", "0.4").exit_code == 0
    assert (session.work / "ticks").read_text().count("x") > 2
    assert session.session.close()
    size = (session.work / "ticks").stat().st_size
    threading.Event().wait(0.3)
    assert (session.work / "ticks").stat().st_size == size


def test_a_seccomp_only_host_still_filters_calls_and_networks(
    contain: Opener, reading: HostReading
) -> None:
    import dataclasses

    weaker = dataclasses.replace(
        reading, landlock=dataclasses.replace(reading.landlock, ok=False), sealed=reading.landlock
    )
    session = contain("sh", "cat", "perl", host=weaker)
    assert session.policy.tier == "Seccomp-only"
    assert perl(session, "print socket(my $s, 16, 1, 0) ? 0 : $!+0") == "13"
    assert session.run("cat", "/etc/passwd").exit_code == 0
    status = session.run("cat", "/proc/self/status").stdout.decode()
    assert "CapBnd:\t0000000000000000" in status


def test_an_allowed_python_imports_what_it_came_with(contain: Opener) -> None:
    session = contain("python3", "cat")
    if "python3" not in session.policy.binaries:
        pytest.skip("no python3 here")
    program = "import json, ssl, sqlite3, ctypes, decimal; print(json.dumps([1]))"
    result = session.run("python3", "-c", program)
    assert (result.stdout, result.stderr) == (b"[1]\n", b"")
    refused = session.run("python3", "-c", "open('/etc/passwd')")
    assert b"PermissionError" in refused.stderr


def test_an_allowed_python_runs_a_script_of_the_work_folder(contain: Opener) -> None:
    session = contain("python3")
    if "python3" not in session.policy.binaries:
        pytest.skip("no python3 here")
    (session.work / "script.py").write_text("import sys, os; print(sys.argv[1], os.getcwd())")
    result = session.run("python3", "script.py", "one")
    assert result.stdout.decode().split() == ["one", session.folders.workdir]
