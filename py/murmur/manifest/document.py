"""YAML text into plain values, with bounds and with the place where each value stands.

Scalars follow YAML 1.2's core schema (`on`, `yes` and dates are strings), since that is what the
manifest reference's examples mean. The values are built from parser events with a stack of our
own, so neither nesting nor aliases can exhaust the interpreter: depth, size and the size after
expanding aliases are bounded, a key given twice is refused, and so is every tag that would build
anything but plain data.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

Path = tuple[str | int, ...]

MAX_CHARACTERS: Final = 1 << 20
MAX_DEPTH: Final = 48
MAX_VALUES: Final = 50_000

_INTEGER: Final = re.compile(r"[-+]?[0-9]{1,40}")
_OCTAL: Final = re.compile(r"0o[0-7]{1,40}")
_HEXADECIMAL: Final = re.compile(r"0x[0-9a-fA-F]{1,40}")
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_WORDS: Final[dict[str, object]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), float("inf")),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf")),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
}
# YAML 1.2, 5.1.
_UNREADABLE: Final = re.compile(
    "[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
)
_TAG: Final = "tag:yaml.org,2002:"


@dataclass(frozen=True, slots=True)
class Place:
    """A position in the text, both counted from 1."""

    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.line}:{self.column}"


START: Final = Place(1, 1)


class BadDocument(ValueError):
    """Text that is no acceptable YAML document; `place` is the start where no other is known."""

    def __init__(self, reason: str, place: Place = START) -> None:
        super().__init__(reason)
        self.reason = reason
        self.place = place


@dataclass(frozen=True, slots=True)
class Document:
    """One parsed document: its value and the place of every key and list item in it.

    `numbers` holds the text of every unquoted number, which a number no longer tells (1.10).
    """

    value: object
    places: dict[Path, Place] = field(default_factory=dict)
    numbers: dict[Path, str] = field(default_factory=dict)

    def place(self, path: Path) -> Place:
        """Where `path` stands, or the closest thing around it that has a place."""
        while path:
            if found := self.places.get(path):
                return found
            path = path[:-1]
        return self.places.get((), START)


def _plain_scalar(text: str) -> object:
    """What an unquoted scalar without a tag means. YAML 1.2, 10.3.2."""
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    if _OCTAL.fullmatch(text):
        return int(text[2:], 8)
    if _HEXADECIMAL.fullmatch(text):
        return int(text[2:], 16)
    if _FLOAT.fullmatch(text):
        return float(text)
    return text


@dataclass(slots=True)
class _Open:
    """A collection being built. `key` holds a mapping's key until its value arrives."""

    value: dict[object, object] | list[object]
    path: Path
    place: Place
    anchor: str | None
    key: object = None
    has_key: bool = False
    size: int = 1


class _Builder:
    """Builds the value of one document from parser events."""

    def __init__(self) -> None:
        self.places: dict[Path, Place] = {}
        self.numbers: dict[Path, str] = {}
        self._open: list[_Open] = []
        self._anchors: dict[str, tuple[object, int]] = {}
        self._total = 0
        self.result: object = None

    def _next_path(self, place: Place) -> Path:
        """The path of the value that is about to arrive."""
        if not self._open:
            return ()
        holder = self._open[-1]
        if isinstance(holder.value, list):
            path = (*holder.path, len(holder.value))
            self.places[path] = place
            return path
        key = holder.key if isinstance(holder.key, str) else str(holder.key)
        return (*holder.path, key)

    def _spend(self, size: int, place: Place) -> None:
        self._total += size
        if self._total > MAX_VALUES:
            raise BadDocument(f"more than {MAX_VALUES} values, aliases counted in full", place)

    def _expects_key(self) -> bool:
        return (
            bool(self._open)
            and isinstance(self._open[-1].value, dict)
            and not (self._open[-1].has_key)
        )

    def scalar(self, value: object, text: str, anchor: str | None, place: Place) -> None:
        self._spend(1, place)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if is_number and not self._expects_key():
            self.numbers.setdefault(self._next_path(place), text)
        if anchor is not None:
            self._anchors[anchor] = (value, 1)
        self._place_value(value, 1, place)

    def alias(self, anchor: str, place: Place) -> None:
        if anchor not in self._anchors:
            raise BadDocument(f"the alias *{anchor} names nothing that ended before it", place)
        value, size = self._anchors[anchor]
        self._spend(size, place)
        self._place_value(value, size, place)

    def start(
        self, value: dict[object, object] | list[object], anchor: str | None, place: Place
    ) -> None:
        if self._expects_key():
            raise BadDocument("a mapping or a list cannot be a key", place)
        if len(self._open) >= MAX_DEPTH:
            raise BadDocument(f"nested deeper than {MAX_DEPTH} levels", place)
        self._spend(1, place)
        if not self._open:
            self.places[()] = place
        self._open.append(_Open(value, self._next_path(place), place, anchor))

    def end(self) -> None:
        done = self._open.pop()
        if done.anchor is not None:
            self._anchors[done.anchor] = (done.value, done.size)
        self._place_value(done.value, done.size, done.place)

    def _place_value(self, value: object, size: int, place: Place) -> None:
        if not self._open:
            self.result = value
            return
        holder = self._open[-1]
        holder.size += size
        if isinstance(holder.value, list):
            self.places.setdefault((*holder.path, len(holder.value)), place)
            holder.value.append(value)
        elif holder.has_key:
            holder.value[holder.key] = value
            holder.key, holder.has_key = None, False
        else:
            self._take_key(holder, value, place)

    def _take_key(self, holder: _Open, key: object, place: Place) -> None:
        if isinstance(key, dict | list):
            raise BadDocument("a mapping or a list cannot be a key", place)
        assert isinstance(holder.value, dict)
        if key in holder.value:
            raise BadDocument(f"the key {key!r} is given twice", place)
        holder.key, holder.has_key = key, True
        # The place of a duplicate-by-text key (1 and "1") is of no use to anyone: first wins.
        self.places.setdefault((*holder.path, str(key)), place)


