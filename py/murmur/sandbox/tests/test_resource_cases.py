"""Bounds on the real kernel, and what they are attributed to. spec/containment.md 19 to 21.

The cases of 26.2 stand in tests/conformance.
"""

import signal
import sys

import pytest

from murmur.sandbox.resources import Resources

from .conftest import Contained, Opener

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the helper's home")

MIB = 1 << 20


@pytest.fixture
def tight(contain: Opener) -> Contained:
    return contain("sh", resources=Resources(max_processes=512, max_open_files=128))


def scoped(session: Contained) -> None:
    if session.scope is None:
        pytest.skip("INCONCLUSIVE: no cgroup hierarchy can hold a scope here")


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
