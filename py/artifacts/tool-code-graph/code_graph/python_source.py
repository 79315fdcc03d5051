"""Python, by its own parser."""

import ast
import re

from code_graph.facts import Facts, Reference, Symbol

_DOC = 200
_CHAIN = 1500
_MARKS = re.compile(
    r"(?P<quote>\"{3}|'{3})[\s\S]*?(?P=quote)|\"(?:[^\"\\\n]|\\.)*+\"|'(?:[^'\\\n]|\\.)*+'"
    r"|#[^\n]*|\\\n|[()\[\]{},:;\n]|[-+*/%&|^@.]"
)

# Its first call imports the rest of the module, and a running component has no library.
ast.unparse(ast.parse("first"))


def read_python(path: str, text: str) -> Facts:
    """The facts of one module; of one that does not parse only the file itself and why."""
    facts = Facts(path, "python")
    facts.symbols.append(Symbol("", "module", 1, text.count("\n") + 1))
    if _longest_chain(text) > _CHAIN:
        facts.problem = f"an expression of it has more than {_CHAIN} operators and calls in a row"
        return facts
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as problem:
        facts.problem = f"it does not parse: {problem}"
        return facts
    facts.symbols[0] = Symbol("", "module", 1, text.count("\n") + 1, doc=_doc(tree))
    try:
        _Reader(facts, path).visit(tree)
    except RecursionError:
        facts.problem = "it is nested too deep"
    return facts


def _longest_chain(text: str) -> int:
    """How many operators and calls the longest expression has, none of them inside the other's
    brackets: each nests what stands before it one deeper. The parser bounds other nesting itself,
    but walking this one exhausts a component's stack, which ends the call."""
    longest = 0
    counts = [0]
    for found in _MARKS.finditer(text):
        mark = found.group()
        if mark in "([{":
            counts[-1] += 1
            counts.append(0)
        elif mark in ")]}":
            if len(counts) > 1:
                counts.pop()
        elif mark in ",:;" or (mark == "\n" and len(counts) == 1):
            counts[-1] = 0
        elif len(mark) == 1 and mark != "\n":
            counts[-1] += 1
            longest = max(longest, counts[-1])
        longest = max(longest, counts[-1])
    return longest


