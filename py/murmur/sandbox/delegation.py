"""Asking the operator's systemd for a cgroup of our own. spec/containment.md 19.1, step 1.

An ordinary user's processes stand in cgroups that only systemd may write. Its user manager moves
this process into a transient scope with `Delegate=`, below which scopes of ours can be made. It is
asked through busctl, which comes with every systemd: no D-Bus library is needed for one call.
"""

import itertools
import os
import shutil
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from murmur.sandbox.hierarchy import Facts, read_facts

_CALL_S: Final = 5.0
_MOVED_S: Final = 2.0
_POLL_S: Final = 0.02
_numbers = itertools.count(1)
_moved: list[Facts] = []


def delegated_facts(environ: Mapping[str, str] = os.environ) -> Facts:
    """Where this process stands after systemd was asked; where it stood before if it could not be,
    or refused. Asked once a process: the answer is kept after success only."""
    if _moved:
        return _moved[0]
    facts = read_facts()
    if not _worth_asking(facts, environ):
        return facts
    unit = f"murmur-{os.getpid()}-{next(_numbers)}.scope"
    if not _start_unit(unit, environ):
        return facts
    deadline = time.monotonic() + _MOVED_S
    while time.monotonic() < deadline:
        now = read_facts()
        if now.unified is not None and now.unified.name == unit:
            _moved.append(now)
            return now
        time.sleep(_POLL_S)
    return facts


def _worth_asking(facts: Facts, environ: Mapping[str, str]) -> bool:
    """Whether there is a v2 hierarchy with processes of systemd's and a session bus to ask on."""
    if facts.unified is None or shutil.which("busctl", path=environ.get("PATH")) is None:
        return False
    if not environ.get("DBUS_SESSION_BUS_ADDRESS"):
        folder = environ.get("XDG_RUNTIME_DIR", "")
        if not folder or not Path(folder, "bus").exists():
            return False
    try:
        return "memory" in (facts.unified / "cgroup.controllers").read_text("ascii").split()
    except OSError:
        return False


def _start_unit(unit: str, environ: Mapping[str, str]) -> bool:
    properties = [
        ("Description", "s", "commands of murmur capsules"),
        ("PIDs", "au", "1", str(os.getpid())),
        ("Delegate", "b", "true"),
        ("CollectMode", "s", "inactive-or-failed"),
    ]
    words = [word for each in properties for word in each]
    passed = ("PATH", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR")
    try:
        done = subprocess.run(
            [
                "busctl", "--user", "--quiet", "call",
                "org.freedesktop.systemd1", "/org/freedesktop/systemd1",
                "org.freedesktop.systemd1.Manager", "StartTransientUnit", "ssa(sv)a(sa(sv))",
                unit, "fail", str(len(properties)), *words, "0",
            ],
            env={name: environ[name] for name in passed if name in environ},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_CALL_S,
            check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
