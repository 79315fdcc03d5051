"""Every reading command over traces that hold every event, compared whole.

`MURMUR_WRITE_GOLDEN=1` writes what is printed now over what was expected; look at the difference
before it is committed.
"""

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

import pytest

from murmur.core.diagnostics import MurmurError
from murmur.trace.aggregate import Report
from murmur.trace.comparing import compare
from murmur.trace.events import EVENTS
from murmur.trace.reader import read_trace
from murmur.trace.show.page import show
from murmur.trace.steps import steps
from tests.traces.corpus import write_corpus

GOLDEN: Final = Path(__file__).parent / "golden"


def _report(paths: Iterable[Path]) -> list[str]:
    report = Report()
    blocks = [line for path in paths for line in report.add(path)]
    return [*blocks, "", *report.lines("./workdir")]


COMMANDS: Final[dict[str, Callable[[dict[str, Path]], Iterable[str]]]] = {
    "show-whole": lambda paths: show(paths["whole"]),
    "show-bare": lambda paths: show(paths["bare"]),
    "show-killed": lambda paths: show(paths["killed"]),
    "show-torn": lambda paths: show(paths["torn"]),
    "steps-whole": lambda paths: steps(paths["whole"], verbose=True),
    "steps-bare": lambda paths: steps(paths["bare"], verbose=False),
    "steps-torn": lambda paths: steps(paths["torn"], verbose=False),
    "diff": lambda paths: compare(paths["whole"], paths["bare"]),
    "report": lambda paths: _report([paths["whole"], paths["bare"]]),
}


@pytest.fixture
def paths(tmp_path: Path) -> dict[str, Path]:
    return write_corpus(tmp_path)


@pytest.mark.parametrize("name", COMMANDS)
def test_what_is_printed_is_what_was_looked_at(name: str, paths: dict[str, Path]) -> None:
    printed = "\n".join(COMMANDS[name](paths)) + "\n"
    golden = GOLDEN / f"{name}.txt"
    if os.environ.get("MURMUR_WRITE_GOLDEN"):
        golden.write_text(printed)
    assert printed == golden.read_text()


def test_the_corpus_holds_every_event(paths: dict[str, Path]) -> None:
    for name in ("whole", "bare"):
        trace = read_trace(paths[name])
        assert {event["event_type"] for event in trace.events} == set(EVENTS)


@pytest.mark.parametrize("name", ["killed", "torn"])
def test_what_compares_totals_refuses_a_session_without_an_end(
    name: str, paths: dict[str, Path]
) -> None:
    commands: tuple[Callable[[], object], ...] = (
        lambda: list(compare(paths[name], paths["whole"])),
        lambda: Report().add(paths[name]),
    )
    for command in commands:
        with pytest.raises(MurmurError) as refused:
            command()
        assert refused.value.code == "E-TRC-001"
        assert str(paths[name]) in refused.value.diagnostic.message
