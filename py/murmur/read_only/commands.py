"""What a command writes, by the positions of its arguments.

The table is that of seeds/manifest-schema.md, Read-only paths; a command outside it is never
identified. An option's value is no target, except where the option names the target itself.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from murmur.read_only.script import Word

# Commands that write every argument, and those that write the last one only.
EVERY: Final = frozenset(
    (
        "tee",
        "rm",
        "rmdir",
        "unlink",
        "shred",
        "truncate",
        "mkdir",
        "touch",
        "chmod",
        "chown",
        "patch",
    )
)
LAST: Final = frozenset(("mv", "cp", "install", "ln"))
# Those of both that change a folder's own entry rather than what it leads to.
OF_ENTRIES: Final = frozenset(("rm", "rmdir", "unlink", "mv", "ln", "mkdir", "install"))

# Options, by command, whose next word (or the rest of the word) is a value and no path written.
_VALUES: Final[dict[str, str]] = {
    "touch": "drt",
    "truncate": "rs",
    "mkdir": "m",
    "shred": "ns",
    "patch": "BDFgipVYz",
    "install": "gmoSZ",
    "mv": "S",
    "cp": "S",
    "ln": "S",
    "sed": "efl",
}
_LONG_VALUES: Final = frozenset(
    (
        "--context",
        "--date",
        "--expression",
        "--file",
        "--from",
        "--fuzz",
        "--group",
        "--ifdef",
        "--input",
        "--iterations",
        "--line-length",
        "--mode",
        "--owner",
        "--random-source",
        "--reference",
        "--size",
        "--strip",
        "--suffix",
        "--time",
    )
)
_FOLDER: Final = "t"
_LONG_FOLDER: Final = "--target-directory"


def written(name: str, arguments: Sequence[Word]) -> Iterator[Word]:
    """The arguments of the command `name` (without folders) that it writes."""
    if name in EVERY:
        yield from _operands(name, arguments)[0]
    elif name in LAST:
        yield from _last(name, arguments)
    elif name == "sed":
        yield from _edited(arguments)
    elif name == "dd":
        for word in arguments:
            if word.text.startswith("of="):
                yield Word(word.text[3:], word.known)


def _operands(name: str, arguments: Sequence[Word]) -> tuple[list[Word], list[Word], list[str]]:
    """Operands, values of target-folder options, and the options themselves, of a command."""
    values = _VALUES.get(name, "")
    operands: list[Word] = []
    folders: list[Word] = []
    options: list[str] = []
    words = iter(arguments)
    for word in words:
        text = word.text
        if text == "--" and word.known:
            operands.extend(words)
        elif not text.startswith("-") or text == "-":
            operands.append(word)
        elif text.startswith("--"):
            options.append(text)
            if text.startswith(_LONG_FOLDER + "=") and name in LAST:
                folders.append(Word(text.partition("=")[2], word.known))
            elif text == _LONG_FOLDER and name in LAST:
                folders.extend(word for word in (next(words, None),) if word is not None)
            elif text in _LONG_VALUES:
                next(words, None)
        else:
            taking = values + (_FOLDER if name in LAST else "")
            at = next((i for i, letter in enumerate(text[1:], 1) if letter in taking), None)
            if at is None or _is_in_place(name, text[:at]):
                options.append(text)
                continue
            options.append(text[: at + 1])
            value = Word(text[at + 1 :], word.known) if text[at + 1 :] else next(words, None)
            if value is not None and text[at] == _FOLDER and name in LAST:
                folders.append(value)
    return operands, folders, options


def _is_in_place(name: str, before: str) -> bool:
    """Whether the letters so far hold sed's `-i`, whose suffix is the rest of the word."""
    return name == "sed" and "i" in before


def _last(name: str, arguments: Sequence[Word]) -> Iterator[Word]:
    operands, folders, options = _operands(name, arguments)
    if folders:
        yield from folders
    elif name == "install" and any(
        text == "--directory" or (not text.startswith("--") and "d" in text) for text in options
    ):
        yield from operands
    elif len(operands) > 1:
        yield operands[-1]


def _edited(arguments: Sequence[Word]) -> Iterator[Word]:
    """The files that sed edits in place; the script is none of them."""
    operands, _, options = _operands("sed", arguments)
    in_place = any(
        text.startswith("--in-place") or (not text.startswith("--") and _in_place_letter(text))
        for text in options
    )
    if not in_place:
        return
    scripted = any(
        text.startswith(("--expression", "--file"))
        or (not text.startswith("--") and _script_letter(text))
        for text in options
    )
    yield from operands if scripted else operands[1:]


def _in_place_letter(option: str) -> bool:
    return "i" in _letters(option)


def _script_letter(option: str) -> bool:
    letters = _letters(option)
    return "e" in letters or "f" in letters


def _letters(option: str) -> str:
    """The options bundled in one word, up to and with the first that takes the rest as a value."""
    for at, letter in enumerate(option[1:], 1):
        if letter in "iefl":
            return option[1 : at + 1]
    return option[1:]
