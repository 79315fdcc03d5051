"""What is fuzzed: everything that reads text an author or a model wrote, as one function.

A crash is any exception that is not the refusal the reader documents; so is an input that takes
longer than a second.
"""

import importlib
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from murmur.core.diagnostics import MurmurError, render
from murmur.manifest.artifact import hook_contract_of, parse_artifact_manifest, upstream_auth_of
from murmur.manifest.lowering import CLAUDE_DRIVER
from murmur.manifest.network import BadRule, allows, parse_rule
from murmur.manifest.parse import load_capsule
from murmur.manifest.roster import load_roster
from murmur.manifest.warnings import manifest_warnings
from murmur.read_only.check import shell_write, tool_write
from murmur.read_only.declarations import read_declarations
from murmur.read_only.subtrees import Subtrees

LONGEST_SECONDS: Final = 1.0
_WORK: Final = Subtrees("/nonexistent/work", ("tests", "bench/fixtures"))


class TooSlow(Exception):
    """An input that took longer than `LONGEST_SECONDS`."""


def _capsule(text: str) -> None:
    try:
        loaded = load_capsule(text, "murmur.yaml")
    except MurmurError as refusal:
        assert refusal.code in ("E-MAN-001", "E-MAN-002", "E-MAN-003", "E-CAP-018"), refusal.code
        _one_line(render(refusal.diagnostic))
        if refusal.code != "E-CAP-018":
            _, line, column = refusal.message.split(":")[:3]
            assert int(line) > 0 and int(column) > 0
        return
    json.dumps(loaded.capsule.as_dict())
    for warning in (*loaded.warnings, *manifest_warnings(loaded.capsule, "run")):
        _one_line(render(warning))


def _artifact(text: str) -> None:
    try:
        manifest = parse_artifact_manifest(text)
        read_declarations(manifest.parameters).unjudged()
        hook_contract_of(manifest, "a/b@1")
        upstream_auth_of(manifest, "a/b@1")
    except MurmurError as refusal:
        _one_line(render(refusal.diagnostic))


def _roster(text: str) -> None:
    try:
        load_roster(text)
    except MurmurError as refusal:
        assert refusal.code.startswith("E-ROS-"), refusal.code
        _one_line(render(refusal.diagnostic))


def _rule(text: str) -> None:
    try:
        rule = parse_rule(text)
    except BadRule:
        return
    assert allows([rule], rule.scheme, rule.host, rule.effective_port or 443) is rule


def _script(text: str) -> None:
    found = shell_write(_WORK, "bash", ("bash", "-c", text))
    assert found is None or found.rule in _WORK.rules


def _input(text: str) -> None:
    schema, _, given = text.partition("\n")
    try:
        schema, given = json.loads(schema), json.loads(given)
    except (ValueError, RecursionError):
        return
    found = tool_write(_WORK, read_declarations(schema), given)
    assert found is None or found.rule in _WORK.rules


def _one_line(printed: str) -> None:
    assert all(line.isprintable() for line in printed.split("\n")), printed


TARGETS: Final[dict[str, Callable[[str], None]]] = {
    "capsule": _capsule,
    "artifact": _artifact,
    "roster": _roster,
    "rule": _rule,
    "script": _script,
    "input": _input,
}
_BY_NUMBER: Final = tuple(TARGETS.values())


def check(data: bytes) -> None:
    """Reads `data`: its first byte picks the reader, the rest is what that reads.

    Raises TooSlow, and whatever no reader documents.
    """
    if not data:
        return
    reader = _BY_NUMBER[data[0] % len(_BY_NUMBER)]
    text = data[1:].decode("utf-8", "surrogateescape")
    began = time.monotonic()
    reader(text)
    took = time.monotonic() - began
    if took > LONGEST_SECONDS:
        raise TooSlow(f"{took:.2f} s")


def seeds(examples: Path) -> Iterator[bytes]:
    """The references' examples, and small inputs for the readers that have none there."""
    kinds = list(TARGETS)
    for path in sorted(examples.glob("*.yaml")):
        text = path.read_bytes()
        kind = "roster" if path.stem == "roster" else "capsule"
        if path.stem in ("artifact", "schema-annotations", "schema-derived", "model-table"):
            kind = "artifact"
        head = b"" if text.startswith((b"name:", b"roster")) else b"name: demo\nversion: '1'\n"
        yield bytes([kinds.index(kind)]) + head + text
    for entry in (b"https://a.example:8443", b"[::1]:80", b"a.example", b"127.0.0.1"):
        yield bytes([kinds.index("rule")]) + entry
    for script in (
        b"cd src && rm -rf tests/a > out 2>&1; cat <<X | tee tests/b\nx\nX\n",
        b"for f in *; do sed -i s/a/b/ \"tests/$f\"; done; sh -c 'cp a tests'",
    ):
        yield bytes([kinds.index("script")]) + script
    yield bytes([kinds.index("input")]) + (
        b'{"properties":{"a":{"type":"array","items":{"properties":{"path":{"type":"string",'
        b'"format":"murmur-destination"}}}}},"murmur-destinations":["{a[].path}/b"]}\n'
        b'{"a":[{"path":"tests/x"}],"to":"tests","file":"x","content":"y"}'
    )


_VALUES: Final = (
    "tool driver hook skill queue sleep process http bearer on off all sealed ${K} 10Mi 15m ../x "
    "https://a.example /x murmur-x a/b local/b"
)
_MARKS: Final = (
    *("\n", ": ", "- ", "  ", "{", "}", "[", "]", "&a ", "*a", "<<: ", "|\n", ">\n", "'", '"'),
    *("!!str ", "!x ", "---\n", "...\n", "# ", "? ", "\ufeff", "\x00", "\x1b[2J", "\u2028"),
)


def words() -> list[bytes]:
    """Tokens that mean something to a reader."""
    from murmur.manifest.models.base import Block

    for name in ("capsule", "packaged", "roster"):
        importlib.import_module(f"murmur.manifest.models.{name}")
    found: set[str] = {"provider", "endpoint", "include_tool_output", "registry", CLAUDE_DRIVER}
    waiting: list[type[Block]] = [Block]
    while waiting:
        block = waiting.pop()
        waiting += block.__subclasses__()
        if block is not Block:
            found |= set(_VALUES.split())
    return [word.encode() for word in [*sorted(found), *_MARKS]]
