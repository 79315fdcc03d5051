"""spec/artifacts.md 2.4."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmur.store.component import Contracts, read_contracts

from .components import CORE_MODULE, PREAMBLE, component, leb, named, section


def test_names_with_a_slash_are_read_sorted_and_without_repetition() -> None:
    data = component(
        exports=("murmur:tool/run@0.2.0", "run"),
        imports=("wasi:io/poll@0.2.0", "murmur:stream/events@0.1.0", "wasi:io/poll@0.2.0"),
    )
    assert read_contracts(data) == Contracts(
        ("murmur:tool/run@0.2.0",), ("murmur:stream/events@0.1.0", "wasi:io/poll@0.2.0")
    )


def test_nested_modules_and_components_are_skipped() -> None:
    assert "nested" not in str(read_contracts(component()))


def test_every_kind_of_external_type_is_stepped_over() -> None:
    kinds = [
        b"\x00\x11\x05",
        b"\x01" + leb(700),
        b"\x02\x00\x01",
        b"\x02\x01\x7f",
        b"\x03\x00\x09",
        b"\x03\x01",
        b"\x04\x01",
        b"\x05\x01",
    ]
    body = leb(len(kinds) + 1)
    for index, kind in enumerate(kinds):
        body += named(f"a:b/i{index}@1.0.0", prefix=index % 2) + kind
    body += named("a:b/last@1.0.0") + b"\x05\x00"
    found = read_contracts(PREAMBLE + section(10, body))
    assert found is not None and len(found.imports) == len(kinds) + 1

    exports = [
        b"\x00\x11\x01\x00",
        b"\x01\x01\x01\x01\x02",
        b"\x05\x01\x00",
        b"\x03\x01\x01\x03\x01",
    ]
    body = leb(len(exports))
    for index, kind in enumerate(exports):
        body += named(f"a:b/e{index}@1.0.0") + kind
    found = read_contracts(PREAMBLE + section(11, body))
    assert found is not None and len(found.exports) == len(exports)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"PK\x03\x04",
        CORE_MODULE,
        PREAMBLE + b"\x0a",
        PREAMBLE + section(10, leb(1)),
        PREAMBLE + section(10, leb(1) + b"\x07" + leb(1) + b"x\x05\x00"),
        PREAMBLE + section(10, leb(1) + named("a/b") + b"\x05\x00" + b"trailing"),
        PREAMBLE + b"\x0a" + leb(1 << 30) + b"x",
        PREAMBLE + b"\x0a" + b"\xff" * 12,
        PREAMBLE + section(10, leb(1) + b"\x00" + leb(2) + b"\xff\xfe" + b"\x05\x00"),
    ],
)
def test_what_is_not_readable_has_no_contracts_and_is_never_an_error(data: bytes) -> None:
    assert read_contracts(data) is None


@given(st.binary(max_size=200))
def test_no_bytes_make_it_raise(data: bytes) -> None:
    read_contracts(PREAMBLE + data)


@given(st.integers(min_value=0, max_value=400))
def test_a_component_cut_anywhere_does_not_make_it_raise(length: int) -> None:
    read_contracts(component(("murmur:tool/run@0.2.0",), ("murmur:task/task@0.1.0",))[:length])
