"""The suite skips what this host lacks; here it fails if the host has it after all.

Each mechanism is tried by other means than the helper's (design/decisions.md 14).
"""

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest

from murmur.sandbox.cgroup import try_scope
from murmur.sandbox.hierarchy import Blocked
from murmur.sandbox.probe import HostReading
from murmur.sandbox.resources import Resources

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the helper's home")


def unshare(*words: str) -> bool:
    """Whether util-linux can do it."""
    try:
        done = subprocess.run(["unshare", *words], capture_output=True, check=False, timeout=30)
    except OSError:
        return False
    return done.returncode == 0


def test_network_namespaces_are_not_reported_missing(reading: HostReading) -> None:
    if unshare("-U", "-r", "-n", "-p", "-i", "-f", "true"):
        assert reading.network.ok, reading.network.reason


def test_mount_namespaces_are_not_reported_missing(reading: HostReading) -> None:
    if unshare("-U", "-r", "-m", "mount", "--bind", "/var", "/tmp"):
        assert reading.mounts.ok, reading.mounts.reason


def test_a_private_proc_is_not_reported_missing(reading: HostReading) -> None:
    if unshare("-U", "-r", "-m", "-p", "-f", "mount", "-t", "proc", "proc", "/proc"):
        assert reading.proc.ok, reading.proc.reason


def test_landlock_is_not_reported_missing(reading: HostReading) -> None:
    abi = ctypes.CDLL(None, use_errno=True).syscall(444, None, 0, 1)
    assert reading.landlock.ok == (abi >= 1)
    if reading.landlock.ok:
        assert reading.landlock.number == abi


def test_a_sealed_root_is_not_reported_missing(reading: HostReading) -> None:
    script = (
        "mount -t tmpfs t /mnt && mkdir /mnt/old && cd /mnt && pivot_root . old && cd / && "
        "umount -l /old"
    )
    if unshare("-U", "-r", "-m", "-p", "-f", "sh", "-c", script):
        assert reading.sealed.ok, reading.sealed.reason


def test_a_cgroup_hierarchy_is_not_reported_missing() -> None:
    groups = Path("/sys/fs/cgroup")
    unified = (groups / "cgroup.controllers").exists()
    v1 = [groups / name for name in ("memory", "pids", "cpu")]
    able = os.access(groups / "cgroup.subtree_control", os.W_OK) if unified else False
    able = able or all(os.access(each, os.W_OK) and os.path.ismount(each) for each in v1)
    try:
        try_scope("ses_guard", Resources()).remove()
    except Blocked as blocked:
        assert not able, blocked.reason
