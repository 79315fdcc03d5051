"""What `manage.pull` and `remove` leave behind, where the answers alone do not tell.

spec/registry.md 18; spec/sessions.md 15.9. Whole sessions: tests/endtoend/test_scripts.py and
tests/endtoend/scenarios/installing.py.
"""

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from murmur.core.home import Home
from murmur.core.safefs import open_root
from murmur.guest.client import Guests
from murmur.guest.questions import Answer, Err, Ok, Question
from murmur.manifest.parse import load_capsule
from murmur.session.artifacts import StagedArtifact
from murmur.session.callable_tools import CallableTools
from murmur.session.launch import Flags, Launch
from murmur.session.managing import Management
from murmur.session.stage import Staged
from murmur.store.archive import Entry, archive_bytes
from murmur.store.lock import lock_path, read_lock
from murmur.store.names import FullName
from murmur.store.payload import open_payload
from murmur.store.platforms import host_platform
from murmur.store.stores import project_store
from murmur.trace.writer import TraceWriter

MANIFEST = """
name: small
version: 0.1.0
inference: {model: m, driver: {artifact: local/d}}
artifacts: [{name: local/d, version: 0.1.0, runtime: driver}]
capabilities: {install: {skill: ["*"]}, shell: {allow: [sh]}}
"""


@dataclasses.dataclass
class Rig:
    """One session's answers, its project, and the trace that it writes."""

    project: Path
    runtime: Path
    manage: Management

    def ask(self, function: str, *arguments: str) -> Answer:
        return self.manage(Question("", function, arguments, 0.0))

    def pinned(self) -> list[str]:
        lock = read_lock(lock_path(self.project))
        return [] if lock is None else [pin.name.text for pin in lock.pins]

    def staged(self) -> list[str]:
        tools = self.runtime / "runtime" / "tools"
        return sorted(each.name for each in tools.iterdir()) if tools.exists() else []


def _skill(name: str, text: bytes = b"Be kind.\n", version: str = "0.1.0") -> bytes:
    manifest = f"name: {name}\nversion: {version}\nruntime: skill\n".encode()
    return archive_bytes([Entry("murmur.yaml", manifest), Entry("skill.md", text)])


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Callable[..., Rig]]:
    project, runtime, records = (tmp_path / name for name in ("project", "runtime", "records"))
    for folder in (project, runtime, records):
        folder.mkdir()
    for name in ("manners", "sh"):
        payload = open_payload(_skill(name), name, {})
        project_store(project).put(FullName(f"local/{name}"), payload, None)
    with open_root(runtime) as root, open_root(records) as kept:
        trace = TraceWriter(kept, "ses_1")

        def made(flags: Flags, tools: Any = None, **declared: StagedArtifact) -> Rig:
            manifest = project / "murmur.yaml"
            launch = Launch(flags, manifest, MANIFEST, {}, Home(tmp_path / "home"), 0.0)
            staged = SimpleNamespace(
                session_id="ses_1",
                artifacts={f"local/{name}": each for name, each in declared.items()},
                capsule=load_capsule(MANIFEST, "murmur.yaml").capsule,
                prepared=SimpleNamespace(launch=launch, platform=host_platform(), config=None),
                directories=SimpleNamespace(runtime_root=root),
                scratch=None,
            )
            guests = cast(Guests, None)  # a skill compiles nothing
            manage = Management(cast(Staged, staged), guests, trace, cast(CallableTools, tools))
            return Rig(project, runtime, manage)

        yield made
        trace.close()


PULL = ("pull", "local/manners", "0.1.0")


def test_a_pull_is_pinned_and_staged_and_a_removal_takes_both_away(
    rig: Callable[..., Rig],
) -> None:
    session = rig(Flags())
    assert isinstance(session.ask(*PULL), Ok)
    assert (session.pinned(), session.staged()) == (["local/manners"], ["manners"])
    assert session.ask("remove", "local/manners") == Ok(True)
    assert (session.pinned(), session.staged()) == ([], [])
    assert session.ask("remove", "local/manners") == Ok(False)


def test_a_launch_that_writes_no_lock_pulls_for_its_session_alone(rig: Callable[..., Rig]) -> None:
    session = rig(Flags(writes_lock=False))
    assert isinstance(session.ask(*PULL), Ok)
    assert not lock_path(session.project).exists() and session.staged() == ["manners"]
    assert session.ask("remove", "local/manners") == Ok(True)
    assert session.staged() == []


def test_the_name_of_a_command_is_refused_and_nothing_is_written(rig: Callable[..., Rig]) -> None:
    session = rig(Flags())
    refused = session.ask("pull", "local/sh", "0.1.0")
    assert isinstance(refused, Err) and refused.value.startswith("not-granted: local/sh has the")
    assert (session.pinned(), session.staged()) == ([], [])


class _NoRoom:
    """Tools that cannot take on another; what they were told to forget."""

    def __init__(self) -> None:
        self.forgot: list[str] = []

    def add(self, artifact: StagedArtifact) -> None:
        raise OSError("no room")

    def remove(self, name: str) -> None:
        self.forgot.append(name)


def test_a_tool_that_cannot_be_taken_on_leaves_no_pin_and_no_file(rig: Callable[..., Rig]) -> None:
    tools = _NoRoom()
    session = rig(Flags(), tools)
    assert session.ask(*PULL) == Err("not-granted: no room")
    assert (session.pinned(), session.staged(), tools.forgot) == ([], [], ["manners"])


def test_other_bytes_than_the_declared_artifacts_do_not_take_its_place(
    rig: Callable[..., Rig],
) -> None:
    payload = open_payload(_skill("manners", b"Be rude.\n"), "manners", {})
    entry = SimpleNamespace(name="local/manners", bare_name="manners", version="0.1.0")
    own = StagedArtifact(cast(Any, entry), payload.manifest, payload.sha256, b"")
    session = rig(Flags(), manners=own)
    refused = session.ask(*PULL)
    assert isinstance(refused, Err) and "the capsule's own manifest declares" in refused.value
    assert (session.pinned(), session.staged()) == ([], [])
