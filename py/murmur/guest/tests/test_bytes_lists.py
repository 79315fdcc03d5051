"""`list<u8>` in bulk gives what the library's own conversion gives, in both directions."""

from __future__ import annotations

import ctypes
import functools
import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wasmtime import Engine, Store
from wasmtime import _ffi as ffi
from wasmtime.component import Component, Linker, ListType

from murmur.guest import bytes_lists

_TEXT = """
(component
  (core module $m
    (memory (export "memory") 200)
    (global $top (mut i32) (i32.const 64))
    (func (export "realloc") (param i32 i32 i32 i32) (result i32)
      (local $at i32)
      (local.set $at (global.get $top))
      (global.set $top (i32.add (global.get $top) (local.get 3)))
      (local.get $at))
    (func (export "echo") (param i32 i32) (result i32)
      (i32.store (i32.const 16) (local.get 0))
      (i32.store (i32.const 20) (local.get 1))
      (i32.const 16)))
  (core instance $i (instantiate $m))
  (func (export "bytes") (param "b" (list u8)) (result (list u8))
    (canon lift (core func $i "echo") (memory (core memory $i "memory"))
      (realloc (core func $i "realloc"))))
  (func (export "numbers") (param "b" (list u32)) (result (list u32))
    (canon lift (core func $i "echo") (memory (core memory $i "memory"))
      (realloc (core func $i "realloc")))))
"""


@functools.cache
def _engine() -> Engine:
    return Engine()


@functools.cache
def _component() -> Component:
    return Component(_engine(), _TEXT)


def _call(name: str, value: Any) -> Any:
    store = Store(_engine())
    function = Linker(_engine()).instantiate(store, _component()).get_func(store, name)
    assert function is not None
    return function(store, value)


@functools.cache
def _byte_list() -> ListType:
    store = Store(_engine())
    function = Linker(_engine()).instantiate(store, _component()).get_func(store, "bytes")
    assert function is not None
    kind = function.type(store).params[0][1]
    assert isinstance(kind, ListType)
    return kind


@pytest.fixture(scope="module", autouse=True)
def _release() -> Iterator[None]:
    """Lets go of the engine while its library is still there: the interpreter's end is too late."""
    yield
    for cached in (_byte_list, _component, _engine):
        cached.cache_clear()


@pytest.fixture(autouse=True)
def _bulk() -> Iterator[None]:
    yield
    ListType.convert_to_c = bytes_lists._one_by_one_to_c  # type: ignore[method-assign]
    ListType.convert_from_c = bytes_lists._one_by_one_from_c  # type: ignore[method-assign]


_CONTENT = st.one_of(
    st.binary(max_size=300),
    st.integers(0, 3 * 65536 + 2).map(lambda size: bytes(range(256)) * (size // 256 + 1)),
)


@given(_CONTENT)
@settings(max_examples=40, deadline=None)
def test_both_ways_lower_and_lift_the_same_bytes(content: bytes) -> None:
    ways_in: tuple[Any, ...] = (bytes_lists._to_c, bytes_lists._one_by_one_to_c)
    ways_out: tuple[Any, ...] = (bytes_lists._from_c, bytes_lists._one_by_one_from_c)
    for lower in ways_in:
        for lift in ways_out:
            value = ffi.wasmtime_component_val_t()
            lower(_byte_list(), None, content, ctypes.pointer(value))
            assert value.kind == ffi.WASMTIME_COMPONENT_LIST.value
            assert value.of.list.size == len(content)
            lifted = lift(_byte_list(), value)
            assert type(lifted) is bytes and lifted == content


@given(_CONTENT)
@settings(max_examples=20, deadline=None)
def test_bytes_survive_a_guest(content: bytes) -> None:
    bytes_lists.install()
    bytes_lists.install()
    assert _call("bytes", content) == content


def test_other_lists_take_the_librarys_way() -> None:
    bytes_lists.install()
    assert _call("numbers", [1, 2, 2**32 - 1]) == [1, 2, 2**32 - 1]
    assert _call("numbers", []) == []


@pytest.mark.parametrize("wrong", ["text", bytearray(b"x"), [1, 2], None])
def test_what_the_library_refuses_is_refused(wrong: object) -> None:
    ways: tuple[Any, ...] = (bytes_lists._to_c, bytes_lists._one_by_one_to_c)
    for lower in ways:
        value = ffi.wasmtime_component_val_t()
        with pytest.raises(TypeError):
            lower(_byte_list(), None, wrong, ctypes.pointer(value))


def _seconds(content: bytes, lower: Any, lift: Any) -> tuple[float, float]:
    """The processor's time for either way: other programs on this machine do not count."""
    value = ffi.wasmtime_component_val_t()
    started = time.process_time()
    lower(_byte_list(), None, content, ctypes.pointer(value))
    between = time.process_time()
    assert lift(_byte_list(), value) == content
    return between - started, time.process_time() - between


def test_a_megabyte_takes_a_small_part_of_the_librarys_time() -> None:
    content = bytes(1024 * 1024)

    bulk = sum(_seconds(content, bytes_lists._to_c, bytes_lists._from_c))
    one_by_one = sum(
        _seconds(content, bytes_lists._one_by_one_to_c, bytes_lists._one_by_one_from_c)
    )

    assert bulk < one_by_one / 10, (bulk, one_by_one)


def test_10_mb_take_under_three_tenths_of_a_second_either_way() -> None:
    content = bytes(range(256)) * (10_000_000 // 256)

    rounds = [_seconds(content, bytes_lists._to_c, bytes_lists._from_c) for _ in range(3)]

    assert max(map(min, zip(*rounds, strict=True))) < 0.3, rounds
