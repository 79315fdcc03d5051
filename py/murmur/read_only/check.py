"""The check before every call: does it write below a read-only path?

seeds/manifest-schema.md, Read-only paths; spec/sessions.md 11.2 step 2 and 26. Both functions
answer None for what cannot be identified as a write for certain, and raise nothing.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from murmur.read_only.commands import OF_ENTRIES, written
from murmur.read_only.declarations import Declarations, Node
from murmur.read_only.keys import named_writes
from murmur.read_only.script import Command, Word, read_script
from murmur.read_only.subtrees import Protected

# Shells whose `-c` argument is a script; seeds/manifest-schema.md, Shell allow.
SHELLS: Final = frozenset(("bash", "sh", "zsh", "fish", "dash", "ksh"))

_DEEPEST_SCRIPT: Final = 3
_MOST_FOLDERS: Final = 8
_DEEPEST_INPUT: Final = 64
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
# Words before a command's name that leave its arguments what they are.
_BEFORE: Final = frozenset(
    (
        "!",
        "{",
        "}",
        "builtin",
        "command",
        "do",
        "done",
        "elif",
        "else",
        "env",
        "esac",
        "exec",
        "fi",
        "if",
        "nohup",
        "then",
        "time",
        "until",
        "while",
    )
)

# A folder that a command may run in; None is one that only the shell knows.
_Folders = tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Write:
    """A call that writes below a read-only path.

    `path` is resolved and relative to the work folder, `rule` the manifest's entry, `signal` what
    identified the write. `location` is the declared place of a tool's input, if one did.
    """

    path: str
    rule: str
    signal: str
    location: str | None = None


def refusal_text(target: str, found: Write) -> str:
    """What the model reads in place of a result."""
    place = f" (input {found.location})" if found.location else ""
    return (
        f"{target}: {found.path}{place} is read-only: the capsule's manifest protects "
        f"{found.rule} (capabilities.filesystem.read_only). Nothing was run. The path can still "
        "be read"
    )


def shell_write(subtrees: Protected, binary: str, argv: Sequence[str]) -> Write | None:
    """The first write of a shell call below a read-only path.

    `argv` is what would be run, the program first. A shell's `-c` argument is read as a script;
    any other program's arguments are taken as they are, since no shell expands them.
    """
    if not subtrees.rules:
        return None
    if binary in SHELLS and len(argv) > 2 and argv[1] == "-c":
        return _script_write(subtrees, argv[2], (subtrees.workdir,), 0)
    words = tuple(Word(word) for word in argv[1:])
    return _command_write(subtrees, binary, words, (subtrees.workdir,))


def _script_write(subtrees: Protected, text: str, folders: _Folders, depth: int) -> Write | None:
    outer: list[_Folders] = []
    for command in read_script(text):
        if command.then == "(" and not command.words:
            outer.append(folders)
            continue
        if command.then == ")" and not command.words:
            folders = outer.pop() if outer else folders
            continue
        for operator, word in command.written:
            if found := _look(subtrees, word, folders, f"redirection {operator}", entry=False):
                return found
        name, arguments = named_command(command)
        if name in ("cd", "pushd", "popd"):
            folders = _moved(name, arguments, folders, command.then)
        elif name in SHELLS and depth < _DEEPEST_SCRIPT:
            inner = _inner_script(arguments)
            if inner and (found := _script_write(subtrees, inner, folders, depth + 1)):
                return found
        elif name and (found := _command_write(subtrees, name, arguments, folders)):
            return found
    return None


def named_command(command: Command) -> tuple[str, tuple[Word, ...]]:
    """The name of a command, without its folder, and its arguments; "" when nobody can tell."""
    words = command.words
    at = 0
    while at < len(words):
        word = words[at]
        seen_through = at > 0 and word.text.startswith("-")
        if not (
            _ASSIGNMENT.match(word.text) or (word.known and (word.text in _BEFORE or seen_through))
        ):
            break
        at += 1
    if at == len(words) or not words[at].known:
        return "", ()
    return words[at].text.rpartition("/")[2], words[at + 1 :]


def _moved(name: str, arguments: tuple[Word, ...], folders: _Folders, then: str) -> _Folders:
    """The folders that what follows a `cd` may run in."""
    if then in ("|", "&"):
        return folders
    named = [word for word in arguments if not (word.known and word.text.startswith("-"))]
    reached: _Folders
    if name != "cd" or len(named) != 1 or not named[0].known or not named[0].text:
        reached = (None,)
    elif named[0].text.startswith("/"):
        reached = (named[0].text,)
    else:
        reached = tuple(
            None if folder is None else f"{folder}/{named[0].text}" for folder in folders
        )
    if then != "&&":
        # Where the change of folder fails, the script goes on in the old one.
        reached = (*reached, *folders)
    return tuple(dict.fromkeys(reached))[:_MOST_FOLDERS]


def _inner_script(arguments: tuple[Word, ...]) -> str | None:
    """The script of a nested `sh -c '...'`, when it is written out."""
    for at, word in enumerate(arguments[:-1]):
        if not word.text.startswith("-"):
            return None
        if "c" in word.text and not word.text.startswith("--"):
            script = arguments[at + 1]
            return script.text if script.known else None
    return None


def _command_write(
    subtrees: Protected, name: str, arguments: Sequence[Word], folders: _Folders
) -> Write | None:
    for word in written(name, arguments):
        signal = f"target of {name}"
        if found := _look(subtrees, word, folders, signal, entry=name in OF_ENTRIES):
            return found
    return None


def _look(
    subtrees: Protected, word: Word, folders: _Folders, signal: str, *, entry: bool
) -> Write | None:
    path = word.path
    if path is None:
        return None
    for folder in folders:
        if folder is None and not path.startswith("/"):
            continue
        if covered := subtrees.covering(path, folder, entry=entry):
            return Write(covered.path, covered.rule, signal)
    return None


def tool_write(
    subtrees: Protected, declared: Declarations, given: object, base: str | None = None
) -> Write | None:
    """The first write of a tool call below a read-only path.

    `given` is the call's input as parsed JSON, `base` the folder that the tool sees as `.` (the
    work folder by default). Declared destinations are looked at before the key-name rules.
    """
    if not subtrees.rules or not isinstance(given, Mapping):
        return None
    for candidate in _candidates(declared, given):
        path, signal, location = candidate
        if covered := subtrees.covering(path, base):
            return Write(covered.path, covered.rule, signal, location)
    return None


def _candidates(
    declared: Declarations, given: Mapping[str, object]
) -> Iterator[tuple[str, str, str | None]]:
    """(path, signal, declared location) of everything that the call may write."""
    for path, location in _declared(given, declared.root, "", 0):
        yield path, f"declared destination {location}", location
    for derived in declared.derived or ():
        for value in _at(given, derived.steps):
            path = f"{value}/{derived.suffix}" if derived.suffix else value
            yield path, f"derived destination {derived.text}", derived.location
    for path, key in _by_key(given, declared.root):
        yield path, f"key {key}", None


def _declared(
    value: object, node: Node | None, location: str, depth: int
) -> Iterator[tuple[str, str]]:
    if node is None or depth > _DEEPEST_INPUT:
        return
    if isinstance(value, str):
        if node.destination:
            yield value, location
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            here = f"{location}.{key}" if location else str(key)
            yield from _declared(inner, node.child(key), here, depth + 1)
    elif isinstance(value, list):
        for inner in value:
            yield from _declared(inner, node.items, f"{location}[]", depth + 1)


def _at(value: object, steps: tuple[str | None, ...]) -> Iterator[str]:
    """Every string at a location of the input."""
    found = [value]
    for step in steps:
        if step is None:
            found = [inner for each in found if isinstance(each, list) for inner in each]
        else:
            found = [each[step] for each in found if isinstance(each, Mapping) and step in each]
    return (each for each in found if isinstance(each, str))


def _by_key(given: Mapping[str, object], root: Node) -> Iterator[tuple[str, str]]:
    """What the key-name rules find, object by object, opaque subtrees left out."""
    waiting: list[tuple[object, Node | None]] = [(given, root)]
    while waiting:
        value, node = waiting.pop()
        if node is not None and node.opaque:
            continue
        if isinstance(value, Mapping):
            for key in named_writes(value):
                path = value[key]
                assert isinstance(path, str)
                yield path, key
            waiting.extend(
                (inner, node.child(key) if node else None)
                for key, inner in value.items()
                if isinstance(inner, Mapping | list)
            )
        elif isinstance(value, list):
            items = node.items if node else None
            waiting.extend((inner, items) for inner in value if isinstance(inner, Mapping | list))
