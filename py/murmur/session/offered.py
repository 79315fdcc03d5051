"""The list of tools that is sent to the model, and when it follows what can be called.

spec/sessions.md 11.1 and 15.9; spec/formations-and-newer-manifest.md A9 (`inference.tool_refresh`).
A tool that was pulled can be called at once. Under `compaction` the list stays as it was until a
compaction has replaced the context, since a changed list ends what providers keep of a prompt.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

from murmur.session.inventory import Tool
from murmur.trace.writer import TraceWriter


class OfferedTools:
    """What the model is told of, names ascending; `callable_now` is read to renew the list."""

    def __init__(
        self,
        callable_now: Mapping[str, Tool],
        when: Literal["compaction", "immediate"],
        trace: TraceWriter,
    ) -> None:
        self._callable = callable_now
        self._when = when
        self._trace = trace
        self._due = False
        self._tools = self._now()
        self._declarations = _declared(self._tools)

    @property
    def declarations(self) -> Sequence[Mapping[str, object]]:
        """The `tools` of a driver request; the same object until the list changes."""
        return self._declarations

    def compacted(self) -> None:
        """A compaction replaced a context: the next turn may be sent another list."""
        self._due = True

    def renew(self, turn: int, task_id: str | None) -> None:
        """Before a turn: takes over what changed, with its line, where that is due."""
        if self._when == "compaction" and not self._due:
            return
        self._due = False
        tools = self._now()
        if tools == self._tools:
            return
        before, now = ({tool.name for tool in each} for each in (self._tools, tools))
        self._tools, self._declarations = tools, _declared(tools)
        self._trace.write(
            "tools_refreshed",
            turn=turn,
            task_id=task_id,
            trigger=self._when,
            added=sorted(now - before),
            removed=sorted(before - now),
            tools=sorted(now),
        )

    def _now(self) -> tuple[Tool, ...]:
        return tuple(sorted(dict(self._callable).values(), key=lambda tool: tool.name))


def _declared(tools: Sequence[Tool]) -> tuple[Mapping[str, object], ...]:
    return tuple(tool.declaration() for tool in tools)