def _scalar_value(event: Any, place: Place) -> object:
    """The value of a scalar event; only the core schema's tags are accepted."""
    plain, _quoted = event.implicit
    if event.tag is None or event.tag == "!":
        return _plain_scalar(event.value) if plain and event.tag is None else event.value
    kind = event.tag.removeprefix(_TAG)
    if kind == "str":
        return event.value
    value = _plain_scalar(event.value)
    wanted: dict[str, Callable[[object], bool]] = {
        "null": lambda v: v is None,
        "bool": lambda v: isinstance(v, bool),
        "int": lambda v: isinstance(v, int) and not isinstance(v, bool),
        "float": lambda v: isinstance(v, int | float) and not isinstance(v, bool),
    }
    if not event.tag.startswith(_TAG) or kind not in wanted or not wanted[kind](value):
        raise BadDocument(f"the tag {event.tag} is not accepted here", place)
    return float(str(value)) if kind == "float" else value


def _feed(builder: _Builder, events: Iterator[Any]) -> None:
    """Runs every event of the text's one document through `builder`."""
    import yaml

    documents = 0
    for event in events:
        place = Place(event.start_mark.line + 1, event.start_mark.column + 1)
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                raise BadDocument("a second document begins here", place)
        elif isinstance(event, yaml.ScalarEvent):
            builder.scalar(_scalar_value(event, place), event.value, event.anchor, place)
        elif isinstance(event, yaml.AliasEvent):
            builder.alias(str(event.anchor), place)
        elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            if event.tag not in (None, "!", _TAG + "map", _TAG + "seq"):
                raise BadDocument(f"the tag {event.tag} is not accepted here", place)
            mapping = isinstance(event, yaml.MappingStartEvent)
            builder.start({} if mapping else [], event.anchor, place)
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            builder.end()


def _unreadable_at(text: str) -> Place:
    """Where the first character stands that no YAML document holds."""
    found = _UNREADABLE.search(text)
    if found is None:
        return START
    line = text.count("\n", 0, found.start())
    return Place(line + 1, found.start() - text.rfind("\n", 0, found.start()))


def parse_document(text: str) -> Document:
    """The one YAML document in `text`. Raises BadDocument with the reason and the place."""
    import yaml

    if len(text) > MAX_CHARACTERS:
        raise BadDocument(f"longer than {MAX_CHARACTERS} characters")
    builder = _Builder()
    loader: Any = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
    try:
        _feed(builder, yaml.parse(text, Loader=loader))
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        place = Place(mark.line + 1, mark.column + 1) if mark else START
        reason = ", ".join(part for part in (problem.context, problem.problem) if part)
        raise BadDocument(reason or "unreadable YAML", place) from None
    except (yaml.YAMLError, UnicodeError) as problem:
        raise BadDocument(str(problem).splitlines()[0], _unreadable_at(text)) from None
    return Document(builder.result, builder.places, builder.numbers)
