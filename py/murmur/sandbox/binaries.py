"""What a name in `shell.allow` stands for on this host. spec/containment.md 15.1 and 15.3."""

import dataclasses
import os
import stat
from collections.abc import Iterable, Sequence
from typing import Final

from murmur.sandbox import elf

_SHEBANG_BYTES: Final = 512


@dataclasses.dataclass(frozen=True, slots=True)
class Binary:
    """One allowlist entry as resolved at launch; all paths are canonical.

    `path` is the first match on PATH and what runs; `all_paths` are all matches, each granted.
    `interpreter` is the base name of a script's interpreter, None for a program. `closure` are the
    files that the programs among the matches load. `found` are the names that PATH has the matches
    under, links and all.
    """

    name: str
    path: str
    all_paths: tuple[str, ...]
    interpreter: str | None
    closure: tuple[str, ...]
    found: tuple[str, ...] = ()


def resolve(names: Iterable[str], path: str, writable: Sequence[str]) -> dict[str, Binary]:
    """Each name that PATH has, in the order given; names not found are left out.

    PATH entries and matches below a `writable` root are ignored: a file that a command can write
    must never become one that a command can execute.
    """
    folders = [folder for folder in path.split(":") if os.path.isabs(folder)]
    resolved: dict[str, Binary] = {}
    for name in names:
        if "/" in name or not name or name in resolved:
            continue
        found = matches(name, folders, writable)
        if found:
            canonical = tuple(dict.fromkeys(found.values()))
            resolved[name] = Binary(
                name=name,
                path=canonical[0],
                all_paths=canonical,
                interpreter=script_interpreter(canonical[0]),
                closure=tuple(
                    each for each in elf.closure(canonical) if not inside(each, writable)
                ),
                found=tuple(found),
            )
    return resolved


def at_path(path: str) -> Binary:
    """The program at a canonical path, which is its name as well."""
    return Binary(
        name=path,
        path=path,
        all_paths=(path,),
        interpreter=script_interpreter(path),
        closure=elf.closure((path,)),
    )


def inside(path: str, roots: Iterable[str]) -> bool:
    """Whether a path is one of the roots or lies below one; both sides canonical."""
    return any(path == root or path.startswith(root.rstrip("/") + "/") for root in roots)


def matches(name: str, folders: Sequence[str], writable: Sequence[str]) -> dict[str, str]:
    """The executable files of that name: the canonical path of each, by the name it has on PATH."""
    found: dict[str, str] = {}
    for folder in folders:
        named = os.path.join(folder, name)
        canonical = os.path.realpath(named)
        if inside(canonical, writable) or inside(os.path.realpath(folder), writable):
            continue
        try:
            mode = os.stat(canonical).st_mode
        except OSError:
            continue
        if stat.S_ISREG(mode) and mode & 0o111:
            found[named] = canonical
    return found


def shebang(path: str) -> tuple[str, ...]:
    """The words of a script's `#!` line; none for anything else."""
    try:
        with open(path, "rb") as file:
            head = file.read(_SHEBANG_BYTES)
    except OSError:
        return ()
    if not head.startswith(b"#!"):
        return ()
    return tuple(os.fsdecode(head[2:].replace(b"\r", b"\n").split(b"\n", 1)[0]).split())


def script_interpreter(path: str) -> str | None:
    """The base name of the interpreter that a `#!` line names; None for anything else.

    For `env` it is the first operand after its flags and VAR=value words.
    """
    words = shebang(path)
    if not words:
        return None
    interpreter = os.path.basename(words[0])
    if interpreter != "env":
        return interpreter
    for word in words[1:]:
        if not word.startswith("-") and "=" not in word:
            return os.path.basename(word)
    return interpreter
