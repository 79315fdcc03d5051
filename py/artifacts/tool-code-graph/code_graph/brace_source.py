"""C, Go, JavaScript with TypeScript, and Rust: what they define and call, by words and braces.

No parser: a definition is known by how it begins and by the braces after it, a call by a name
before a parenthesis. What macros, decorators or templates make is not seen.
"""

import bisect
import re
from collections.abc import Iterator

from code_graph.blanking import blanked, blocks
from code_graph.facts import Facts, Reference, Symbol

_HEADER = 2000
_NAME = r"(?P<name>[A-Za-z_$][\w$]*)"
# Each is tried at every place; `owner` is the type that a definition belongs to.
_DEFINITIONS: dict[str, dict[str, str]] = {
    "c": {
        "function": rf"^[A-Za-z_][\w \t*]{{0,200}}?[\s*]{_NAME}[ \t]*(?=\()",
        "struct": rf"^(?:typedef[ \t]+)?struct[ \t]+{_NAME}",
        "union": rf"^(?:typedef[ \t]+)?union[ \t]+{_NAME}",
        "enum": rf"^(?:typedef[ \t]+)?enum[ \t]+{_NAME}",
    },
    "go": {
        "function": rf"^func[ \t]+{_NAME}",
        "method": r"^func[ \t]+\([^)\n]{0,100}?\*?(?P<owner>\w+)(?:\[[^\]\n]*\])?\)"
        rf"[ \t]*{_NAME}",
        "struct": rf"^[ \t]*(?:type[ \t]+)?{_NAME}(?:\[[^\]\n]*\])?[ \t]+struct[ \t]*(?=\{{)",
        "interface": rf"^[ \t]*(?:type[ \t]+)?{_NAME}(?:\[[^\]\n]*\])?[ \t]+interface[ \t]*(?=\{{)",
    },
    "javascript": {
        "function": rf"\bfunction\b[ \t]*\*?[ \t]*{_NAME}",
        "class": rf"\bclass[ \t]+{_NAME}(?:[^\n{{]*?\bextends[ \t]+(?P<base>[\w$.]+))?",
        "interface": rf"^[ \t]*(?:export[ \t]+)?interface[ \t]+{_NAME}",
        "enum": rf"^[ \t]*(?:export[ \t]+)?(?:const[ \t]+)?enum[ \t]+{_NAME}",
        "value": rf"\b(?:const|let|var)[ \t]+{_NAME}[^=\n;]{{0,100}}=[ \t]*(?:async\b[ \t]*)?"
        r"(?:function\b|\([^;{}]{0,300}?\)[^={;\n]{0,80}=>[ \t]*(?=\{)|[\w$]+[ \t]*=>[ \t]*(?=\{))",
        "method": r"^[ \t]*(?:(?:public|private|protected|static|async|get|set|override)[ \t]+|\*"
        rf"[ \t]*|#)*{_NAME}[ \t]*(?:<[^>\n]*>)?(?=\()",
    },
    "rust": {
        "function": rf"\bfn[ \t]+{_NAME}",
        "struct": rf"\bstruct[ \t]+{_NAME}",
        "enum": rf"\benum[ \t]+{_NAME}",
        "trait": rf"\btrait[ \t]+{_NAME}",
        "module": rf"\bmod[ \t]+{_NAME}(?=[ \t]*\{{)",
        "impl": rf"^[ \t]*(?:unsafe[ \t]+)?impl\b(?:<[^{{\n]*?>)?[^{{\n]*?{_NAME}(?:<[^{{\n]*>)?"
        r"[ \t\n]*(?=\{|where\b)",
    },
}
_COMPILED = {
    language: {kind: re.compile(text, re.MULTILINE) for kind, text in kinds.items()}
    for language, kinds in _DEFINITIONS.items()
}
_TYPES = ("struct", "class", "interface", "trait", "impl", "enum")
_CALL = re.compile(r"(?:(?P<before>[\w$]+)[ \t]*(?:\.|::|->)[ \t]*)?(?P<name>[A-Za-z_$][\w$]*)\(")
_WORDS = frozenset(
    (
        *("if", "for", "while", "switch", "return", "sizeof", "catch", "function", "func", "fn"),
        *("match", "loop", "else", "do", "new", "typeof", "await", "in", "let", "super", "import"),
        *("defined", "defer", "go", "select", "range", "make", "len", "append", "case", "throw"),
    )
)
_ANONYMOUS = re.compile(r"\b(?:interface|struct)[ \t]*$")
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"(?P<path>[^"\n]+)"', re.MULTILINE)
_FROM = re.compile(r"""(?:\bfrom|\brequire\(|\bimport\(?)[ \t]*['"](?P<path>\.[^'"\n]*)['"]""")
_IMPORTS = {"c": _INCLUDE, "javascript": _FROM}


