"""The blocks about this host: Landlock, memory bound, AppArmor's profile."""

import dataclasses
import hashlib
from pathlib import Path

from murmur.doctor.host import SHIPPED_PROFILES, landlock_block, memory_block, memory_files
from murmur.sandbox.hierarchy import Facts
from murmur.sandbox.probe import HostReading, Stage, network_refusal

PROFILE = Path("packaging/apparmor/mur-sealed")
_OK = Stage(True, number=7)
READING = HostReading(True, _OK, _OK, _OK, _OK, _OK, _OK, _OK, "apparmor_absent")


def test_what_a_capsule_loses_below_a_landlock_abi_is_said() -> None:
    assert landlock_block(READING, "") == [
        "Landlock",
        "  kernel ABI: 7",
        "  ruleset ABI: 3 (the kernel's, capped at 3)",
    ]
    second = dataclasses.replace(READING, landlock=Stage(True, number=2))
    assert landlock_block(second, "")[3:] == [
        "  truncate(2) on a file outside the workdir is not refused on this host"
    ]
    first = dataclasses.replace(READING, landlock=Stage(True, number=1))
    assert "fails with EXDEV on this host" in landlock_block(first, "")[3]
    assert len(landlock_block(first, "")) == 5


def test_the_memory_bound_names_the_files_that_a_launch_writes(tmp_path: Path) -> None:
    assert memory_block(5, linux=False)[2].startswith("  not applied on this host: ")
    assert memory_files(Facts(None, {})) == "unknown"
    assert memory_files(Facts(None, {"memory": tmp_path})) == "v1"
    assert memory_files(Facts(tmp_path, {"memory": tmp_path})) == "v1"
    (tmp_path / "cgroup.controllers").write_text("cpu memory\n")
    assert memory_files(Facts(tmp_path, {"memory": tmp_path})) == "v2"


def test_the_shipped_profile_is_known_by_its_digest() -> None:
    assert hashlib.sha256(PROFILE.read_bytes()).hexdigest() == SHIPPED_PROFILES[-1]


def test_the_profile_names_the_helper_s_places_and_grants_what_the_reference_lists() -> None:
    text = PROFILE.read_text()
    granted = "userns capability sys_admin capability net_admin mount umount pivot_root"
    for name, where in (
        ("mur-sealed", "/{usr/local/bin,usr/bin,opt/mur/bin}/mur-sandbox"),
        ("mur-sealed-home", "@{HOME}/{.local,.cargo}/bin/mur-sandbox"),
    ):
        head = f"profile {name} {where} flags=(unconfined) {{"
        body = text.partition(head)[2].partition("\n}")[0]
        rules = [line.strip() for line in body.strip().splitlines()]
        assert " ".join(rule.rstrip(",") for rule in rules[:-1]) == granted
        assert rules[-1] == f"include if exists <local/{name}>"


def test_the_command_that_loads_the_profile_is_the_one_that_its_head_gives() -> None:
    _, fix = network_refusal(
        dataclasses.replace(
            READING, network=Stage(False, call="unshare", error=13), userns_grant="withheld"
        )
    )
    command = fix.partition("`")[2].partition("`")[0]
    assert command in PROFILE.read_text()
