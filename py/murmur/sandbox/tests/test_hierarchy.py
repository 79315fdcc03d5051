"""Finding this process's groups. spec/containment.md 19."""

import os
from pathlib import Path

import pytest

from murmur.sandbox.hierarchy import Blocked, Counter, disk_of, mounted_from, parse_facts

V1_TABLE = """25 1 0:22 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
26 1 0:23 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
27 1 0:24 /docker/abc /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids
28 1 0:25 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
"""


def test_each_controller_has_the_group_of_its_own_line() -> None:
    facts = parse_facts(
        "4:memory:/process/x\n3:cpu,cpuacct:/\n2:pids:/docker/abc/inner\n0::/app\n", V1_TABLE
    )
    assert facts.unified == Path("/sys/fs/cgroup/unified/app")
    assert facts.v1 == {
        "memory": Path("/sys/fs/cgroup/memory/process/x"),
        "cpu": Path("/sys/fs/cgroup/cpu,cpuacct"),
        "cpuacct": Path("/sys/fs/cgroup/cpu,cpuacct"),
        "pids": Path("/sys/fs/cgroup/pids/inner"),
    }


def test_a_group_that_the_mount_does_not_show_is_not_there() -> None:
    facts = parse_facts("2:pids:/elsewhere\n0::/\n", V1_TABLE)
    assert facts.v1 == {}
    assert facts.unified == Path("/sys/fs/cgroup/unified")


def test_a_counter_reads_its_key_and_is_zero_without_a_file(tmp_path: Path) -> None:
    file = tmp_path / "memory.events"
    file.write_text("oom 4\noom_kill 7\n")
    counter = Counter(file, "oom_kill")
    assert counter.read() == 7
    counter.close()
    assert Counter(tmp_path / "absent", "oom_kill").read() == 0
    assert Counter(file, "missing").read() == 0


def test_a_file_system_without_a_disk_cannot_be_bounded() -> None:
    with pytest.raises(Blocked):
        disk_of("/proc")


def test_a_file_system_with_a_number_of_its_own_lies_on_what_it_is_mounted_from() -> None:
    blocks = [each for each in Path("/dev").iterdir() if each.is_block_device()]
    if not blocks:
        pytest.skip("INCONCLUSIVE: no block device here")
    number = os.stat(blocks[0]).st_rdev
    table = (
        "20 1 0:31 / /proc rw - proc proc rw\n"
        f"21 1 0:40 /sub /data rw,relatime shared:1 - btrfs {blocks[0]} rw\n"
        "22 1 0:41 / /elsewhere rw - btrfs /dev/null rw\n"
        "23 1 0:42 / /over rw - overlay overlay rw\n"
    )
    assert mounted_from("0:40", table) == f"{os.major(number)}:{os.minor(number)}"
    for other in ("0:31", "0:41", "0:42", "9:9"):
        assert mounted_from(other, table) is None


def test_a_folder_in_memory_lies_on_no_disk() -> None:
    with pytest.raises(Blocked, match="/dev/shm/none/there lies on no block device"):
        disk_of("/dev/shm/none/there")
