"""The one decision on what commands may do. spec/containment.md 9, 10, 14; decisions 11."""

import os
import stat
from pathlib import Path

import pytest

from murmur.sandbox.launchspec import constant
from murmur.sandbox.mounts import aliases
from murmur.sandbox.native_code import loads_native_code
from murmur.sandbox.ownership import UnusableFolder
from murmur.sandbox.policy import (
    CommandPolicy,
    Demands,
    Folders,
    derive,
)
from murmur.sandbox.probe import HostReading, parse, without_linux
from murmur.sandbox.resources import RLIMIT_CORE, RLIMIT_CPU, RLIMIT_NOFILE

from .test_probe import GOOD, with_line

HOST = parse(GOOD, (False, False))


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    names = ("work", "runtime", "records", "records/tmp", "records/home")
    for name in names:
        (tmp_path / name).mkdir()
    return Folders(*(str(tmp_path / name) for name in names))


def made(
    folders: Folders, *allow: str, host: HostReading = HOST, **demands: object
) -> CommandPolicy:
    wanted = Demands(allow or ("sh",), **demands)  # type: ignore[arg-type]
    return derive(host, folders, wanted, "/usr/bin:/bin")


def access(policy: CommandPolicy, path: str) -> set[str]:
    """Names of the rights that the rules give for exactly this path."""
    names = (
        "EXECUTE", "WRITE_FILE", "READ_FILE", "READ_DIR", "REMOVE_DIR", "REMOVE_FILE",
        "MAKE_CHAR", "MAKE_DIR", "MAKE_REG", "MAKE_SOCK", "MAKE_FIFO", "MAKE_BLOCK", "MAKE_SYM",
        "REFER", "TRUNCATE",
    )  # fmt: skip
    bits = 0
    for rule in policy.rules:
        if rule.path == path:
            bits |= rule.access
    return {name for name in names if bits & constant(f"ACCESS_{name}")}


WORK = {
    "WRITE_FILE", "READ_FILE", "READ_DIR", "REMOVE_DIR", "REMOVE_FILE", "MAKE_DIR", "MAKE_REG",
    "MAKE_FIFO", "MAKE_SYM", "REFER", "TRUNCATE",
}  # fmt: skip


def test_rights_per_path_are_those_of_the_table(folders: Folders) -> None:
    policy = made(folders)
    assert access(policy, folders.workdir) == WORK
    assert access(policy, folders.temp) == WORK
    assert access(policy, folders.home) == WORK
    assert access(policy, folders.runtime) == {"READ_FILE", "READ_DIR"}
    assert access(policy, folders.records) == {"READ_FILE", "READ_DIR"}
    assert access(policy, "/dev/null") == {"READ_FILE", "WRITE_FILE"}
    assert access(policy, "/dev/zero") == {"READ_FILE"}
    assert access(policy, "/dev/urandom") == {"READ_FILE"}
    assert access(policy, "/dev/random") == set()
    assert access(policy, "/proc") == {"READ_FILE", "READ_DIR"}
    assert access(policy, policy.binaries["sh"].path) == {"EXECUTE", "READ_FILE"}
    for path in policy.binaries["sh"].closure:
        assert access(policy, path) == {"EXECUTE", "READ_FILE"}


def test_execute_on_the_work_folder_only_when_declared(folders: Folders) -> None:
    policy = made(folders, workdir_exec=True)
    assert access(policy, folders.workdir) == WORK | {"EXECUTE"}
    assert access(policy, folders.temp) == WORK
    assert not policy.workdir_noexec


def test_the_work_folder_is_noexec_and_so_are_tmp_and_home(folders: Folders) -> None:
    policy = made(folders)
    noexec = {tree.target: tree.noexec for tree in policy.trees}
    assert noexec[folders.workdir]
    assert noexec[folders.home]
    assert noexec[folders.temp]
    assert noexec["/tmp"]
    assert policy.workdir_noexec
    assert policy.native_loaders == ()


@pytest.mark.parametrize(
    "name",
    ["python", "python3", "python3.11", "node", "ruby3.1", "perl", "perl5.36.0", "java", "php8.2"],
)
def test_language_runtimes_are_recognised(name: str) -> None:
    assert loads_native_code(name, f"/usr/bin/{name}")


@pytest.mark.parametrize("name", ["sh", "bash", "git", "perlbrew", "nodemon", "cat"])
def test_other_programs_are_not(name: str) -> None:
    assert not loads_native_code(name, f"/usr/bin/{name}")


def test_a_runtime_is_recognised_behind_a_link_of_another_name() -> None:
    assert loads_native_code("py", "/usr/bin/python3.11")


