"""Fails when a Python source imports what its library does not name as a dependency.

The action behind every `murmur_library` (defs.bzl). An import is covered when it names a module of
the library itself or of a direct dependency, a top-level module of a direct requirement, or the
standard library. Every import statement counts, late ones and those under `if TYPE_CHECKING:` too.
Relative imports are resolved first.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath


def module_of(path: str, root: str) -> tuple[str, bool]:
    """The dotted name of the module at `path` below the root, and whether it is a package."""
    parts = PurePosixPath(path).with_suffix("").parts
    if root:
        # Generated files lie below bazel-out/<configuration>/bin.
        parts = parts[parts.index(root) + 1 :]
    if parts[-1] == "__init__":
        return ".".join(parts[:-1]), True
    return ".".join(parts), False


def imports(tree: ast.AST, module: str, is_package: bool) -> Iterator[tuple[int, str, str | None]]:
    """Each import as line, module, and the name taken from it (None for a plain import)."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name, None
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = module.split(".")
                keep = len(above) - node.level + (1 if is_package else 0)
                base = ".".join([*above[:keep], *([base] if base else [])])
            for alias in node.names:
                yield node.lineno, base, alias.name


def covered(name: str, taken: str | None, modules: frozenset[str], shipped: frozenset[str]) -> bool:
    """Whether an import is allowed."""
    top = name.partition(".")[0]
    if top in sys.stdlib_module_names or top in shipped or name in modules:
        return True
    return taken is not None and f"{name}.{taken}" in modules


def complaints(
    path: str, text: str, root: str, modules: frozenset[str], shipped: frozenset[str]
) -> Iterator[str]:
    """One line for each import of the source at `path` that nothing covers."""
    module, is_package = module_of(path, root)
    for line, name, taken in imports(ast.parse(text, path), module, is_package):
        if not covered(name, taken, modules, shipped):
            what = name if taken is None else f"{taken} from {name}"
            yield f"{path}:{line}: imports {what}, which no direct dependency provides"


def main() -> int:
    """Checks the sources named on the command line; writes the stamp when all is well."""
    parser = argparse.ArgumentParser(fromfile_prefix_chars="@")
    parser.add_argument("--label", required=True)
    parser.add_argument("--root", default="")
    parser.add_argument("--stamp", required=True, type=Path)
    parser.add_argument("--module", nargs="*", default=[])
    parser.add_argument("--shipped", nargs="*", default=[])
    parser.add_argument("--source", nargs="*", default=[])
    options = parser.parse_args()
    modules = frozenset(options.module)
    shipped = frozenset(options.shipped)
    wrong = [
        line
        for source in options.source
        for line in complaints(source, Path(source).read_text(), options.root, modules, shipped)
    ]
    if wrong:
        print(
            f"{options.label} needs deps or requirements for:", *wrong, sep="\n  ", file=sys.stderr
        )
        return 1
    options.stamp.write_text("")
    return 0


if __name__ == "__main__":
    sys.exit(main())
