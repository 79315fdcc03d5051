"""The containment tests on Debian's kernel. spec/containment.md 26.3, design/decisions.md 4.

The machines of every day have cgroup v1 and a newer Landlock; this one has cgroup v2 and ABI 2.
"""

import os
import pwd
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

RUN = Path("tools/vm/run.py")
SUITES = ("tests/conformance", "py/murmur/sandbox/tests")
# The others of that folder ask no kernel.
KERNEL_TESTS = (
    "test_boundary.py",
    "test_cgroup.py",
    "test_egress.py",
    "test_guard.py",
    "test_guests.py",
    "test_lifetime.py",
    "test_resource_cases.py",
    "test_sealed.py",
    "test_spec_damage.py",
    "test_escape_table.py",
    "test_races.py",
)
SECONDS = 3400


def inside(*command: str) -> subprocess.CompletedProcess[str]:
    """Runs a command in the machine, with this interpreter's modules and this test's helper."""
    path = os.pathsep.join(each or os.getcwd() for each in sys.path)
    handed = {"PYTHONPATH": path, "PY_COLORS": "0"}
    for name in ("MURMUR_LOCKDOWN_LIBRARY", "MURMUR_SANDBOX_HELPER"):
        handed[name] = str(Path(os.environ[name]).resolve())
    # Bazel gives tests a home of their own; the kernel is kept in the operator's.
    home = pwd.getpwuid(os.getuid()).pw_dir
    cache = os.environ.get("MURMUR_VM_CACHE") or f"{home}/.cache/murmur-vm"
    return subprocess.run(
        [
            *(sys.executable, str(RUN), "-t", str(SECONDS), "--", "env"),
            *(f"{name}={value}" for name, value in handed.items()),
            *command,
        ],
        env={**os.environ, "MURMUR_VM_CACHE": cache},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_machine_is_another_kind_of_host() -> None:
    said = inside("sh", "-c", 'uname -r; cat /proc/self/cgroup; "$MURMUR_SANDBOX_HELPER" probe')
    assert said.returncode == 0, said.stderr
    assert "\n0::/\n" in said.stdout
    assert "landlock ok 2" in said.stdout
    for stage in ("network", "mounts", "proc", "sealed"):
        assert f"{stage} ok" in said.stdout, said.stdout


ATTACHING = """
cp "$MURMUR_SANDBOX_HELPER" /usr/local/bin/mur-sandbox
sed -e /^abi/d -e '/^  userns,/d' packaging/apparmor/mur-sealed > /tmp/mur-sealed
apparmor_parser -K -r /tmp/mur-sealed && /usr/local/bin/mur-sandbox probe
"""


def test_the_profile_attaches_to_the_helper_where_it_is_installed() -> None:
    """Without two lines that Debian's AppArmor does not know: what they allow is not refused."""
    if shutil.which("apparmor_parser", path="/usr/sbin:/sbin:/usr/bin") is None:
        pytest.skip("needs apparmor_parser")
    said = inside("sh", "-c", ATTACHING)
    assert said.returncode == 0, said.stdout + said.stderr
    assert "label mur-sealed (unconfined)" in said.stdout, said.stdout
    assert "sealed ok" in said.stdout


def test_containment_holds_there() -> None:
    files = [str(Path(suite, name)) for suite in SUITES for name in KERNEL_TESTS]
    there = [file for file in files if Path(file).exists()]
    assert len(there) == len(KERNEL_TESTS)
    options = ("-c", "pyproject.toml", "--rootdir=.", "-p", "no:cacheprovider", "-q", "-rs")
    said = inside(sys.executable, "-B", "-m", "pytest", *options, *there)
    print(said.stdout)
    assert said.returncode == 0, said.stdout + said.stderr
    passed = re.search(r"(\d+) passed", said.stdout)
    assert passed is not None and int(passed[1]) > 1000, said.stdout
