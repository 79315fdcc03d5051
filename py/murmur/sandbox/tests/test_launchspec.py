"""The launch spec: one header, two languages. design/architecture.md "The helper"."""

import dataclasses
import os
import subprocess
from pathlib import Path

import pytest

from murmur.sandbox import launchspec
from murmur.sandbox._spec import ffi
from murmur.sandbox.launchspec import LaunchSpec, Limit, Rule, Tree, encode, memfd

FULL = LaunchSpec(
    verb="RUN",
    flags=["LANDLOCK", "SECCOMP"],
    seccomp=["NO_MEMFD"],
    report_fd=10,
    holder_fd=11,
    ruleset_fd=12,
    cwd_fd=13,
    scope_fds=[14, 15],
    program="/bin/true",
    arguments=["true", "ä", ""],
    variables=["A=1", "B="],
    trees=[Tree("/a", "/b", 1, 2, noexec=True)],
    rules=[Rule("/a", 4, optional=True), Rule("/proc", 12, private_proc=True)],
    limits=[Limit(7, 1, 2)],
)


@pytest.fixture(scope="session")
def layout(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the C compiler says of the header, by the program that MURMUR_PRINT_LAYOUT names."""
    built = os.environ.get("MURMUR_PRINT_LAYOUT")
    if built is None:
        source = Path(__file__).parents[4] / "c/sandbox/tests/print_layout.c"
        built = str(tmp_path_factory.mktemp("layout") / "print_layout")
        subprocess.run(["cc", "-o", built, source], check=True)
    return subprocess.run([Path(built).absolute()], capture_output=True, text=True,
                          check=True).stdout  # fmt: skip


def test_sizes_and_offsets_are_those_of_the_c_compiler(layout: str) -> None:
    mine: list[str] = []
    for name in ("mur_span", "mur_text", "mur_tree", "mur_rule", "mur_limit", "mur_spec",
                 "mur_report"):  # fmt: skip
        kind = ffi.typeof(f"struct {name}")
        mine.append(f"{name} {ffi.sizeof(kind)}")
        mine += [
            f"{name}.{field} {ffi.sizeof(facts.type)} {facts.offset}"
            for field, facts in kind.fields
        ]
    assert layout.splitlines() == mine


def test_a_spec_holds_what_it_was_given() -> None:
    data = encode(FULL)
    spec = ffi.from_buffer("struct mur_spec *", data)
    assert spec.size == len(data)
    assert spec.strings_offset + spec.strings_length == len(data)
    assert list(spec.scope_fds) == [14, 15, -1, -1, -1, -1, -1, -1]
    texts = ffi.cast("struct mur_text *", ffi.from_buffer(data) + spec.arguments.offset)
    base = spec.strings_offset
    read = [
        data[base + texts[i].offset : base + texts[i].offset + texts[i].length].decode()
        for i in range(spec.arguments.count)
    ]
    assert read == ["true", "ä", ""]


def test_a_text_with_a_nul_is_refused() -> None:
    with pytest.raises(ValueError, match="NUL"):
        encode(dataclasses.replace(FULL, arguments=["a\0b"]))


def offer(helper: Path, data: bytes, verb: str = "run") -> subprocess.CompletedProcess[bytes]:
    descriptor = memfd(data)
    try:
        return subprocess.run(
            [helper, verb, str(descriptor)],
            pass_fds=[descriptor],
            capture_output=True,
            check=False,
            timeout=20,
        )
    finally:
        os.close(descriptor)


@pytest.mark.parametrize(
    ("offset", "value", "reason"),
    [
        (0, 0, "magic"),
        (4, 2, "version"),
        (8, 1, "size"),
        (12, 2, "another verb"),
        (16, 0xFFFF, "unknown flags"),
    ],
)
def test_the_helper_refuses_a_damaged_head(
    helper: Path, offset: int, value: int, reason: str
) -> None:
    data = bytearray(encode(FULL))
    data[offset : offset + 4] = value.to_bytes(4, "little")
    refused = offer(helper, bytes(data))
    assert refused.returncode == 2
    assert reason in refused.stderr.decode()


@pytest.mark.parametrize("change", [
    {"program": "true"}, {"arguments": ()}, {"holder_fd": -1}, {"ruleset_fd": -1},
    {"report_fd": 0}, {"cwd_fd": -1}, {"scope_fds": [-1]},
    {"rules": [Rule("relative", 4)]}, {"rules": [Rule("/a", 0)]}, {"limits": [Limit(7, 2, 1)]},
    {"trees": [Tree("a", "/b")]},
])  # fmt: skip
def test_the_helper_refuses_a_spec_that_lacks_something(
    helper: Path, change: dict[str, object]
) -> None:
    spec = dataclasses.replace(FULL, **change)  # type: ignore[arg-type]
    refused = offer(helper, encode(spec))
    assert refused.returncode == 2
    assert b"unusable launch spec" in refused.stderr


@pytest.mark.parametrize("data", [b"", b"mur1", bytes(4096)])
def test_the_helper_refuses_what_is_no_spec(helper: Path, data: bytes) -> None:
    assert offer(helper, data).returncode == 2


@pytest.mark.parametrize(
    "arguments", [[], ["run"], ["run", "x"], ["run", "-1"], ["run", "99999"], ["frob", "3"]]
)
def test_the_helper_refuses_other_command_lines(helper: Path, arguments: list[str]) -> None:
    done = subprocess.run([helper, *arguments], capture_output=True, check=False, timeout=20)
    assert done.returncode == 2
    assert done.stderr


def test_the_helper_says_its_version(helper: Path) -> None:
    done = subprocess.run([helper, "version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"mur-sandbox 1 spec {launchspec.constant('SPEC_VERSION')}\n"


def test_the_helper_needs_no_library(helper: Path) -> None:
    from murmur.sandbox.elf import read_elf

    facts = read_elf(str(helper))
    assert facts is not None
    assert (facts.interpreter, facts.needed) == (None, ())
