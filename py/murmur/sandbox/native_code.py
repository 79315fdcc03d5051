"""Language runtimes that load native code from where their modules lie. design/decisions.md 11."""

import os
from typing import Final

# The names are prefixes of a base name up to a version suffix: python3.11, ruby3.1, perl5.36.0.
NATIVE_LOADERS: Final = (
    "bun",
    "deno",
    "guile",
    "java",
    "julia",
    "lua",
    "luajit",
    "node",
    "nodejs",
    "ocaml",
    "perl",
    "php",
    "pypy",
    "python",
    "R",
    "Rscript",
    "ruby",
    "tclsh",
)


def loads_native_code(name: str, path: str) -> bool:
    """Whether an allowlisted binary is a language runtime that loads native modules."""
    for candidate in (name, os.path.basename(path)):
        stem = candidate.rstrip("0123456789.-")
        if stem in NATIVE_LOADERS:
            return True
    return False
