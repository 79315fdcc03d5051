"""The check of a call against `filesystem.read_only`, as the gate of every dispatch asks it.

spec/sessions.md 11.2, step 2, and 26. Only calls that surely write are refused; how that is told
stands in `murmur.read_only`.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from murmur.read_only.check import Write, shell_write, tool_write
from murmur.read_only.declarations import Declarations, read_declarations
from murmur.read_only.subtrees import subtrees
from murmur.session.inventory import Tool, ToolKind
from murmur.session.shell_text import BadCommand, read_command
from murmur.session.stage import Staged


def protection_of(staged: Staged) -> "Protection | None":
    """The check of a session's calls; None for a capsule that declares no read-only paths."""
    rules = staged.capsule.capabilities.read_only
    if not rules:
        return None
    scopes = {name: each.scope for name, each in staged.prepared.grants.items()}
    return Protection(str(staged.directories.work), rules, staged.tools.values(), scopes)


# Tools of artifacts, whose inputs are judged by their names and their schema.
_JUDGED: Final = (ToolKind.WASM, ToolKind.NATIVE)


class Protection:
    """The read-only subtrees of one work folder, and what its tools declare about their inputs."""

    def __init__(
        self,
        workdir: str,
        rules: Iterable[str],
        tools: Iterable[Tool],
        scopes: Mapping[str, str | None],
    ) -> None:
        """`scopes` are the folders that artifacts see as `.`, by full name, below the workdir."""
        self._subtrees = subtrees(workdir, rules)
        self._declared: dict[str, Declarations] = {}
        self._bases: dict[str, str] = {}
        for tool in tools:
            self.add(tool, None if tool.artifact is None else scopes.get(tool.artifact))

    def add(self, tool: Tool, scope: str | None) -> None:
        """Learns what a tool declares, and the folder that it sees, as the constructor's."""
        if tool.kind not in _JUDGED:
            return
        self._declared[tool.name] = read_declarations(tool.schema)
        if tool.kind is ToolKind.WASM and scope is not None:
            self._bases[tool.name] = os.path.join(self._subtrees.workdir, scope)

    def write_of_command(self, binary: str, argv: Sequence[str]) -> Write | None:
        """The write below a read-only path that a program with these arguments would make."""
        return shell_write(self._subtrees, binary, argv)

    def write_of(self, tool: Tool, arguments: object) -> Write | None:
        """The write below a read-only path that a call would make; None when none is certain."""
        if tool.kind is ToolKind.SHELL:
            try:
                command = read_command(tool.name, arguments)
            except BadCommand:
                return None
            return shell_write(self._subtrees, command.binary, command.argv)
        if tool.kind in _JUDGED:
            return tool_write(
                self._subtrees, self._declared[tool.name], arguments, self._bases.get(tool.name)
            )
        return None
