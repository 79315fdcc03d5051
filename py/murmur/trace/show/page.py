"""The whole of `mur trace show`: its sections in the order of the CLI reference, in one pass."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from murmur.core.home import Home
from murmur.trace.figures import Figures
from murmur.trace.formation import groups_searched, read_formation
from murmur.trace.lines import TraceLines, started
from murmur.trace.show.calls import (
    DeniedCalls,
    PulledAtRuntime,
    RedundantCalls,
    ShellCalls,
    SkillCalls,
    ToolCalls,
)
from murmur.trace.show.formation import formation_lines
from murmur.trace.show.frame import (
    ContextSection,
    HarnessSection,
    HookFailures,
    RetentionSection,
    SessionSection,
)
from murmur.trace.show.handed import A2A, Delegations, PeerFiles, Plans, ResourcePlane
from murmur.trace.show.section import Section
from murmur.trace.show.tasks import Cancelled, Failed, MemberCalls, Rejected, Reopens, Tasks
from murmur.trace.show.turns import (
    CallSettings,
    CompactionSection,
    TokensSection,
    TurnsSection,
    WireSection,
)


def show(path: Path, home: Home | None = None) -> Iterator[str]:
    """The lines that describe the session whose trace is `path`, sections apart by a blank one.

    The file is read whole before the first line is handed out. A member's formation is looked for
    from `home`. Raises E-TRC-001 as `started`.
    """
    figures = Figures(history=None)
    session = SessionSection(figures)
    sections: Sequence[Section] = (
        session,
        HarnessSection(),
        HookFailures(),
        RetentionSection(),
        ContextSection(),
        TurnsSection(figures),
        TokensSection(figures),
        WireSection(),
        ToolCalls(figures),
        RedundantCalls(),
        SkillCalls(figures),
        PulledAtRuntime(),
        ShellCalls(figures),
        DeniedCalls(),
        CompactionSection(figures),
        CallSettings(),
        Cancelled(),
        Rejected(),
        Failed(),
        Reopens(),
        ResourcePlane(),
        PeerFiles(),
        Delegations(),
        Plans(),
        A2A(),
        Tasks(),
        MemberCalls(),
    )
    lines = TraceLines(path)
    _read(lines, figures, sections)
    session.torn_line = lines.torn
    yield from _printed(sections)
    formation_id = (figures.start or {}).get("formation_id")
    if home is not None and isinstance(formation_id, str):
        own_group = path.absolute().parent.parent
        groups = groups_searched(home, [own_group], formation_id)
        yield ""
        yield from formation_lines(read_formation(formation_id, groups))


def show_formation(home: Home, roots: Sequence[Path], formation_id: str) -> Iterator[str]:
    """The members of a formation under the workdir roots given, and under its peers' own.

    Raises E-TRC-001, E-TRC-002 and E-IO-003 as `read_formation`.
    """
    groups = groups_searched(home, [home.records_group(root) for root in roots], formation_id)
    return formation_lines(read_formation(formation_id, groups))


def _read(lines: TraceLines, figures: Figures, sections: Sequence[Section]) -> None:
    takers: dict[str, list[Callable[[Mapping[str, Any]], None]]] = {}
    for section in sections:
        for kind in section.events:
            takers.setdefault(kind, []).append(section.take)
    for event in started(lines):
        figures.take(event)
        for take in takers.get(event.get("event_type", ""), ()):
            take(event)


def _printed(sections: Sequence[Section]) -> Iterator[str]:
    first = True
    for section in sections:
        for position, line in enumerate(section.lines()):
            if position == 0 and not first:
                yield ""
            first = False
            yield line
