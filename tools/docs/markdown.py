"""The few forms of Markdown that the pages use."""

from collections.abc import Iterable, Sequence


def cell(text: str) -> str:
    """Text that stands in one cell of a table; what would be a tag outside of code is no tag."""
    pieces = " ".join(text.replace("|", r"\|").split()).split("`")
    pieces[::2] = [piece.replace("<", r"\<") for piece in pieces[::2]]
    return "`".join(pieces)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A table's lines; nothing without rows."""
    lines = [f"| {' | '.join(cell(part) for part in row)} |" for row in rows]
    return [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}", *lines] if lines else []


def page(title: str, introduction: str, *parts: Iterable[str]) -> str:
    """A whole page. Parts are separated by blank lines."""
    blocks = [f"# {title}", introduction]
    blocks += ["\n".join(part) for part in parts]
    return "\n\n".join(block for block in blocks if block) + "\n"


MADE = (
    "<!-- Made by tools/docs from the code; change the code, then run "
    "`./bazelw run //tools/docs:generate`. -->"
)
