#!/bin/sh
# Puts the graph library of `mur topology` where the source tree's own Python finds it, for work without
# Bazel: the version that WORKSPACE pins, through npm's own client.
set -eu
root="$(cd "$(dirname "$0")/../.." && pwd)"
version="$(sed -n '/name = "npm_vis_network"/,/^)/s/.*version = "\(.*\)".*/\1/p' "$root/WORKSPACE")"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
cd "$work"
npm pack --silent --ignore-scripts "vis-network@$version" >/dev/null
tar xzf ./*.tgz package/standalone/umd/vis-network.min.js
cp package/standalone/umd/vis-network.min.js "$root/py/murmur/topology/vis-network.min.js"