def read_braces(path: str, text: str, language: str) -> Facts:
    """The facts of one file."""
    facts = Facts(path, language)
    lines = _Lines(text)
    facts.symbols.append(Symbol("", "module", 1, lines.at(len(text))))
    for found in _IMPORTS[language].finditer(text) if language in _IMPORTS else ():
        place = _joined(path, found["path"])
        facts.references.append(Reference("", "imports", (place,), lines.at(found.start("path"))))
    code = blanked(text, language)
    spans = sorted(_definitions(code, language))
    heads = {start for start, *_ in spans}
    named: list[tuple[int, int, str]] = []
    for start, end, kind, name, owner, base in spans:
        above = owner or _innermost(named, start)
        full = f"{above}.{name}" if above and kind != "impl" else name
        named.append((start, end, full))
        if kind == "impl":
            continue
        kind = "method" if kind == "function" and above else kind
        opened = code.find("{", start)
        signature = " ".join(text[code.rfind("\n", 0, start) + 1 : opened].split())[:200]
        facts.symbols.append(Symbol(full, kind, lines.at(start), lines.at(end - 1), signature))
        if base:
            inherits = Reference(full, "inherits", tuple(base.split(".")), lines.at(start))
            facts.references.append(inherits)
    _calls(facts, code, named, heads, lines)
    return facts


def _definitions(code: str, language: str) -> Iterator[tuple[int, int, str, str, str, str]]:
    """Where each name stands, where its body ends, its kind, name, owner and base."""
    ends = blocks(code)
    types = [
        (opened, ends[opened])
        for kind in ("class", "interface")
        if kind in _COMPILED[language]
        for found in _COMPILED[language][kind].finditer(code)
        if (opened := _body(code, found.end(), ends)) is not None
    ]
    inner = _Depths(ends)
    for kind, pattern in _COMPILED[language].items():
        for found in pattern.finditer(code):
            start, name = found.start("name"), found["name"]
            opened = _body(code, found.end(), ends)
            if opened is None or name in _WORDS:
                continue
            if language == "c" and inner.at(start) is not None:
                continue
            if language == "javascript" and kind == "method":
                enclosing = inner.at(start)
                if enclosing is None or all(enclosing != each for each, _ in types):
                    continue
            groups = found.groupdict()
            owner, base = groups.get("owner") or "", groups.get("base") or ""
            shown = "function" if kind == "value" else kind
            yield start, ends[opened], shown, name, owner, base


def _body(code: str, at: int, ends: dict[int, int]) -> int | None:
    """The brace that opens the body of what is defined before `at`; None for a declaration."""
    depth, first = 0, at
    limit = min(len(code), at + _HEADER)
    while at < limit:
        character = code[at]
        if character in "([":
            depth += 1
        elif character in ")]":
            depth -= 1
            if depth < 0:
                return None
        elif character == "{":
            anonymous = at > first and _ANONYMOUS.search(code, max(at - 20, 0), at)
            if depth == 0 and not anonymous:
                return at
            at = ends[at]
            continue
        elif character in ";}=" and depth == 0 and code[at : at + 2] != "=>":
            return None
        at += 1
    return None


def _calls(
    facts: Facts, code: str, named: list[tuple[int, int, str]], heads: set[int], lines: "_Lines"
) -> None:
    for found in _CALL.finditer(code):
        if found["name"] in _WORDS or found.start("name") in heads:
            continue
        owner = _innermost(named, found.start())
        if facts.language == "c" and not owner:
            continue  # a declaration
        before = found["before"]
        parts = (before, found["name"]) if before else (found["name"],)
        line = lines.at(found.start())
        facts.references.append(Reference(owner, "calls", parts, line))


def _innermost(named: list[tuple[int, int, str]], at: int) -> str:
    """The last definition that begins before `at` and has not ended there."""
    place = bisect.bisect_right(named, (at, len(named) and 1 << 60, ""))
    for start, end, name in reversed(named[max(0, place - 200) : place]):
        if start <= at < end:
            return name
    return ""


def _joined(path: str, other: str) -> str:
    parts = path.split("/")[:-1]
    for part in other.split("/"):
        if part == "..":
            parts = parts[:-1]
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


class _Lines:
    """The line of a place in a text."""

    def __init__(self, text: str) -> None:
        self._starts = [0, *(found.end() for found in re.finditer("\n", text))]

    def at(self, place: int) -> int:
        return bisect.bisect_right(self._starts, place)


class _Depths:
    """The innermost open brace at a place."""

    def __init__(self, ends: dict[int, int]) -> None:
        self._changes: list[tuple[int, int | None]] = []
        opened: list[int] = []
        marks = [(start, True) for start in ends] + [(end, False) for end in ends.values()]
        for place, opens in sorted(marks):
            if opens:
                opened.append(place)
            elif opened:
                opened.pop()
            self._changes.append((place, opened[-1] if opened else None))
        self._places = [place for place, _ in self._changes]

    def at(self, place: int) -> int | None:
        found = bisect.bisect_right(self._places, place) - 1
        return self._changes[found][1] if found >= 0 else None
