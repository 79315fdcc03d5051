"""What the probe's answers mean. spec/containment.md 2, 3 and 7."""

import errno
from pathlib import Path

import pytest

from murmur.sandbox import probe
from murmur.sandbox.probe import HostReading, network_refusal, parse, read_host

GOOD = """landlock ok 7
seccomp ok
network ok
mounts ok
proc ok
sealed ok
memfd_noexec failed open 13 memfd
label unconfined
"""


def with_line(stage: str, line: str) -> str:
    return "".join(
        f"{line}\n" if each.startswith(f"{stage} ") else f"{each}\n" for each in GOOD.splitlines()
    )


def test_a_host_that_can_do_everything_is_sealed() -> None:
    reading = parse(GOOD, (False, False))
    assert (reading.tier, reading.blocker, reading.landlock_abi) == ("Sealed", None, 3)
    assert reading.memfd_noexec.reason == "open failed with EACCES (Permission denied)"


@pytest.mark.parametrize(
    ("stage", "line", "tier", "blocker"),
    [
        ("sealed", "sealed failed pivot_root 1 sealed root", "Full", "pivot_root_denied"),
        ("sealed", "sealed failed mount 13 sealed root", "Full", "mount_denied"),
        ("network", "network failed unshare 1 namespaces", "Full", "namespace_creation_denied"),
        ("network", "network failed unshare 28 namespaces", "Full", "kernel_unsupported"),
        ("network", "network failed write 1 id map", "Full", "id_map_denied"),
        ("landlock", "landlock failed landlock_create_ruleset 38 landlock", "Seccomp-only",
         "landlock_unavailable"),
        ("seccomp", "seccomp failed seccomp 22 seccomp", "Environment-only", "mount_denied"),
    ],
)  # fmt: skip
def test_the_tier_and_the_blocker_follow_what_failed(
    stage: str, line: str, tier: str, blocker: str
) -> None:
    reading = parse(with_line(stage, line), (False, False))
    assert reading.tier == tier
    if stage != "seccomp":
        assert reading.blocker == blocker


def test_a_restriction_without_the_profile_is_the_blocker() -> None:
    text = with_line("network", "network failed ioctl 1 network")
    reading = parse(text, (True, True))
    assert (reading.userns_grant, reading.blocker) == ("withheld", "app_armor_profile_missing")
    reason, fix = network_refusal(reading)
    assert "ioctl failed with EPERM" in reason
    assert "network.allow" in reason
    assert "mur-sealed" in fix


@pytest.mark.parametrize(
    ("label", "facts", "grant"),
    [
        ("mur-sealed-home (unconfined)", (True, True), "profile_confining"),
        ("unconfined", (True, False), "restriction_disabled_host_wide"),
        ("", (False, False), "apparmor_absent"),
    ],
)
def test_the_grant_is_worded_as_the_table_says(
    label: str, facts: tuple[bool, bool], grant: str
) -> None:
    assert parse(GOOD.replace("unconfined", label), facts).userns_grant == grant


def test_a_probe_that_says_too_little_is_an_error() -> None:
    with pytest.raises(OSError, match="sealed") as caught:
        parse(with_line("sealed", ""), (False, False))
    assert caught.value.errno == errno.EPROTO


def test_a_system_that_is_not_linux_is_environment_only() -> None:
    reading = probe.without_linux()
    assert (reading.tier, reading.blocker, reading.userns_grant) == (
        "Environment-only",
        "not_linux",
        "n/a",
    )


def test_this_host_answers_every_stage(reading: HostReading, helper: Path) -> None:
    assert reading.linux
    again = read_host(helper)
    assert again == reading
