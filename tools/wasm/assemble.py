"""Builds WebAssembly from its text format: the action behind `wat_component` (defs.bzl)."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.wasm import documents


def main() -> int:
    """Parses the source; with a world, makes it a component that implements the world."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--output", required=True)
    parser.add_argument("--wasm-tools", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("--world")
    parser.add_argument("--wit", action="append", default=[], type=Path)
    parser.add_argument("--wit-dep", action="append", default=[], type=Path)
    options = parser.parse_args()

    with tempfile.TemporaryDirectory() as name:
        steps = [["parse", options.source, "-o", options.output]]
        if options.world is not None:
            wit = Path(name, "wit")
            documents.lay_out(wit, options.wit, options.wit_dep)
            core, embedded = f"{name}/core.wasm", f"{name}/embedded.wasm"
            steps = [
                ["parse", options.source, "-o", core],
                ["component", "embed", str(wit), core, "--world", options.world, "-o", embedded],
                ["component", "new", embedded, "-o", options.output],
                ["validate", options.output],
            ]
        for step in steps:
            status = subprocess.run([options.wasm_tools, *step]).returncode
            if status:
                return status
    return 0


if __name__ == "__main__":
    sys.exit(main())
