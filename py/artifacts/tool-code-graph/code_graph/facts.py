"""What one source file says by itself: its symbols, and what each of them refers to."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Symbol:
    """A definition. `name` is dotted from the file's top, empty for the file itself; lines count
    from 1, both included. `returns` is the dotted name of the class that calls of it give."""

    name: str
    kind: str
    line: int
    end: int
    signature: str = ""
    doc: str = ""
    returns: str = ""


@dataclass(frozen=True, slots=True)
class Reference:
    """One use of something, by the symbol `owner`.

    `parts` is the dotted name as written; `self` and `super()` stand for themselves, "?" for what
    is no name. `typed` is the dotted name of the class that its first part is known to be of, with
    "()" after it that of what made its first part.
    """

    owner: str
    kind: str
    parts: tuple[str, ...]
    line: int
    typed: str = ""


@dataclass(slots=True)
class Facts:
    """One file. `imports` maps the names that it imports to what they are, dotted or as a path."""

    path: str
    language: str
    symbols: list[Symbol] = field(default_factory=list)
    references: list[Reference] = field(default_factory=list)
    imports: dict[str, str] = field(default_factory=dict)
    problem: str = ""
