"""Whatever text a manifest is, it is read or refused, and soon.

The everyday part of the fuzzing: tests/long/manifest_fuzz does the same for ten minutes, guided by
coverage.
"""

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from murmur.core.diagnostics import MurmurError, render
from murmur.manifest.artifact import parse_artifact_manifest
from murmur.manifest.parse import load_capsule
from murmur.manifest.roster import load_roster

EXAMPLES = [path.read_text() for path in sorted((Path(__file__).parent / "examples").glob("*"))]
HEAD = "name: demo\nversion: '1'\n"

_TOKENS = ["\n", ": ", "- ", "  ", "{", "}", "[", "]", "&a ", "*a", "|\n", ">", "'", '"', "!!str "]
_TOKENS += ["---\n", "# ", "? ", "\ufeff", "\0", "\x1b[2J", "\u2028", "\t", "<<: *a", "null", "0x1"]
_CUT = st.tuples(
    st.floats(0, 1), st.integers(0, 40), st.sampled_from(_TOKENS) | st.text(max_size=4)
)


def damaged(text: str, cuts: list[tuple[float, int, str]]) -> str:
    """`text` with pieces of it replaced."""
    for where, length, piece in cuts:
        at = int(where * len(text))
        text = text[:at] + piece + text[at + length :]
    return text


@settings(max_examples=250)
@given(st.sampled_from(EXAMPLES), st.lists(_CUT, min_size=1, max_size=5))
def test_a_damaged_example_is_read_or_refused(
    example: str, cuts: list[tuple[float, int, str]]
) -> None:
    text = damaged(example, cuts)
    for read, codes in (
        (lambda: load_capsule(text, "murmur.yaml"), ("E-MAN", "E-CAP-018")),
        (lambda: load_roster(text), ("E-ROS",)),
        (lambda: parse_artifact_manifest(text), ("E-MAN",)),
    ):
        try:
            read()
        except MurmurError as refusal:
            assert refusal.code.startswith(codes)
            assert all(line.isprintable() for line in render(refusal.diagnostic).split("\n"))
            if refusal.code != "E-CAP-018":
                file, line, column = refusal.message.split(":")[:3]
                assert file.endswith(".yaml")
                assert (int(line) > 0 and int(column) > 0) or file == "roster.yaml"


def _listed(items: str, count: int) -> str:
    return "[" + ", ".join(items.format(number) for number in range(count)) + "]"


HOSTILE = {
    "unknown keys": HEAD + "".join(f"artifactz{number:05d}: 1\n" for number in range(24_000)),
    "artifacts": HEAD + "artifacts: " + _listed("{{name: b{0}, version: '1'}}", 8000),
    "spawned": HEAD + "capabilities: {spawn: {allow: " + _listed("b{}", 40_000) + "}}",
    "scopes": HEAD
    + "network: {authentication: {scheme: bearer, credentials: {a: {scopes: "
    + _listed("GetTask", 40_000)
    + "}}}}",
    "secrets": HEAD + "inference: {model: m}\ncontrol: {secrets: " + _listed("B{}", 40_000) + "}",
    "binaries": HEAD
    + "capabilities: {shell: {allow: "
    + _listed("b{}", 5000)
    + ", interpreter_runtime: "
    + _listed("{{binary: b{0}, dirs: [{{path: /a, list_dir: true}}]}}", 4000)
    + "}}",
    "aliases": HEAD + "x: &a [1]\n" + "".join(f"k{number}: *a\n" for number in range(12_000)),
    "a long scalar": HEAD + "description: '" + "x" * 1_000_000 + "'",
    "a long number": HEAD + "lifecycle: {queue_depth: " + "9" * 1_000_000 + "}",
    "a long key": HEAD + '"' + "x" * 1_000_000 + '": 1',
    "comments": "#\n" * 500_000 + HEAD,
    "brackets": "[" * 1_000_000,
    "anchors": HEAD + "".join(f"k{number}: &a{number} 1\n" for number in range(12_000)),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_manifest_is_answered_within_a_second_or_so(name: str) -> None:
    began = time.process_time()
    try:
        load_capsule(HOSTILE[name], "murmur.yaml")
    except MurmurError as refusal:
        assert refusal.code.startswith("E-MAN")
    # Twice and more what it takes here, for slower machines.
    assert time.process_time() - began < 3
