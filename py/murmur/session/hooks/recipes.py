"""What `make test`, `just test` or `npm run test` would run: the recipe's text, for policy hooks.

spec/artifacts.md 15.4. Read from the work folder through its held descriptor, no link followed.
None is "not resolved" and says nothing: a call with options, includes or another folder is not
looked into.
"""

import json
import re
from collections.abc import Callable, Sequence
from typing import Final

from murmur.core.safefs import Root

_LARGEST: Final = 1 << 20
_ASSIGNMENT: Final = re.compile(r"\w+=")


def recipe_of(work: Root, argv: Sequence[str]) -> str | None:
    """The bodies of the recipes that the command names, one after another; None when unresolved."""
    resolve = _RESOLVERS.get(argv[0].rpartition("/")[2]) if argv else None
    return resolve(work, argv[1:]) if resolve is not None else None


def _make(work: Root, arguments: Sequence[str]) -> str | None:
    targets = [word for word in arguments if not _ASSIGNMENT.match(word)]
    if any(word.startswith("-") for word in targets):
        return None
    text = _first_file(work, ("GNUmakefile", "makefile", "Makefile"))
    return _bodies(text, targets, _make_recipe)


def _just(work: Root, arguments: Sequence[str]) -> str | None:
    if any(word.startswith("-") for word in arguments):
        return None
    text = _first_file(work, ("justfile", "Justfile", ".justfile"))
    # What follows the first word may be its parameters.
    return _bodies(text, arguments[:1], _just_recipe)


def _npm(work: Root, arguments: Sequence[str]) -> str | None:
    if len(arguments) < 2 or arguments[0] not in ("run", "run-script"):
        return None
    text = _first_file(work, ("package.json",))
    try:
        script = json.loads(text or "")["scripts"][arguments[1]]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return script if isinstance(script, str) else None


_RESOLVERS: Final[dict[str, Callable[[Root, Sequence[str]], str | None]]] = {
    "make": _make,
    "gmake": _make,
    "just": _just,
    "npm": _npm,
}


def _first_file(work: Root, names: Sequence[str]) -> str | None:
    for name in names:
        try:
            return work.read_bytes(name, _LARGEST).decode("utf-8", "replace")
        except (OSError, ValueError):
            continue
    return None


def _bodies(
    text: str | None, targets: Sequence[str], recipe: Callable[[list[str], str], str | None]
) -> str | None:
    if text is None or not targets:
        return None
    lines = text.splitlines()
    found = [recipe(lines, target) for target in targets]
    bodies = [body for body in found if body is not None]
    return "\n".join(bodies) if len(bodies) == len(targets) else None


def _make_recipe(lines: list[str], target: str) -> str | None:
    """The lines with a tab below `target:`, and what stands behind a `;` on the rule's own line."""
    for number, line in enumerate(lines):
        names, colon, rest = line.partition(":")
        if line.startswith(("\t", "#")) or not colon or rest.startswith("="):
            continue
        if target in names.split():
            body = [rest.partition(";")[2].strip()] if ";" in rest else []
            body += _indented(lines[number + 1 :], "\t")
            if body:
                return "\n".join(body)
    return None


def _just_recipe(lines: list[str], target: str) -> str | None:
    rule = re.compile(rf"@?{re.escape(target)}(\s[^:]*)?:(?!=)")
    for number, line in enumerate(lines):
        if rule.match(line):
            return "\n".join(_indented(lines[number + 1 :], (" ", "\t"))) or None
    return None


def _indented(lines: Sequence[str], by: str | tuple[str, ...]) -> list[str]:
    body = []
    for line in lines:
        if line.startswith(by):
            body.append(line.strip())
        elif line.strip():
            break
    return body
