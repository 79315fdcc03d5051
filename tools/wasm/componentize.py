"""Builds a small component from Python sources, or the bindings that they import (defs.bzl).

Lays sources and WIT documents out the way componentize-py wants them, in a scratch folder that is
gone afterwards, and keeps it away from whatever is installed beside the interpreter.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import componentize_py

from tools.wasm import binary, documents, slim, stillness, trimming

WORLD = "component"

ENTRY = "murmur_snapshot"
TRIMMING = "murmur_trimming"
"""Modules that the component gets besides its sources."""
_ENTRY_TEXT = f"""\
import {TRIMMING}
{TRIMMING}.before(parser={{parser}})
from {{module}} import *
NATIVE_MODULES = {TRIMMING}.after()
del {TRIMMING}
"""


def world_document(world: str, imports: Iterable[str]) -> str:
    """A document whose only world is `world` with some more imports."""
    lines = [f"  include {world};", *(f"  import {name};" for name in imports)]
    return "\n".join(["package murmur:build;", f"world {WORLD} {{", *lines, "}", ""])


def main() -> int:
    """Runs componentize-py on what the command line names."""
    parser = argparse.ArgumentParser(fromfile_prefix_chars="@")
    parser.add_argument("--output", required=True, type=Path)
    parser.add_argument("--module", help="the Python module that the world is in")
    parser.add_argument("--world", required=True)
    parser.add_argument("--import", dest="imports", action="append", default=[])
    parser.add_argument("--source", action="append", default=[], help="place=path")
    parser.add_argument("--wit", action="append", default=[], type=Path)
    parser.add_argument("--wit-dep", action="append", default=[], type=Path)
    parser.add_argument("--still", required=True, type=Path, help="the library made of still.c")
    parser.add_argument("--parser", action="store_true", help="it imports ast, or compiles text")
    options = parser.parse_args()
    stillness.begin(options.still)

    output = options.output.absolute()
    with tempfile.TemporaryDirectory(dir=output.parent) as name:
        scratch = Path(name)
        for pair in options.source:
            place, _, path = pair.partition("=")
            target = scratch / "sources" / place
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
        if options.module is not None:
            (scratch / "sources" / f"{ENTRY}.py").write_text(
                _ENTRY_TEXT.format(module=options.module, parser=options.parser)
            )
            shutil.copy(trimming.__file__, scratch / "sources" / f"{TRIMMING}.py")
        documents.lay_out(scratch / "wit", options.wit, options.wit_dep)
        world = options.world
        if not options.wit:
            text = world_document(world, options.imports)
            (scratch / "wit" / "component.wit").write_text(text)
            world = WORLD
        # Without these two it looks for packages in the interpreter's own site-packages.
        (scratch / "venv" / "lib" / "python3" / "site-packages").mkdir(parents=True)
        os.environ["VIRTUAL_ENV"] = str(scratch / "venv")
        os.environ["TMPDIR"] = str(scratch)
        sys.argv = ["componentize-py", "--quiet", "--wit-path", str(scratch / "wit")]
        sys.argv += ["--world", world]
        if options.module is None:
            sys.argv += ["bindings", str(output)]
        else:
            sys.argv += ["componentize", "--python-path", str(scratch / "sources")]
            sys.argv += ["--output", str(scratch / "whole.wasm"), ENTRY]
        stillness.hold()
        try:
            componentize_py.script()
        except AssertionError as failure:
            # Every failure of its Rust code arrives as this, with a backtrace of no use here.
            print(str(failure).partition("\n\nStack backtrace:")[0], file=sys.stderr)
            return 1
        if options.module is not None:
            try:
                output.write_bytes(slim.slim((scratch / "whole.wasm").read_bytes()))
            except binary.Unreadable as failure:
                print(f"{options.module} cannot be made small: {failure}", file=sys.stderr)
                return 1
        return 0


if __name__ == "__main__":
    sys.exit(main())
