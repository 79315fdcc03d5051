"""The components that a new tool or hook begins with, in WebAssembly's text format.

`STARTERS` holds each as the core module that its author goes on from; `assembled` holds the
components that wasm-tools makes of them and of the runtime's WIT.
"""

# Room for what the runtime passes in: every call gets a fresh instance, so nothing is given back.
_MEMORY = """\
  (memory (export "memory") 1)
  (global $free (mut i32) (i32.const 1024))
  (func (export "cabi_realloc") (param i32 i32 i32) (param $size i32) (result i32)
    (local $at i32) (local $missing i32)
    (local.set $at (i32.and (i32.add (global.get $free) (i32.const 7)) (i32.const -8)))
    (global.set $free (i32.add (local.get $at) (local.get $size)))
    (local.set $missing
      (i32.sub
        (i32.shr_u (i32.add (global.get $free) (i32.const 65535)) (i32.const 16))
        (memory.size)))
    (if (i32.gt_s (local.get $missing) (i32.const 0))
      (then
        (if (i32.eq (memory.grow (local.get $missing)) (i32.const -1)) (then (unreachable)))))
    (local.get $at))
"""

_TOOL = f"""\
;; A tool that answers every call with its own input. A tool-result of 60 bytes lies at 0:
;; status (0 passed) at 0, data (present, address, length) at 16, 20 and 24, the rest is empty.
(module
{_MEMORY}\
  (func (export "murmur:tool/run@0.2.0#run")
    (param $given i32) (param $at i32) (param $length i32) (param i32 i32 i32) (result i32)
    (i32.store8 (i32.const 16) (local.get $given))
    (i32.store (i32.const 20) (local.get $at))
    (i32.store (i32.const 24) (local.get $length))
    (i32.const 0)))
"""

# What each event is passed, flattened as the canonical ABI has it.
_EVENTS = {
    "on-stage": "i32 i32",
    "on-session-start": "i32 i32 i32 i32 i32 i32 i32 i32 i32 i32",
    "on-task-start": "i32 i32 i32 i32 i32 i32 i64 i64 i64 i64",
    "on-inference": "i32",
    "on-tool-call": "i32 i32 i32 i64 i32 i32 i32 i64 i64 i32 i32",
    "on-shell": "i32",
    "on-compaction": "i32 i32 i64 f64 i32 i32 i32 i32 i32 i32",
    "on-task-end": "i32 i32 i32 i32",
    "on-session-end": "i32 i64 i64 i32 i32 i64 i32 i32",
}
_QUIET = "".join(
    f'  (func (export "murmur:hook/lifecycle@0.9.0#{event}") (param {params}) (result i32)\n'
    "    (i32.const 0))\n"
    for event, params in _EVENTS.items()
)
_HOOK = f"""\
;; A hook that answers every event with nothing: the zeros at 0 are `ok(none)`.
(module
{_MEMORY}\
{_QUIET.rstrip()})
"""

STARTERS = {"tool": _TOOL, "hook": _HOOK}
EXPORTS = {"tool": "murmur:tool/run@0.2.0", "hook": "murmur:hook/lifecycle@0.9.0"}
