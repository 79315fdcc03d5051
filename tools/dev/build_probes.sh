#!/bin/sh
# Builds the components of tests/probes without Bazel, for tests run by hand:
#
#     tools/dev/build_probes.sh [--force]
#
# They go to $MURMUR_DEV (default /tmp/murdev)/probes/<name>.wasm. PYTHON names an interpreter that
# has componentize-py and spin-sdk (default: python3). One that is newer than its source is left alone.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
out=${MURMUR_DEV:-/tmp/murdev}/probes
python=${PYTHON:-python3}
force=${1:-}

wasi=$("$python" -c 'import importlib.util as u; print(u.find_spec("spin_sdk").submodule_search_locations[0])')/wit/deps
mkdir -p "$out"
still=$out/../libstill.so
if [ ! -e "$still" ] || [ "$root/tools/wasm/still.c" -nt "$still" ]; then
    ${CC:-cc} -shared -fPIC -O2 -o "$still" "$root/tools/wasm/still.c"
fi

for name in hook_probe managing_probe process_driver_probe script_probe tool_probe; do
    source=$root/tests/probes/$name.py
    target=$out/$name.wasm
    if [ "$force" != --force ] && [ -e "$target" ] && [ ! "$source" -nt "$target" ]; then
        echo "$target is up to date"
        continue
    fi
    case $name in
    hook_probe) world=scripted-hook ;;
    managing_probe) world=managing-tool ;;
    process_driver_probe) world=process-driver ;;
    script_probe) world=script ;;
    tool_probe) world=program-tool ;;
    esac
    more=
    if [ $name = managing_probe ]; then
        more="--source tool_probe.py=$root/tests/probes/tool_probe.py"
    fi
    # shellcheck disable=SC2046,SC2086
    PYTHONPATH=$root "$python" -B "$root/tools/wasm/componentize.py" --still "$still" \
        --wit "$root/tests/probes/probes.wit" --world "$world" \
        $(printf -- '--wit-dep %s ' "$root"/wit/*/*.wit "$wasi"/*@0.2.0/*.wit) \
        --source "$name.py=$source" $more --module "$name" --output "$target.new"
    mv "$target.new" "$target"
    echo "$target"
done
