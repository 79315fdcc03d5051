"""A composed root on this kernel: what commands find in it. spec/containment.md 13."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from murmur.core.config import HostPath
from murmur.manifest.grants import InterpreterDirectory, InterpreterRuntime, StagedRuntime
from murmur.sandbox.probe import HostReading
from murmur.sandbox.results import RootNotComposed

from .conftest import Contained, Opener

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the helper's home")


@pytest.fixture(autouse=True)
def _seals(reading: HostReading) -> None:
    if reading.tier != "Sealed":
        pytest.skip(f"INCONCLUSIVE: no composed root here: {reading.blocker}")


@pytest.fixture
def sealed(contain: Opener) -> Contained:
    return contain(sealed=True)


def test_a_path_that_is_not_granted_does_not_exist(sealed: Contained) -> None:
    for path in ("/etc/shadow", "/root", "/home", "/var/log", "/sys", "/.mur-oldroot", "/boot"):
        result = sealed.run("ls", "-d", path)
        assert b"No such file" in result.stderr, (path, result)


def test_scaffolding_can_be_entered_and_not_listed(sealed: Contained) -> None:
    for path in ("/", "/etc", "/dev"):
        assert sealed.sh(f"cd {path}").exit_code == 0
        assert b"Permission denied" in sealed.run("ls", path).stderr
    assert sealed.run("ls", "/usr/bin").exit_code == 0


def test_nothing_of_the_system_can_be_written_or_changed(contain: Opener) -> None:
    session = contain("sh", "touch", "chmod", "mkdir", sealed=True)
    for path in ("/usr/made", "/etc/made", "/made", "/dev/made", "/proc/made", "/var/made"):
        assert session.run("mkdir", path).exit_code == 1
        assert not Path(path).exists()
    for path in ("/usr/bin/env", "/etc/passwd", "/dev/null", "/", "/tmp/..", "/etc/ssl"):
        result = session.run("chmod", "0777", path)
        assert b"Read-only" in result.stderr or b"No such" in result.stderr, (path, result)


def test_identity_is_synthetic_and_home_is_the_sessions(contain: Opener) -> None:
    session = contain("python3", sealed=True)
    text = "import os, pwd; u = pwd.getpwuid(os.getuid()); print(u.pw_name, u.pw_dir)"
    name = "root" if os.getuid() == 0 else "capsule"
    assert session.run("python3", "-c", text).stdout.decode().split() == [
        name,
        session.folders.home,
    ]


def test_the_device_set_is_the_documented_one(contain: Opener) -> None:
    session = contain("python3", sealed=True)
    text = (
        "import errno, os\n"
        "def try_(name, flags):\n"
        "    try: os.close(os.open('/dev/' + name, flags)); return 'ok'\n"
        "    except OSError as e: return errno.errorcode[e.errno]\n"
        "for name in 'null zero full random urandom console shm vda fuse'.split():\n"
        "    print(name, try_(name, os.O_RDONLY), try_(name, os.O_WRONLY))\n"
        "links = map(os.readlink, ('/dev/fd', '/dev/stdout', '/dev/ptmx'))\n"
        "print(try_('tty', os.O_RDWR), *links)\n"
    )
    assert session.run("python3", "-c", text).stdout.decode().splitlines() == [
        "null ok ok",
        "zero ok EACCES",
        "full ok ok",
        "random ok EACCES",
        "urandom ok EACCES",
        "console ENOENT ENOENT",
        "shm ENOENT ENOENT",
        "vda ENOENT ENOENT",
        "fuse ENOENT ENOENT",
        "ENXIO /proc/self/fd /proc/self/fd/1 pts/ptmx",
    ]


def test_terminals_are_the_sessions_own(contain: Opener) -> None:
    session = contain("python3", sealed=True)
    text = (
        "import os; a, b = os.openpty(); os.write(a, b'x\\n'); print(os.ttyname(b), os.read(b, 9))"
    )
    result = session.run("python3", "-c", text)
    assert result.stdout == b"/dev/pts/0 b'x\\n'\n", result


def test_two_commands_share_tmp_and_the_host_does_not(sealed: Contained) -> None:
    name = f"murmur-{os.getpid()}"
    assert sealed.sh(f"echo one > /tmp/{name}").exit_code == 0
    assert sealed.sh(f"cat /tmp/{name}").stdout == b"one\n"
    assert not Path("/tmp", name).exists()
    assert Path(sealed.folders.temp, name).read_text() == "one\n"


def test_records_and_runtime_are_read_only_by_mount(contain: Opener) -> None:
    session = contain("sh", "cat", "chmod", sealed=True)
    (session.base / "records" / "trace.jsonl").write_text("{}\n")
    for path in (f"{session.folders.records}/trace.jsonl", session.folders.runtime):
        assert b"Read-only" in session.run("chmod", "0777", path).stderr
    assert session.run("cat", f"{session.folders.records}/trace.jsonl").stdout == b"{}\n"
    assert b"Read-only" in session.sh(f"echo x > {session.folders.records}/made").stderr
    assert session.sh(f"echo x > {session.folders.temp}/made && cat /tmp/made").stdout == b"x\n"


@pytest.mark.parametrize("parent", ["/tmp", "/run", "/usr/local"])
def test_a_work_folder_below_what_is_covered_or_bound_is_found(
    contain: Opener, parent: str
) -> None:
    if not os.access(parent, os.W_OK):
        pytest.skip(f"{parent} cannot be written here")
    with tempfile.TemporaryDirectory(dir=parent, prefix="murmur-test-") as folder:
        session = contain(base=Path(folder), sealed=True)
        assert session.sh("pwd -P; echo written > made").stdout.decode().strip() == str(
            session.work
        )
        assert (session.work / "made").read_text() == "written\n"
        session.close()


def test_what_is_written_cannot_be_run_by_any_route(contain: Opener) -> None:
    session = contain("sh", "cat", "cp", "chmod", sealed=True)
    for folder in (".", "/tmp", "$HOME"):
        line = f"cp /usr/bin/true {folder}/mine && chmod +x {folder}/mine && {folder}/mine"
        assert session.sh(line).exit_code == 126
        loader = f"/lib64/ld-linux-x86-64.so.2 {folder}/mine"
        assert session.sh(loader).exit_code != 0


def test_a_program_outside_the_system_trees_runs_with_its_libraries(contain: Opener) -> None:
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="murmur-opt-") as folder:
        program = Path(folder, "bin", "mine")
        program.parent.mkdir()
        subprocess.run(["cp", os.path.realpath("/usr/bin/env"), program], check=True)
        link = Path(folder, "path")
        link.mkdir()
        (link / "mine").symlink_to(program)
        session = contain("mine", "sh", path=f"{link}:/usr/bin:/bin", sealed=True)
        for name in (link / "mine", program):
            assert session.run("mine", "-i", "A=1", str(name)).stdout == b"A=1\n"
        assert session.sh(f"mine -i B=1 {link}/mine").stdout == b"B=1\n"
        session.close()


def test_a_native_tool_in_the_runtime_folder_runs_and_nothing_else_there(contain: Opener) -> None:
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="murmur-native-") as folder:
        tools = Path(folder, "runtime", "tools", "mine")
        tools.mkdir(parents=True)
        other = Path(folder, "runtime", "other")
        for path in (tools / "mine", other):
            subprocess.run(["cp", os.path.realpath("/usr/bin/env"), path], check=True)
        session = contain(
            "sh", base=Path(folder), sealed=True, natives=(os.path.realpath(tools / "mine"),)
        )
        program = str(tools / "mine")
        assert session.run(program, "-i", "A=1", program).stdout == b"A=1\n"
        assert session.sh(str(other)).exit_code == 126
        session.close()


def test_a_link_that_is_there_already_is_left_alone(contain: Opener) -> None:
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="murmur-link-") as folder:
        Path(folder, "data").mkdir()
        Path(folder, "data", "x").write_text("seen")
        Path(folder, "work").mkdir()
        Path(folder, "work", "link").symlink_to(f"{folder}/data")
        directory = InterpreterDirectory(f"{folder}/work/link", True)
        session = contain(
            "cat",
            base=Path(folder),
            sealed=True,
            interpreter_runtime=(InterpreterRuntime("cat", (directory,)),),
        )
        assert session.run("cat", "link/x").stdout == b"seen"
        session.close()


def test_a_staged_runtime_that_is_missing_ends_everything_before_a_command(contain: Opener) -> None:
    staged = (StagedRuntime("sh", "/opt/no-such-tree", "1"),)
    session = contain("sh", sealed=True, staged_runtime=staged)
    with pytest.raises(RootNotComposed) as lost:
        session.session.start(["sh", "-c", "echo ran > ran"], session.env)
    assert lost.value.refusal.code == "E-RUN-014"
    assert lost.value.detail.startswith("sealed-root: openat2 /opt/no-such-tree: ")
    assert not (session.work / "ran").exists()


def test_a_host_path_is_there_for_reading_or_writing(contain: Opener) -> None:
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="murmur-host-") as folder:
        for name in ("read", "write"):
            Path(folder, name).mkdir()
            Path(folder, name, "data").write_text(name)
        paths = (HostPath(f"{folder}/read"), HostPath(f"{folder}/write", "read-write"))
        session = contain("sh", "cat", sealed=True, host_paths=paths)
        assert session.run("cat", f"{folder}/read/data").stdout == b"read"
        assert b"Read-only" in session.sh(f"echo x > {folder}/read/data").stderr
        assert session.sh(f"echo x > {folder}/write/data").exit_code == 0
        assert Path(folder, "write", "data").read_text() == "x\n"
        session.close()


def test_a_source_that_was_exchanged_since_it_was_looked_at_is_refused(contain: Opener) -> None:
    session = contain(sealed=True)
    session.work.rename(session.base / "aside")
    session.work.mkdir()
    with pytest.raises(RootNotComposed, match="sealed-root"):
        session.session.start(["true"], session.env)
