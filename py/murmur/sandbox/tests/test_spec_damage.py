"""A launch spec with a damaged field is refused with a reason, and nothing runs.

Every field of the spec of a real session's holder and of its command is damaged once, in the bytes
that go to the helper. What a verb does not read stands in a list of its own.
"""

import sys
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest

from murmur.sandbox import holder, session
from murmur.sandbox._spec import ffi
from murmur.sandbox.launchspec import LaunchSpec, constant, encode
from murmur.sandbox.probe import HostReading
from murmur.sandbox.results import PREFIX

from .conftest import Contained, Opener

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the helper's home")

# Of the head: what a run does not look at, and what a hold does not.
UNREAD: Final = {
    "RUN": {
        "lifeline_fd", "control_fd", "parent_pid", "cwd_device", "cwd_inode", "ports",
        "trees.offset", "rules.offset", "cwd.offset",
    },
    "HOLD": {
        "seccomp", "holder_fd", "ruleset_fd", "cwd_fd", "control_fd", "parent_pid", "scope_fds",
        "program.offset", "arguments.offset", "variables.offset", "limits.offset", "ports",
    },
}  # fmt: skip
RECORDS: Final = {
    "arguments": "mur_text",
    "variables": "mur_text",
    "trees": "mur_tree",
    "rules": "mur_rule",
    "limits": "mur_limit",
}
# Any number is a sound limit.
OPEN: Final = {"soft", "hard"}


def fields(kind: str, prefix: str = "", base: int = 0) -> Iterator[tuple[str, int, int]]:
    """(name, offset, size) of every plain field of a structure, nested ones spelled out."""
    for name, facts in ffi.typeof(f"struct {kind}").fields:
        inner = facts.type
        if inner.kind == "struct":
            inner_name = inner.cname.removeprefix("struct ")
            yield from fields(inner_name, f"{prefix}{name}.", base + facts.offset)
        elif inner.kind == "array":
            yield f"{prefix}{name}", base + facts.offset, ffi.sizeof(inner.item)
        else:
            yield f"{prefix}{name}", base + facts.offset, ffi.sizeof(inner)


def damaged(data: bytes, offset: int, size: int) -> bytes:
    """The same bytes with a large number in one field, which is no flag and no offset of any."""
    found = int.from_bytes(data[offset : offset + size], sys.byteorder)
    wrong = (found ^ (0x7FFFFFF0 if size <= 4 else 0x7FFFFFF0 << 16)) & ((1 << 8 * size) - 1)
    return data[:offset] + wrong.to_bytes(size, sys.byteorder) + data[offset + size :]


def places(spec: LaunchSpec) -> list[tuple[str, int, int]]:
    """Every field that the verb reads: of the head, and of the first record of each array."""
    data = encode(spec)
    head: Any = ffi.from_buffer("struct mur_spec *", data)
    found = [place for place in fields("mur_spec") if place[0] not in UNREAD[spec.verb]]
    for array, kind in RECORDS.items():
        span = getattr(head, array)
        if span.count == 0:
            continue
        unread = OPEN | (_uncompared(data, span.offset) if array == "trees" else set())
        for name, offset, size in fields(kind, f"{array}[0].", span.offset):
            if name.rpartition(".")[2] not in unread:
                found.append((name, offset, size))
    return found


def _uncompared(data: bytes, offset: int) -> set[str]:
    """A link leads nowhere by itself; an optional folder that is another one is left out."""
    tree: Any = ffi.cast("struct mur_tree *", ffi.from_buffer(data) + offset)
    loose = constant("TREE_LINK") | constant("TREE_OPTIONAL")
    return {"device", "inode"} if tree.flags & loose else set()


def attempt(
    contain: Opener,
    monkeypatch: pytest.MonkeyPatch,
    module: Any,
    place: tuple[str, int, int],
    sealed: bool,
) -> tuple[Contained, str]:
    """A session in which one field of one spec is damaged; what the command came to."""
    monkeypatch.setattr(module, "encode", lambda spec: damaged(encode(spec), *place[1:]))
    contained = contain("sh", sealed=sealed)
    result = contained.sh("echo ran > proof")
    monkeypatch.undo()
    said = f"{result.set_up_failure} {result.stderr.decode()}"
    return contained, said


def recorded(
    contain: Opener, monkeypatch: pytest.MonkeyPatch, sealed: bool
) -> dict[str, LaunchSpec]:
    """The specs of a session whose command runs."""
    specs: dict[str, LaunchSpec] = {}

    def keep(spec: LaunchSpec) -> bytes:
        specs[spec.verb] = spec
        return encode(spec)

    for module in (holder, session):
        monkeypatch.setattr(module, "encode", keep)
    contained = contain("sh", sealed=sealed)
    assert contained.sh("echo ran > proof").exit_code == 0
    assert (contained.work / "proof").exists()
    monkeypatch.undo()
    return specs


@pytest.mark.parametrize(
    ("verb", "module", "sealed"),
    [("RUN", session, False), ("HOLD", holder, False), ("HOLD", holder, True)],
)
def test_a_damaged_field_is_refused_with_a_reason_and_nothing_runs(
    contain: Opener,
    reading: HostReading,
    monkeypatch: pytest.MonkeyPatch,
    verb: str,
    module: Any,
    sealed: bool,
) -> None:
    if sealed and not reading.sealed.ok:
        pytest.skip(f"INCONCLUSIVE: {reading.sealed.reason}")
    found = places(recorded(contain, monkeypatch, sealed)[verb])
    assert len(found) > 30
    wrong = []
    for place in found:
        contained, said = attempt(contain, monkeypatch, module, place, sealed)
        if (contained.work / "proof").exists() or not reasoned(said):
            wrong.append((place[0], said))
        contained.close()
    assert wrong == []


def reasoned(said: str) -> bool:
    """Whether a refusal says why: a failed step, or what about the spec is unusable."""
    known: tuple[Callable[[str], bool], ...] = (
        lambda text: text.startswith(PREFIX) and "errno" in text,
        lambda text: "unusable launch spec: check: " in text,
    )
    return any(each(said) for each in known)
