#!/usr/bin/env bash
# Builds the sandbox helper, its library and the Python layout of its spec without Bazel, for quick rounds.
#
#   tools/dev/build_helper.sh [FOLDER]
#
# FOLDER (default /tmp/murdev) receives mur-sandbox and libmur-lockdown.so; the layout goes beside the
# sources as py/murmur/sandbox/_spec.py, which git ignores. PYTHON names an interpreter that has cffi.
set -euo pipefail
cd "$(dirname "$0")/../.."
out=${1:-/tmp/murdev}
cc=${CC:-gcc}
python=${PYTHON:-python3}
mkdir -p "$out"
flags=(-std=c11 -D_GNU_SOURCE -O2 -Wall -Wextra -Werror)
shared=(spec report paths limits capabilities landlock seccomp)
helper=(main cgroup namespaces listeners root trees devices proc descriptors relay hold guests probe)
source_files() { for name in "$@"; do printf 'c/sandbox/%s.c\n' "$name"; done; }

# Written aside and renamed: a helper that is running cannot be written over.
"$cc" "${flags[@]}" -static -o "$out/.mur-sandbox.$$" $(source_files "${helper[@]}" "${shared[@]}")
mv "$out/.mur-sandbox.$$" "$out/mur-sandbox"
"$cc" "${flags[@]}" -fPIC -shared -fvisibility=hidden -o "$out/.lockdown.$$" $(source_files lockdown "${shared[@]}")
mv "$out/.lockdown.$$" "$out/libmur-lockdown.so"
"$cc" -E -P -DMUR_SPEC_CDEF c/sandbox/spec.h |
  "$python" c/sandbox/emit_spec.py murmur.sandbox._spec py/murmur/sandbox/_spec.py
