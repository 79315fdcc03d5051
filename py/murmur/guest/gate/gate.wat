;; The request gate's core module; gate.wit says what each export is for.
;;
;; Memory: bytes 64 to 127 are the area in which an import writes a result too wide for a core value. The layout of
;; such a result is the same on the way in and on the way out, so each export returns the address of that area.
;; Strings lie above 128: a bump allocator that every export winds back, since nothing outlives a call.

(module
  (import "wasi:http/types@0.2.0" "[method]outgoing-request.scheme"
    (func $scheme (param i32 i32)))
  (import "wasi:http/types@0.2.0" "[method]outgoing-request.authority"
    (func $authority (param i32 i32)))
  (import "wasi:http/types@0.2.0" "[method]outgoing-request.path-with-query"
    (func $path (param i32 i32)))
  (import "wasi:http/types@0.2.0" "[method]outgoing-request.set-scheme"
    (func $set_scheme (param i32 i32 i32 i32 i32) (result i32)))
  (import "wasi:http/types@0.2.0" "[method]outgoing-request.set-authority"
    (func $set_authority (param i32 i32 i32 i32) (result i32)))
  (import "wasi:http/types@0.2.0" "[method]outgoing-request.set-path-with-query"
    (func $set_path (param i32 i32 i32 i32) (result i32)))
  (import "wasi:http/types@0.2.0" "[resource-drop]outgoing-request"
    (func $give_back (param i32)))
  (import "wasi:http/outgoing-handler@0.2.0" "handle"
    (func $handle (param i32 i32 i32 i32)))

  (memory (export "memory") 1)
  (global $area i32 (i32.const 64))
  (global $floor i32 (i32.const 128))
  (global $top (mut i32) (i32.const 128))

  (func (export "cabi_realloc") (param $old i32) (param $old_size i32) (param $align i32) (param $size i32)
    (result i32)
    (local $start i32)
    (local $missing i32)
    (local.set $start
      (i32.and
        (i32.add (global.get $top) (i32.sub (local.get $align) (i32.const 1)))
        (i32.sub (i32.const 0) (local.get $align))))
    (global.set $top (i32.add (local.get $start) (local.get $size)))
    (local.set $missing
      (i32.sub
        (i32.shr_u (i32.add (global.get $top) (i32.const 0xffff)) (i32.const 16))
        (memory.size)))
    (if (i32.gt_s (local.get $missing) (i32.const 0))
      (then
        (if (i32.eq (memory.grow (local.get $missing)) (i32.const -1))
          (then (unreachable)))))
    (memory.copy (local.get $start) (local.get $old) (local.get $old_size))
    (local.get $start))

  ;; A borrowed request must be given back before the export returns.

  (func (export "scheme-of") (param $request i32) (result i32)
    (global.set $top (global.get $floor))
    (call $scheme (local.get $request) (global.get $area))
    (call $give_back (local.get $request))
    (global.get $area))

  (func (export "authority-of") (param $request i32) (result i32)
    (global.set $top (global.get $floor))
    (call $authority (local.get $request) (global.get $area))
    (call $give_back (local.get $request))
    (global.get $area))

  (func (export "path-of") (param $request i32) (result i32)
    (global.set $top (global.get $floor))
    (call $path (local.get $request) (global.get $area))
    (call $give_back (local.get $request))
    (global.get $area))

  ;; Each setter returns 0 when it took the value; the strings were allocated by the caller of this export.
  (func (export "redirect") (param $request i32) (param $to i32) (param $to_size i32)
    (param $path i32) (param $path_size i32) (result i32)
    (local $refused i32)
    (local.set $refused
      (i32.or
        (call $set_scheme (local.get $request) (i32.const 1) (i32.const 0) (i32.const 0) (i32.const 0))
        (i32.or
          (call $set_authority (local.get $request) (i32.const 1) (local.get $to) (local.get $to_size))
          (call $set_path (local.get $request) (i32.const 1) (local.get $path) (local.get $path_size)))))
    (call $give_back (local.get $request))
    (global.set $top (global.get $floor))
    (i32.eqz (local.get $refused)))

  (func (export "send") (param $request i32) (param $with_options i32) (param $options i32) (result i32)
    (global.set $top (global.get $floor))
    (call $handle
      (local.get $request) (local.get $with_options) (local.get $options) (global.get $area))
    (global.get $area)))
