"""Asking systemd for a delegated scope. spec/containment.md 19.1.

A systemd user manager cannot be had in a test; what is asked is checked against a busctl of the
test's own, and what busctl makes of the words is busctl's.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from murmur.sandbox import delegation
from murmur.sandbox.delegation import delegated_facts
from murmur.sandbox.hierarchy import Facts


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A host with a v2 hierarchy whose busctl moves us, as far as the facts show."""
    group = tmp_path / "cgroup" / "session.scope"
    group.mkdir(parents=True)
    (group / "cgroup.controllers").write_text("cpu io memory pids\n")
    busctl = tmp_path / "bin" / "busctl"
    busctl.parent.mkdir()
    # The unit's name is the tenth word; a scope of that name appears and we are in it.
    busctl.write_text(
        f'#!/bin/sh\nfor word in "$@"; do echo "$word"; done > {tmp_path}/asked\n'
        f'[ -e {tmp_path}/refuse ] && exit 1\nmkdir {tmp_path}/cgroup/"$9"\n'
        f'echo "$9" > {tmp_path}/here\n'
    )
    busctl.chmod(0o755)

    def facts() -> Facts:
        here = tmp_path / "here"
        name = here.read_text().strip() if here.exists() else "session.scope"
        return Facts(tmp_path / "cgroup" / name, {})

    monkeypatch.setattr(delegation, "read_facts", facts)
    monkeypatch.setattr(delegation, "_moved", [])
    yield tmp_path


def environ(host: Path) -> dict[str, str]:
    return {"PATH": f"{host}/bin:/usr/bin:/bin", "DBUS_SESSION_BUS_ADDRESS": "unix:path=/x"}


def test_the_user_manager_is_asked_for_a_delegated_transient_scope(host: Path) -> None:
    facts = delegated_facts(environ(host))
    asked = (host / "asked").read_text().splitlines()
    pid = str(os.getpid())
    assert asked[:8] == [
        "--user",
        "--quiet",
        "call",
        "org.freedesktop.systemd1",
        "/org/freedesktop/systemd1",
        "org.freedesktop.systemd1.Manager",
        "StartTransientUnit",
        "ssa(sv)a(sa(sv))",
    ]
    unit = asked[8]
    assert unit.startswith(f"murmur-{pid}-")
    assert unit.endswith(".scope")
    assert asked[9:11] == ["fail", "4"]
    assert asked[11:14] == ["Description", "s", "commands of murmur capsules"]
    assert asked[14:] == [
        "PIDs", "au", "1", pid, "Delegate", "b", "true",
        "CollectMode", "s", "inactive-or-failed", "0",
    ]  # fmt: skip
    assert facts.unified == host / "cgroup" / unit


def test_it_is_asked_once_a_process(host: Path) -> None:
    first = delegated_facts(environ(host))
    (host / "asked").unlink()
    assert delegated_facts(environ(host)) == first
    assert not (host / "asked").exists()


def test_a_refusal_leaves_the_inherited_cgroup_and_is_not_remembered(host: Path) -> None:
    (host / "refuse").touch()
    assert delegated_facts(environ(host)).unified == host / "cgroup" / "session.scope"
    (host / "refuse").unlink()
    unified = delegated_facts(environ(host)).unified
    assert unified is not None
    assert unified.name.startswith("murmur-")


@pytest.mark.parametrize("lacking", ["bus", "busctl", "controllers"])
def test_nobody_is_asked_where_it_cannot_help(host: Path, lacking: str) -> None:
    given = environ(host)
    if lacking == "bus":
        del given["DBUS_SESSION_BUS_ADDRESS"]
    elif lacking == "busctl":
        given["PATH"] = str(host)
    else:
        (host / "cgroup" / "session.scope" / "cgroup.controllers").write_text("\n")
    assert delegated_facts(given).unified == host / "cgroup" / "session.scope"
    assert not (host / "asked").exists()


def test_a_bus_in_the_runtime_directory_is_found(host: Path) -> None:
    given = environ(host)
    del given["DBUS_SESSION_BUS_ADDRESS"]
    given["XDG_RUNTIME_DIR"] = str(host)
    (host / "bus").touch()
    unified = delegated_facts(given).unified
    assert unified is not None
    assert unified.name.startswith("murmur-")
