"""A small coverage-guided fuzzer: inputs that reach new lines are kept and changed further.

It needs nothing but the interpreter, so that the target runs wherever the rest does.
"""

import random
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any, Final

_LONGEST: Final = 16_384


@dataclass(slots=True)
class Report:
    """What a run found out. `crashes` are inputs with what they raised."""

    executions: int = 0
    corpus: int = 0
    edges: int = 0
    slowest_seconds: float = 0.0
    crashes: list[tuple[bytes, BaseException]] = field(default_factory=list)


class _Coverage:
    """The pairs of consecutive lines that were run in modules below one package."""

    def __init__(self, packages: Sequence[str]) -> None:
        self._packages = tuple(f"/{package}/" for package in packages)
        self._watched: dict[CodeType, bool] = {}
        self.seen: set[tuple[int, int, int]] = set()
        self.grew = False

    def __enter__(self) -> None:
        self.grew = False
        sys.settrace(self._call)

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)

    def _call(self, frame: FrameType, event: str, argument: Any) -> Any:
        code = frame.f_code
        watched = self._watched.get(code)
        if watched is None:
            path = code.co_filename
            watched = any(package in path for package in self._packages)
            self._watched[code] = watched
        if not watched:
            return None
        last = 0
        key = id(code)

        def line(inner: FrameType, event: str, argument: Any) -> Any:
            nonlocal last
            if event == "line":
                edge = (key, last, inner.f_lineno)
                last = inner.f_lineno
                if edge not in self.seen:
                    self.seen.add(edge)
                    self.grew = True
            return line

        return line


def _mutate(
    chance: random.Random, data: bytes, corpus: Sequence[bytes], words: list[bytes]
) -> bytes:
    changed = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 3, 6))):
        at = chance.randrange(len(changed) + 1)
        end = min(len(changed), at + chance.choice((1, 1, 4, 16, 64)))
        match chance.randrange(7):
            case 0:
                changed[at:at] = chance.choice(words)
            case 1:
                changed[at:end] = chance.choice(words)
            case 2:
                del changed[at:end]
            case 3:
                changed[at:at] = changed[at:end] * chance.choice((1, 2, 50))
            case 4:
                other = chance.choice(corpus)
                start = chance.randrange(len(other) + 1)
                changed[at:at] = other[start : start + chance.choice((8, 64, 512))]
            case 5:
                changed[at:end] = chance.randbytes(end - at)
            case _:
                lines = bytes(changed).split(b"\n")
                one, two = chance.randrange(len(lines)), chance.randrange(len(lines))
                lines[one], lines[two] = lines[two], lines[one]
                changed = bytearray(b"\n".join(lines))
    return bytes(changed[:_LONGEST])


def run(
    check: Callable[[bytes], None],
    seeds: Iterable[bytes],
    words: list[bytes],
    packages: Sequence[str],
    *,
    seconds: float,
    seed: int,
) -> Report:
    """Fuzzes `check` for that long; ends early at the tenth crash."""
    chance = random.Random(seed)
    coverage = _Coverage(packages)
    report = Report()
    corpus = list(seeds)
    waiting = list(corpus)
    until = time.monotonic() + seconds
    while time.monotonic() < until and len(report.crashes) < 10:
        data = waiting.pop() if waiting else _mutate(chance, chance.choice(corpus), corpus, words)
        began = time.process_time()
        try:
            with coverage:
                check(data)
        except Exception as crash:
            report.crashes.append((data, crash))
        report.slowest_seconds = max(report.slowest_seconds, time.process_time() - began)
        report.executions += 1
        if coverage.grew:
            corpus.append(data)
    report.corpus, report.edges = len(corpus), len(coverage.seen)
    return report