class _Reader(ast.NodeVisitor):
    """Walks one module. `_owner` is the symbol that is being read."""

    def __init__(self, facts: Facts, path: str) -> None:
        self._facts = facts
        self._folder = path.split("/")[:-1]
        self._owner = ""
        self._kinds = {"": "module"}
        self._types: dict[str, str] = {}

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self._function(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        name = self._name(node.name)
        bases = ", ".join(map(ast.unparse, node.bases))
        self._define(node, name, "class", f"class {node.name}({bases})" if bases else node.name)
        for base in node.bases:
            self._refer(name, "inherits", base)
        for part in (*node.decorator_list, *node.bases, *node.keywords):
            self.visit(part)
        self._inside(name, node.body, self._types)

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            top = alias.name.partition(".")[0]
            self._facts.imports[alias.asname or top] = alias.name if alias.asname else top
            self._import(alias.name, node.lineno)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        module = node.module or ""
        if node.level:
            folder = self._folder[: len(self._folder) - node.level + 1]
            module = ".".join(filter(None, ("./" + "/".join(folder), module)))
        for alias in node.names:
            if alias.name == "*":
                self._import(module, node.lineno)
                continue
            self._facts.imports[alias.asname or alias.name] = f"{module}.{alias.name}"
            self._import(f"{module}.{alias.name}", node.lineno)

    def visit_Assign(self, node: ast.Assign) -> None:
        self.generic_visit(node)
        if isinstance(node.value, ast.Call) and isinstance(node.targets[0], ast.Name):
            made = _dotted(node.value.func)
            name = node.targets[0].id
            self._types.pop(name, None)
            if made and made[0] != name:
                self._types[name] = ".".join(made) + "()"

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self.generic_visit(node)
        if isinstance(node.target, ast.Name):
            self._type(node.target.id, node.annotation)

    def visit_Call(self, node: ast.Call) -> None:
        self._refer(self._owner, "calls", node.func)
        if isinstance(node.func, ast.Attribute):
            self.visit(node.func.value)
        elif not isinstance(node.func, ast.Name):
            self.visit(node.func)
        for part in (*node.args, *node.keywords):
            self.visit(part)

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            self._refer(self._owner, "uses", node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if isinstance(node.ctx, ast.Load) and _dotted(node):
            self._refer(self._owner, "uses", node)
        else:
            self.visit(node.value)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        if any(_dotted(each)[-1:] == ("overload",) for each in node.decorator_list):
            return  # what is defined comes after it
        name = self._name(node.name)
        kind = "method" if self._kinds[self._owner] == "class" else "function"
        returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
        signature = f"def {node.name}({ast.unparse(node.args)}){returns}"
        given = ".".join(_annotated(node.returns)) if node.returns else ""
        self._define(node, name, kind, signature, given)
        for decorator in node.decorator_list:
            self.visit(decorator)
        types = dict(self._types)
        outer, self._types = self._types, types
        arguments = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
        for argument in arguments:
            types.pop(argument.arg, None)
            if argument.annotation:
                self._type(argument.arg, argument.annotation)
        self._types = outer
        owner, self._owner = self._owner, name
        for argument in arguments:
            if argument.annotation:
                self.visit(argument.annotation)
        for default in (*node.args.defaults, *filter(None, node.args.kw_defaults)):
            self.visit(default)
        if node.returns:
            self.visit(node.returns)
        self._owner = owner
        self._inside(name, node.body, types)

    def _inside(self, name: str, body: list[ast.stmt], types: dict[str, str]) -> None:
        held = self._owner, self._types
        self._owner, self._types = name, types
        for statement in body:
            self.visit(statement)
        self._owner, self._types = held

    def _define(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, *facts: str
    ) -> None:
        name, kind, signature, *returns = facts
        first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
        end = node.end_lineno or node.lineno
        self._kinds[name] = kind
        self._facts.symbols.append(Symbol(name, kind, first, end, signature, _doc(node), *returns))

    def _name(self, name: str) -> str:
        return f"{self._owner}.{name}" if self._owner else name

    def _type(self, name: str, annotation: ast.expr) -> None:
        parts = _annotated(annotation)
        if parts:
            self._types[name] = ".".join(parts)

    def _refer(self, owner: str, kind: str, node: ast.expr) -> None:
        parts = _dotted(node)
        if not parts and isinstance(node, ast.Attribute):
            called = node.value.func if isinstance(node.value, ast.Call) else None
            above = isinstance(called, ast.Name) and called.id == "super"
            parts = ("super()" if above else "?", node.attr)
        if parts:
            typed = self._types.get(parts[0], "") if len(parts) > 1 else ""
            self._facts.references.append(Reference(owner, kind, parts, node.lineno, typed))

    def _import(self, module: str, line: int) -> None:
        self._facts.references.append(Reference(self._owner, "imports", (module,), line))


def _dotted(node: ast.expr) -> tuple[str, ...]:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return (node.id, *reversed(parts)) if isinstance(node, ast.Name) else ()


def _annotated(node: ast.expr) -> tuple[str, ...]:
    """The class that an annotation names, written out or as a string; of `X | None` it is X."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        parts = tuple(node.value.split("."))
        return parts if all(part.isidentifier() for part in parts) else ()
    if isinstance(node, ast.BinOp) and isinstance(node.right, ast.Constant):
        return _annotated(node.left) if node.right.value is None else ()
    return _dotted(node)


def _doc(node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    # Cleaning it would import inspect, which a running component has not.
    return (ast.get_docstring(node, clean=False) or "").strip().partition("\n")[0][:_DOC]
