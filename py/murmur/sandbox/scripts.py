"""Allowlisted scripts that a composed root could not start: E-CAP-006. containment.md 15.3."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

from murmur.sandbox.binaries import inside, script_interpreter
from murmur.sandbox.sealed_root import FIXED, fixed_trees


@dataclasses.dataclass(frozen=True, slots=True)
class UnreachableScript:
    """An entry of `shell.allow`, the canonical script behind it, and its interpreter's name."""

    name: str
    path: str
    interpreter: str

    def __str__(self) -> str:
        return f"{self.name} ({self.path}, a script for {self.interpreter})"


def unreachable_scripts(
    located: Mapping[str, str], folders: Iterable[str], named: Sequence[str]
) -> tuple[UnreachableScript, ...]:
    """The scripts among `located` (canonical paths by allowlist name) that nothing covers.

    `folders` are the canonical directories that grants put into the root; `named` the binaries that
    grants are for, one of which may be the script itself or its interpreter.
    """
    covered = (*FIXED, *fixed_trees(), *folders)
    found = []
    for name, path in located.items():
        interpreter = script_interpreter(path)
        if interpreter is None or inside(path, covered):
            continue
        if name not in named and interpreter not in named:
            found.append(UnreachableScript(name, path, interpreter))
    return tuple(found)
