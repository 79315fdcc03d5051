#!/bin/sh
# Builds the Python artifacts without Bazel, for work on them:
#
#     tools/dev/build_artifacts.sh [--force] [NAME...]
#
# Each goes to $MURMUR_DEV (default /tmp/murdev)/artifacts/<name>/ with murmur.yaml and capsule.wasm.
# PYTHON names an interpreter that has componentize-py and spin-sdk (default: python3). An artifact
# whose sources are older than its component is left alone.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
out=${MURMUR_DEV:-/tmp/murdev}/artifacts
python=${PYTHON:-python3}
force=no
if [ "${1:-}" = --force ]; then
    force=yes
    shift
fi
[ $# -gt 0 ] || set -- driver-replay tool-editor driver-anthropic driver-openai hook-compact \
    hook-debug hook-diff-summary hook-eval hook-grafana hook-memory hook-protect-shell \
    hook-protect-tool hook-regression-verifier hook-shell-desc

wasi=$("$python" -c 'import importlib.util as u; print(u.find_spec("spin_sdk").submodule_search_locations[0])')/wit/deps
mkdir -p "$out"
still=$out/../libstill.so
if [ ! -e "$still" ] || [ "$root/tools/wasm/still.c" -nt "$still" ]; then
    ${CC:-cc} -shared -fPIC -O2 -o "$still" "$root/tools/wasm/still.c"
fi

for name in "$@"; do
    folder=$root/py/artifacts/$name
    case $name in
    driver-replay) world=offline-driver package=replay_driver ;;
    driver-anthropic) world=http-driver package=anthropic_driver ;;
    driver-openai) world=http-driver package=openai_driver ;;
    tool-editor) world=folder-tool package=editor_tool ;;
    hook-compact) world=model-hook package=compact_hook ;;
    hook-debug) world=plain-hook package=debug_hook ;;
    hook-diff-summary) world=plain-hook package=diff_hook ;;
    hook-eval) world=plain-hook package=eval_hook ;;
    hook-grafana) world=sending-hook package=grafana_hook ;;
    hook-memory) world=recalling-hook package=memory_hook ;;
    hook-regression-verifier) world=plain-hook package=verifier_hook ;;
    hook-shell-desc) world=plain-hook package=shell_desc_hook ;;
    hook-protect-shell) world=plain-hook package=protect_shell ;;
    hook-protect-tool) world=plain-hook package=protect_tool ;;
    *) echo "no artifact $name" >&2 && exit 2 ;;
    esac
    shared=
    case $world in
    http-driver) shared=$(ls "$root"/py/artifacts/guest/murmur_guest/*.py) ;;
    offline-driver) shared=$(ls "$root"/py/artifacts/guest/murmur_guest/*.py | grep -v /http.py) ;;
    *-hook) shared=$(ls "$root"/py/artifacts/hooking/murmur_hooking/__init__.py "$root"/py/artifacts/hooking/murmur_hooking/component.py) ;;
    esac
    case $name in
    hook-grafana) shared="$shared $(ls "$root"/py/artifacts/guest/murmur_guest/*.py)" ;;
    hook-protect-*) shared="$(ls "$root"/py/artifacts/hooking/murmur_hooking/*.py) $(ls "$root"/py/murmur/read_only/*.py)" ;;
    esac
    sources=
    newest=$folder/murmur.yaml
    for file in $shared "$folder/$package"/*.py; do
        package_of=$(basename "$(dirname "$file")")
        case $file in "$root"/py/murmur/*) package_of=murmur/$package_of ;; esac
        sources="$sources --source $package_of/$(basename "$file")=$file"
        [ "$file" -nt "$newest" ] && newest=$file
    done
    mkdir -p "$out/$name"
    cp "$folder/murmur.yaml" "$out/$name/murmur.yaml"
    if [ "$force" = no ] && [ -e "$out/$name/capsule.wasm" ] && [ ! "$newest" -nt "$out/$name/capsule.wasm" ]; then
        echo "$out/$name is up to date"
        continue
    fi
    # shellcheck disable=SC2086
    PYTHONPATH=$root "$python" -B "$root/tools/wasm/componentize.py" --still "$still" \
        --wit "$root/py/artifacts/wit/worlds.wit" --world "$world" \
        $(printf -- '--wit-dep %s ' "$root"/wit/*/*.wit "$wasi"/*@0.2.0/*.wit) \
        $sources --module "$package.component" --output "$out/$name/capsule.wasm.new"
    mv "$out/$name/capsule.wasm.new" "$out/$name/capsule.wasm"
    echo "$out/$name"
done