def test_with_a_language_runtime_the_work_folder_is_not_noexec_and_the_policy_says_who(
    folders: Folders,
) -> None:
    policy = made(folders, "sh", "perl")
    if "perl" not in policy.binaries:
        pytest.skip("no perl here")
    assert policy.native_loaders == ("perl",)
    assert not policy.workdir_noexec
    noexec = {tree.target: tree.noexec for tree in policy.trees}
    assert not noexec[folders.workdir]
    assert noexec[folders.home]
    assert noexec["/tmp"]


def test_trees_are_attached_shallowest_first(folders: Folders) -> None:
    depths = [tree.target.count("/") for tree in made(folders).trees]
    assert depths == sorted(depths)


def test_the_work_folder_is_named_by_device_and_inode(folders: Folders) -> None:
    status = os.stat(folders.workdir)
    policy = made(folders)
    (rule,) = [each for each in policy.rules if each.path == folders.workdir]
    assert (rule.device, rule.inode) == (status.st_dev, status.st_ino)
    assert not rule.optional


def test_a_work_folder_that_is_tmp_leaves_tmp_as_it_is(folders: Folders) -> None:
    import dataclasses

    if not os.stat("/tmp").st_mode & stat.S_IWOTH:
        pytest.skip("an unusual /tmp")
    policy = made(dataclasses.replace(folders, workdir="/tmp"))
    assert not policy.maps_tmp
    assert policy.tmpdir == folders.temp


def test_without_a_mount_namespace_nothing_is_mapped_and_nothing_noexec(folders: Folders) -> None:
    host = parse(with_line("mounts", "mounts failed mount 1 mount view"), (False, False))
    policy = made(folders, host=host)
    assert (policy.trees, policy.maps_tmp, policy.workdir_noexec) == ((), False, False)
    assert (policy.private_proc, policy.tmpdir) == (False, folders.temp)


def test_the_applied_tier_is_full_where_the_host_could_seal(folders: Folders) -> None:
    assert (HOST.tier, made(folders).tier) == ("Sealed", "Full")
    assert made(folders).mechanism == "landlock+seccomp"


def test_environment_only_has_no_kernel_part(folders: Folders) -> None:
    policy = made(folders, host=without_linux())
    assert (policy.tier, policy.trees, policy.maps_tmp) == ("Environment-only", (), False)
    assert policy.tmpdir == folders.temp


def test_trust_store_and_resolver_files_come_with_the_network_alone(folders: Folders) -> None:
    assert made(folders).trust_store == made(folders).name_resolution == ()
    policy = made(folders, network=True)
    assert os.path.realpath("/etc/hosts") in policy.name_resolution
    for path in policy.trust_store:
        assert access(policy, path) == {"READ_FILE", "READ_DIR"}


def test_a_missing_folder_is_an_error(folders: Folders) -> None:
    import dataclasses

    with pytest.raises(FileNotFoundError):
        made(dataclasses.replace(folders, runtime=folders.runtime + "/absent"))


@pytest.mark.skipif(os.geteuid() != 0, reason="INCONCLUSIVE: needs root to change an owner")
def test_root_with_a_work_folder_of_somebody_else_is_refused_naming_the_owner(
    folders: Folders,
) -> None:
    os.chown(folders.workdir, 65534, 65534)
    with pytest.raises(UnusableFolder, match="nobody"):
        made(folders)


def test_limits_are_hard_and_core_dumps_are_off(folders: Folders) -> None:
    limits = {each.resource: (each.soft, each.hard) for each in made(folders).limits}
    assert limits[RLIMIT_NOFILE] == (1024, 1024)
    assert limits[RLIMIT_CORE] == (0, 0)
    assert limits[RLIMIT_CPU] == (3600, 3601)


MOUNTS = """22 1 8:1 / / rw - ext4 /dev/sda1 rw
30 22 8:1 /home/me /mnt/me rw - ext4 /dev/sda1 rw
31 22 8:1 /home/me/work/deep /mnt/deep rw - ext4 /dev/sda1 rw
32 22 0:30 / /tmp rw - tmpfs tmpfs rw
33 22 8:1 /opt /mnt/with\\040space rw - ext4 /dev/sda1 rw
"""


def test_second_ways_to_a_folder_are_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os.path, "isdir", lambda path: True)
    assert aliases(["/home/me/work"], MOUNTS) == ("/mnt/deep", "/mnt/me/work")
    assert aliases(["/tmp/x"], MOUNTS) == ()
    assert aliases(["/opt"], MOUNTS) == ("/mnt/with space",)
    assert aliases(["/mnt/me/work"], MOUNTS) == ("/home/me/work", "/mnt/deep")
