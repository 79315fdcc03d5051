"""Resource cases on the real kernel, under the tight profile. spec/containment.md 26.2 and 21."""

import signal
import sys

import pytest

from murmur.sandbox.resources import Resources

from .conftest import Contained, Opener

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the helper's home")

MIB = 1 << 20
TIGHT = Resources(
    max_processes=512,
    max_open_files=128,
    max_file_size_bytes=10 * MIB,
    cgroup_memory_bytes=256 * MIB,
    cgroup_pids_max=32,
    cgroup_cpu_percent=50,
    workdir_max_bytes=50 * MIB,
    memory_bytes=4096 * MIB,
)


@pytest.fixture
def tight(contain: Opener) -> Contained:
    return contain("sh", "perl", "dd", "cat", "sleep", "true", resources=TIGHT)


def scoped(session: Contained) -> None:
    if session.scope is None:
        pytest.skip("INCONCLUSIVE: no cgroup hierarchy can hold a scope here")


def test_a_fork_bomb_is_contained(tight: Contained) -> None:
    scoped(tight)
    program = """
        my $made = 0;
        for (1..200) { my $pid = fork; last unless defined $pid; if (!$pid) { sleep 20; exit }
                       $made++; push @all, $pid }
        print "$made ", $!+0; kill 9, @all;
    """
    result = tight.run("perl", "-e", program)
    made, errno = result.stdout.split()
    assert 25 <= int(made) <= 31
    assert int(errno) == 11, "EAGAIN"
    assert result.resource_limit == "cgroup_pids_max"


def test_a_memory_hog_is_contained(tight: Contained) -> None:
    scoped(tight)
    result = tight.run("perl", "-e", 'my $x = "x" x (600 << 20); print length $x;')
    assert result.exit_code == 137
    assert result.resource_limit == "cgroup_memory_bytes"
    assert tight.run("true").exit_code == 0, "the session goes on"


def test_one_large_file_is_contained(tight: Contained) -> None:
    result = tight.run("dd", "if=/dev/zero", "of=big", "bs=1048576", "count=20")
    assert (tight.work / "big").stat().st_size <= 10 * MIB
    assert result.exit_code == 128 + signal.SIGXFSZ
    assert result.resource_limit == "max_file_size_bytes"


def test_many_files_past_the_ceiling_refuse_the_second_command(tight: Contained) -> None:
    fill = "for i in 1 2 3 4 5 6 7; do dd if=/dev/zero of=f$i bs=1048576 count=9; done"
    assert tight.sh(fill).exit_code == 0
    refused = tight.run("true")
    assert refused.set_up_failure is not None
    assert refused.set_up_failure.startswith("error[E-RUN-013]: ")
    assert "workdir_max_bytes" in refused.set_up_failure
    assert str(50 * MIB) in refused.set_up_failure
    for file in tight.work.iterdir():
        file.unlink()
    assert tight.run("true").set_up_failure is not None, "it latches"


def test_descriptors_run_out(tight: Contained) -> None:
    program = """
        my $n = 0;
        while (open(my $f, "<", "/dev/null")) { $n++; push @f, $f }
        print $n, " ", $!+0;
    """
    most, errno = tight.run("perl", "-e", program).stdout.split()
    assert int(most) <= 128
    assert int(errno) == 24, "EMFILE"


def test_a_spinning_command_ends_at_its_processor_time(contain: Opener) -> None:
    session = contain("perl", resources=Resources(cpu_seconds=1))
    result = session.run("perl", "-e", "1 while 1", timeout=30)
    assert result.exit_code == 128 + signal.SIGXCPU
    assert result.resource_limit == "cpu_seconds"


def test_the_address_space_is_bounded(contain: Opener) -> None:
    session = contain("perl", resources=Resources(memory_bytes=256 * MIB))
    result = session.run("perl", "-e", 'my $x = "x" x (600 << 20); print "made"')
    assert b"made" not in result.stdout
    assert result.exit_code != 0


def test_a_limit_cannot_be_raised(tight: Contained) -> None:
    assert tight.sh("ulimit -n 64; ulimit -n").stdout == b"64\n"
    assert tight.sh("ulimit -n 4096").exit_code != 0


def test_the_processor_share_is_bounded(contain: Opener) -> None:
    session = contain("perl", resources=Resources(cgroup_cpu_percent=10))
    scoped(session)
    program = "my $n = 0; my $end = time + 2; $n++ while time < $end; print((times)[0])"
    used = float(session.run("perl", "-e", program).stdout)
    assert used < 1.0, "a tenth of a processor for about two seconds"


def test_an_ordinary_failure_is_attributed_to_nothing(tight: Contained) -> None:
    result = tight.sh("exit 7")
    assert (result.exit_code, result.resource_limit) == (7, None)


def test_without_a_scope_the_number_of_tasks_is_bounded_by_rlimit(tight: Contained) -> None:
    tight.session._scope = None
    limit = tight.sh("ulimit -p 2>/dev/null || ulimit -u").stdout.strip()
    assert limit.isdigit()
    assert 512 < int(limit) < 512 + 20000
