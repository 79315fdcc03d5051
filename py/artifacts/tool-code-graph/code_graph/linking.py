"""From what files refer to, to the symbols that they mean.

Python names are looked up as Python does: in the scopes around them, then among the imports,
through packages that only pass a name on; attributes of `self` and of variables of a known class in
that class and its bases. Where that finds nothing, a method or function that is the only one of its
name in its language is taken, and the edge says so.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from code_graph.facts import Facts, Reference, Symbol

Edge = tuple[str, str, str, int, str]
_HOPS = 10
_DEFINED = ("function", "method", "class", "struct", "interface", "trait", "enum", "union")


class Linker:
    """The symbols of all files, and what refers to them."""

    def __init__(self, files: Sequence[Facts]) -> None:
        self._files = {facts.path: facts for facts in files}
        self.ids: dict[tuple[str, int], str] = {}
        self._first: dict[tuple[str, str], str] = {}
        self._kinds: dict[str, str] = {}
        self._places: dict[str, tuple[str, str]] = {}
        self._by_name: dict[tuple[str, str], list[str]] = defaultdict(list)
        self._bases: dict[str, list[Reference]] = defaultdict(list)
        self._returns: dict[str, str] = {}
        self._modules: dict[str, str] = {}
        for facts in files:
            self._take(facts)
        self._name_modules()

    def edges(self) -> Iterator[Edge]:
        """Every edge, in the order of files and references."""
        for facts in self._files.values():
            for symbol in facts.symbols[1:]:
                above = symbol.name.rpartition(".")[0]
                holder = self._first.get((facts.path, above), self._first[facts.path, ""])
                here = self._first[facts.path, symbol.name]
                if holder != here:
                    yield holder, here, "contains", symbol.line, "exact"
            for reference in facts.references:
                source = self._first.get((facts.path, reference.owner))
                target, certainty = self._meant(facts, reference)
                if source is not None and target is not None and source != target:
                    yield source, target, reference.kind, reference.line, certainty

    def _take(self, facts: Facts) -> None:
        seen: dict[str, int] = defaultdict(int)
        for place, symbol in enumerate(facts.symbols):
            seen[symbol.name] += 1
            again = f"~{seen[symbol.name]}" if seen[symbol.name] > 1 else ""
            named = f"{facts.path}#{symbol.name}{again}" if symbol.name else facts.path + again
            self.ids[facts.path, place] = named
            self._first.setdefault((facts.path, symbol.name), named)
            self._kinds[named] = symbol.kind
            self._returns[named] = symbol.returns
            self._places[named] = (facts.path, symbol.name)
            if symbol.kind in _DEFINED:
                short = symbol.name.rpartition(".")[2]
                self._by_name[facts.language, short].append(named)
        for reference in facts.references:
            if reference.kind == "inherits":
                self._bases[self._first[facts.path, reference.owner]].append(reference)

    def _name_modules(self) -> None:
        """What each Python file is called, from its package's top and from the repository's."""
        for path, facts in self._files.items():
            if facts.language != "python":
                continue
            parts = path.removesuffix(".py").split("/")
            folder = parts[:-1]
            top = len(folder)
            while top and "/".join([*folder[:top], "__init__.py"]) in self._files:
                top -= 1
            if parts[-1] == "__init__":
                parts = parts[:-1]
            self._modules.setdefault(".".join(parts), path)
            self._modules.setdefault(".".join(parts[top:]), path)
            # As relative imports name it, each from its own folder.
            self._modules["./" + "/".join(parts)] = path
            for count in range(len(parts)):
                own = ".".join(["./" + "/".join(parts[:count]), *parts[count:]])
                self._modules[own] = path

    def _meant(self, facts: Facts, reference: Reference) -> tuple[str | None, str]:
        if facts.language != "python":
            return self._in_braces(facts, reference)
        if reference.kind == "imports":
            return self._dotted(reference.parts[0], _HOPS), "exact"
        first, *rest = reference.parts
        found: str | None = None
        if first in ("self", "cls", "super()") and rest:
            found = self._of_self(facts, reference.owner, first, rest[0])
        elif reference.typed and len(rest) == 1:
            kind = self._class_of(facts, reference)
            found = self._member(kind, rest[0], _HOPS) if kind else None
        if found is None and first != "?":
            found = self._named(facts, reference.owner, list(reference.parts))
        if found is None and reference.kind == "calls" and rest and first not in facts.imports:
            candidates = self._by_name["python", rest[-1]]
            if len(candidates) == 1 and self._kinds[candidates[0]] == "method":
                return candidates[0], "name"
        return found, "exact"

    def _class_of(self, facts: Facts, reference: Reference) -> str | None:
        """The class that the reference's first part is of."""
        parts = reference.typed.removesuffix("()").split(".")
        if parts[0] in ("self", "cls") and len(parts) == 2:
            found = self._of_self(facts, reference.owner, parts[0], parts[1])
        else:
            found = self._named(facts, reference.owner, parts)
        if found is None or self._kinds[found] == "class":
            return found
        returns = self._returns.get(found)
        if not returns or not reference.typed.endswith("()"):
            return None
        path, owner = self._places[found]
        return self._named(self._files[path], owner, returns.split("."))

    def _of_self(self, facts: Facts, owner: str, first: str, name: str) -> str | None:
        while owner:
            holder = self._first.get((facts.path, owner))
            if holder is not None and self._kinds[holder] == "class":
                if first != "super()":
                    return self._member(holder, name, _HOPS)
                return self._inherited(holder, name, _HOPS)
            owner = owner.rpartition(".")[0]
        return None

    def _named(self, facts: Facts, owner: str, parts: list[str]) -> str | None:
        """What a dotted name means in the scope of `owner`."""
        scope = owner
        while True:
            holder = self._first.get((facts.path, scope))
            # A class's names are not seen from inside its methods.
            if holder is not None and (self._kinds[holder] != "class" or scope == owner):
                name = f"{scope}.{parts[0]}" if scope else parts[0]
                found = self._first.get((facts.path, name))
                if found is not None and name != owner:
                    return self._attributes(found, parts[1:])
            if not scope:
                break
            scope = scope.rpartition(".")[0]
        imported = facts.imports.get(parts[0])
        if imported is None:
            return None
        return self._dotted(".".join([imported, *parts[1:]]), _HOPS)

    def _attributes(self, found: str, names: Sequence[str]) -> str | None:
        for name in names:
            member = self._member(found, name, _HOPS)
            if member is None:
                return None
            found = member
        return found

    def _dotted(self, name: str, hops: int) -> str | None:
        """What an absolute dotted name means, through modules that pass it on."""
        if hops == 0:
            return None
        parts = _parts(name)
        for count in range(len(parts), 0, -1):
            path = self._modules.get(".".join(parts[:count]))
            if path is None:
                continue
            rest = parts[count:]
            if not rest:
                return self._first[path, ""]
            found = self._first.get((path, rest[0]))
            if found is not None:
                return self._attributes(found, rest[1:])
            passed = self._files[path].imports.get(rest[0])
            if passed is None:
                return None
            return self._dotted(".".join([passed, *rest[1:]]), hops - 1)
        return None

    def _member(self, holder: str, name: str, hops: int) -> str | None:
        path, owner = self._places[holder]
        found = self._first.get((path, f"{owner}.{name}" if owner else name))
        return found if found is not None else self._inherited(holder, name, hops)

    def _inherited(self, holder: str, name: str, hops: int) -> str | None:
        if hops == 0:
            return None
        path, owner = self._places[holder]
        for base in self._bases.get(holder, ()):
            above = owner.rpartition(".")[0]
            kind = self._named(self._files[path], above, list(base.parts))
            if kind is not None and kind != holder:
                found = self._member(kind, name, hops - 1)
                if found is not None:
                    return found
        return None

    def _in_braces(self, facts: Facts, reference: Reference) -> tuple[str | None, str]:
        if reference.kind == "imports":
            return self._file(facts, reference.parts[0]), "exact"
        name = reference.parts[-1]
        if len(reference.parts) == 2:
            holder = reference.parts[0]
            if holder in ("self", "this", "Self"):
                holder = reference.owner.rpartition(".")[0]
            qualified = [
                each
                for each in self._by_name[facts.language, name]
                if self._places[each][1] == f"{holder}.{name}"
                or self._places[each][0].split("/")[:-1][-1:] == [holder]
            ]
            if len(qualified) == 1:
                return qualified[0], "exact"
        else:
            found = self._first.get((facts.path, name))
            if found is not None:
                return found, "exact"
        candidates = self._by_name[facts.language, name]
        return (candidates[0] if len(candidates) == 1 else None), "name"

    def _file(self, facts: Facts, path: str) -> str | None:
        tails = ("", ".js", ".ts", ".tsx", ".jsx", ".mjs", "/index.js", "/index.ts")
        for tail in tails:
            if path + tail in self._files:
                return self._first[path + tail, ""]
        if facts.language == "c":
            # An include path is not known here: a file of that name is meant if there is one.
            name = "/" + path.rpartition("/")[2]
            found = [each for each in self._files if f"/{each}".endswith(name)]
            return self._first[found[0], ""] if len(found) == 1 else None
        return None


def _parts(name: str) -> list[str]:
    """`./a/b.c` is the name or module c in the folder a/b below the repository."""
    if not name.startswith("./"):
        return name.split(".")
    head, *rest = name[2:].split(".")
    folder = "./" + head
    return [folder, *rest]


def rows(
    files: Sequence[Facts], ids: Mapping[tuple[str, int], str]
) -> Iterator[tuple[str, str, str, str, int, int, str, str]]:
    """The symbols as the database has them."""
    for facts in files:
        for place, each in enumerate(facts.symbols):
            yield _row(ids[facts.path, place], facts.path, each)


def _row(named: str, path: str, each: Symbol) -> tuple[str, str, str, str, int, int, str, str]:
    name = each.name or path
    return named, path, name, each.kind, each.line, each.end, each.signature, each.doc
