"""The form of the rows that say what each field takes and refuses; values that many share.

A row is `Block.key` (the model and the key as the manifest spells it) with the dotted place that
the values are put at, below what `also` sets first. A value in `good` comes out as it stands
unless it is a `Means`; a value in `bad` is refused with E-MAN-003 unless it is a `Code`.
seeds/manifest-schema.md, Field reference; spec/formations-and-newer-manifest.md A3 to A14.
"""

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

LARGEST = (1 << 63) - 1


@dataclass(frozen=True)
class Means:
    """A value that the loaded manifest holds in another form."""

    value: object
    result: object


@dataclass(frozen=True)
class Code:
    """A value that is refused with another code than E-MAN-003."""

    value: object
    code: str


Values = tuple[object, ...]
Pair = tuple[Values, Values]


@dataclass(frozen=True)
class Row:
    field: str
    place: str
    good: Values
    bad: Values
    also: dict[str, object] = dataclasses.field(default_factory=dict)
    result: str = ""


# A key that is not there at all, for required fields.
ABSENT: Any = object()
MISSING = Code(ABSENT, "E-MAN-001")


def rows(
    block: str, place: str, keys: str, good: Values, bad: Values, **rest: Any
) -> Iterator[Row]:
    """A row for each of the `keys`, which all take and refuse the same."""
    for key in keys.split():
        yield Row(f"{block}.{key}", f"{place}.{key}" if place else key, good, bad, **rest)


POSITIVE: Pair = ((1, 2, LARGEST), (0, -1, LARGEST + 1, True, 1.0, "1", [], {}))
WHOLE: Pair = ((0, 1, LARGEST), (-1, LARGEST + 1, False, 1.0, "0", []))
FLAG: Pair = ((True, False), ("true", 1, 0, [], "on"))
TEXT: Pair = (("x", "two words", ""), (1, 1.5, True, [], {}))
FILLED: Pair = (("x", "two words"), ("", "  ", 1, True, [], {}))
NAMES: Pair = (
    (Means(["a", "b"], ["a", "b"]), Means([], [])),
    ("a", {"a": 1}, [1], [None], [True], [["a"]]),
)
AGE: Pair = (
    (
        30,
        Means("30", 30),
        Means("5s", 5),
        Means("2m", 120),
        Means("3h", 10800),
        Means("9d", 777600),
    ),
    (0, "0", "0d", -1, "-1", "1w", "1 d", "1.5h", "d", "", True, 1.5, [], LARGEST + 1, "1" * 19),
)
SIZE: Pair = (
    (7, Means("7", 7), Means("1Ki", 1024), Means("2Mi", 2097152), Means("1Gi", 1 << 30)),
    (0, "0", "0Ki", -1, "1K", "1MB", "1 Mi", "1mi", "1.5Mi", "", True, 2.5, [], "9" * 19),
)
FRACTION: Pair = ((0.5, 0.01, 0.99), (0, 0.0, 1, 1.0, -0.1, 1.1, "0.5", True, []))
BLOCK: Pair = ((), ("x", 1, True, []))

ENTRY: dict[str, object] = {"artifacts.0.name": "a/b", "artifacts.0.version": "1"}
SKILL = ENTRY | {"artifacts.0.runtime": "skill"}
HOOK = ENTRY | {"artifacts.0.runtime": "hook"}
MODEL: dict[str, object] = {"inference.model": "m"}
DRIVER = ENTRY | MODEL | {"artifacts.0.runtime": "driver", "inference.driver.artifact": "a/b"}
CHOICE = DRIVER | {
    "artifacts.1": {"name": "a/c", "version": "1", "runtime": "driver"},
    "control.settings": ["inference.driver"],
    "inference.alternates.0": {"name": "fast", "model": "n", "driver": {"artifact": "a/c"}},
}
SHELL: dict[str, object] = {"capabilities.shell.allow": ["sh"]}
DIRECTORY = SHELL | {
    "capabilities.shell.interpreter_runtime.0.binary": "sh",
    "capabilities.shell.interpreter_runtime.0.dirs.0": {"path": "/a", "list_dir": True},
}
STAGED = SHELL | {
    "capabilities.shell.staged_runtime.0": {"binary": "sh", "source_path": "/a", "pin": "p"}
}
GATEWAY = ENTRY | {"artifacts.0.gateway": {"endpoint": "https://a.example", "api_key": "${K}"}}
AUTHENTICATED: dict[str, object] = {"network.authentication.scheme": "bearer"}
KEEP: dict[str, object] = {"lifecycle.keep_working": {"message": "go on", "limit": 1}}
CHECK = SHELL | {"lifecycle.done_check": {"command": "sh x", "limit": 1}}
FILES: dict[str, object] = {"exports.files": {"root": "out", "mode": "read-only"}}
PEERS: dict[str, object] = {"exports.peer_files": {"root": "out"}}
ROOTS: Pair = (("out", "out/", "a/b", "./x", "."), ("", " ", "/etc", "..", "a/../b", "../a", 1, []))
BARE = "tool-x"
