"""Repeated timings and how they are shown."""

import statistics
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Timing:
    """Milliseconds of each repetition of one thing."""

    name: str
    samples: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.samples)

    @property
    def spread(self) -> str:
        """The fastest and the ninth of ten."""
        ordered = sorted(self.samples)
        return f"{ordered[0]:.2f} … {ordered[int(len(ordered) * 0.9)]:.2f}"


@dataclass(frozen=True, slots=True)
class Row:
    """One thing of ours and what stands beside it; `missing` says what could not be measured."""

    ours: Timing
    beside: tuple[Timing, ...] = ()
    missing: tuple[str, ...] = ()


def repeat(name: str, times: int, once: Callable[[], float], warm_up: int = 1) -> Timing:
    """Times `once`, which returns seconds, after `warm_up` uncounted runs."""
    for _ in range(warm_up):
        once()
    return Timing(name, tuple(once() * 1000 for _ in range(times)))


def timed(action: Callable[[], object]) -> Callable[[], float]:
    """An action as something that `repeat` takes."""

    def once() -> float:
        begun = time.perf_counter()
        action()
        return time.perf_counter() - begun

    return once


class Unmeasurable(Exception):
    """What was to be timed did not work; the message is what it said."""


def program(argv: Sequence[str], env: Mapping[str, str] | None = None) -> Callable[[], float]:
    """Starting a program and waiting for it. Raises Unmeasurable when it fails."""

    def run() -> None:
        nothing = subprocess.DEVNULL
        code = subprocess.run(argv, env=env, stdin=nothing, stdout=nothing).returncode
        if code:
            raise Unmeasurable(f"{argv[0]} ended with {code}")

    return timed(run)


def show(rows: Sequence[Row]) -> str:
    """The table: medians in milliseconds, and how often ours contains what stands beside it."""
    lines = [f"{'':42}{'median ms':>10}   {'fastest … 90%':<20}{'ours / this':>12}"]
    for row in rows:
        lines.append(f"{row.ours.name:42}{row.ours.median:10.2f}   {row.ours.spread:<20}")
        for other in row.beside:
            ratio = row.ours.median / other.median
            lines.append(
                f"    {other.name:38}{other.median:10.2f}   {other.spread:<20}{ratio:11.2f}x"
            )
        lines += [f"    {reason}" for reason in row.missing]
    return "\n".join(lines)
