"""References of one plan step to another, and conditions over them. spec/sessions.md 16.2."""

import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

FIELDS: Final = ("output", "status")

_REFERENCE: Final = re.compile(r"\$([\w-]+)\.([A-Za-z_]\w*)")
_TOKEN: Final = re.compile(
    r"\s*(?:(?P<reference>\$[\w-]+\.[A-Za-z_]\w*)|(?P<text>'[^']*'|\"[^\"]*\")"
    r"|(?P<operator>\|\||&&|==|!=|>|<))"
)
_COMPARE: Final[Mapping[str, Callable[[str, str], bool]]] = {
    "==": lambda left, right: left == right,
    "!=": lambda left, right: left != right,
    ">": lambda left, right: left > right,
    "<": lambda left, right: left < right,
}


class BadReference(Exception):
    """A reference that cannot be resolved, or a condition that cannot be read."""


@dataclasses.dataclass(frozen=True, slots=True)
class Reference:
    """`$<step>.<field>`."""

    step: str
    field: str

    def __str__(self) -> str:
        return f"${self.step}.{self.field}"


Resolve = Callable[[Reference], str | None]


def reference_of(text: str) -> Reference | None:
    """The reference that a whole string is; None for any other string."""
    found = _REFERENCE.fullmatch(text)
    return Reference(found[1], found[2]) if found else None


def references_in(value: object) -> Iterator[Reference]:
    """Every reference in a JSON value: whole strings, at any depth."""
    if isinstance(value, str):
        found = reference_of(value)
        if found is not None:
            yield found
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from references_in(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from references_in(item)


def replaced(value: object, resolve: Resolve) -> object:
    """A JSON value with every reference in it replaced. Raises what `resolve` raises."""
    if isinstance(value, str):
        found = reference_of(value)
        return value if found is None else resolve(found)
    if isinstance(value, Mapping):
        return {key: replaced(item, resolve) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [replaced(item, resolve) for item in value]
    return value


def condition_references(text: str) -> list[Reference]:
    """The references of a condition, up to where it can be read."""
    found = []
    try:
        for kind, token in _tokens(text):
            if kind == "reference":
                found.append(_reference(token))
    except BadReference:
        pass  # running the step says so
    return found


def holds(text: str, resolve: Resolve) -> bool:
    """Whether a condition is true; a blank one is.

    `||` binds least, then `&&`, then one comparison of texts. Raises BadReference for anything
    else, and what `resolve` raises. Every part is read, whatever the parts before decide.
    """
    if not text.strip():
        return True
    tokens = list(_tokens(text))
    result, position = _either(tokens, 0, resolve)
    if position != len(tokens):
        raise BadReference(f"the condition {text!r} has a stray {tokens[position][1]}")
    return result


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    position = 0
    while text[position:].strip():
        found = _TOKEN.match(text, position)
        if found is None:
            raise BadReference(
                f"the condition {text!r} cannot be read at {text[position:].strip()!r}"
            )
        yield str(found.lastgroup), found[0].strip()
        position = found.end()


def _either(tokens: list[tuple[str, str]], position: int, resolve: Resolve) -> tuple[bool, int]:
    result, position = _both(tokens, position, resolve)
    while position < len(tokens) and tokens[position] == ("operator", "||"):
        right, position = _both(tokens, position + 1, resolve)
        result = result or right
    return result, position


def _both(tokens: list[tuple[str, str]], position: int, resolve: Resolve) -> tuple[bool, int]:
    result, position = _comparison(tokens, position, resolve)
    while position < len(tokens) and tokens[position] == ("operator", "&&"):
        right, position = _comparison(tokens, position + 1, resolve)
        result = result and right
    return result, position


def _comparison(tokens: list[tuple[str, str]], position: int, resolve: Resolve) -> tuple[bool, int]:
    left = _operand(tokens, position, resolve)
    kind, operator = tokens[position + 1] if position + 1 < len(tokens) else ("", "its end")
    if kind != "operator" or operator not in _COMPARE:
        raise BadReference(f"a condition compares by ==, !=, > or <, and {operator} is none")
    right = _operand(tokens, position + 2, resolve)
    return _COMPARE[operator](left, right), position + 3


def _operand(tokens: list[tuple[str, str]], position: int, resolve: Resolve) -> str:
    kind, token = tokens[position] if position < len(tokens) else ("", "its end")
    if kind == "text":
        return token[1:-1]
    if kind == "reference":
        return resolve(_reference(token)) or ""
    raise BadReference(f"a condition compares references and quoted texts, and {token} is neither")


def _reference(token: str) -> Reference:
    step, _, field = token[1:].rpartition(".")
    return Reference(step, field)
