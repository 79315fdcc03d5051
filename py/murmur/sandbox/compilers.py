"""Whether a compiler driver reaches the programs that it runs (W-SEC-012, W-SEC-029).

A driver such as gcc is allowlisted by name and starts others that nobody names. Lying under /usr
makes them visible in a composed root, and not executable. spec/containment.md 15.4.
"""

import dataclasses
import hashlib
import os
import signal
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from murmur.core.safefs import Root
from murmur.sandbox import host_facts
from murmur.sandbox.binaries import inside, matches
from murmur.sandbox.host_facts import stamp

_C: Final = ("cc1", "cc1plus", "as", "ld", "collect2")
_CPLUSPLUS: Final = ("cc1plus", "as", "ld", "collect2")
DRIVERS: Final = {"cc": _C, "gcc": _C, "c++": _CPLUSPLUS, "g++": _CPLUSPLUS}
_TIMEOUT_S: Final = 10.0


@dataclasses.dataclass(frozen=True, slots=True)
class Uncovered:
    """A helper without a grant to execute it, and where it lies."""

    driver: str
    helper: str
    path: str


@dataclasses.dataclass(frozen=True, slots=True)
class Unprobed:
    """A driver that could not be asked: its helpers may or may not be covered."""

    driver: str
    helpers: tuple[str, ...]
    reason: str


@dataclasses.dataclass(frozen=True, slots=True)
class Compilers:
    """What was found; both empty where every helper that a driver has is covered."""

    uncovered: tuple[Uncovered, ...] = ()
    unprobed: tuple[Unprobed, ...] = ()


def examine_compilers(
    located: Mapping[str, str], folders: Iterable[str], search: str, facts: Root | None = None
) -> Compilers:
    """Asks every known driver among `located` (canonical paths by allowlist name).

    `folders` are the directories whose programs may be executed, `search` the operator's PATH, in
    which a driver looks for what it names without a directory. A helper that does not exist is
    nobody's loss. Answers are kept in `facts` where every helper is there to be looked at again.
    """
    uncovered: list[Uncovered] = []
    unprobed: list[Unprobed] = []
    granted = tuple(os.path.realpath(each) for each in folders)
    for driver, helpers in DRIVERS.items():
        if driver not in located:
            continue
        locations, failed = _answers(driver, located[driver], helpers, search, facts)
        if failed is not None:
            unprobed.append(failed)
        for helper, path in locations.items():
            if path and path not in located.values() and not inside(path, granted):
                uncovered.append(Uncovered(driver, helper, path))
    return Compilers(tuple(uncovered), tuple(unprobed))


def _answers(
    driver: str, path: str, helpers: Sequence[str], search: str, facts: Root | None
) -> tuple[dict[str, str], Unprobed | None]:
    """Where each helper of the driver at `path` is, empty for one that does not exist; and what
    could not be asked."""
    told = os.fsencode("\0".join(("compiler", path, search, *helpers)))
    record = hashlib.sha256(told).hexdigest() + ".json"
    if facts is not None and (kept := _kept(host_facts.load(facts, record), path)) is not None:
        return kept, None
    found: dict[str, str] = {}
    for index, helper in enumerate(helpers):
        answer, reason = _ask(path, helper, search)
        if reason:
            return found, Unprobed(driver, tuple(helpers[index:]), reason)
        found[helper] = _location(answer, search)
    if facts is not None and all(found.values()):
        rows = {helper: [each, stamp(each)] for helper, each in found.items()}
        host_facts.store(facts, record, {"driver": stamp(path), "helpers": rows})
    return found, None


def _kept(record: Any, path: str) -> dict[str, str] | None:
    """The locations in a record, if driver and helpers look as they did."""
    try:
        if record is None or record["driver"] != stamp(path):
            return None
        rows = {
            str(helper): (str(each), then) for helper, (each, then) in record["helpers"].items()
        }
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    if any(stamp(each) != then for each, then in rows.values()):
        return None
    return {helper: each for helper, (each, _) in rows.items()}


def _ask(driver: str, helper: str, search: str) -> tuple[str, str]:
    """(what the driver says, why it could not be asked)."""
    try:
        done = subprocess.run(
            [driver, f"-print-prog-name={helper}"],
            cwd="/",
            env={"PATH": search},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "", "it did not answer"
    except OSError as failure:
        return "", failure.strerror or str(failure)
    if done.returncode < 0:
        return "", f"it was ended by {signal.Signals(-done.returncode).name}"
    return os.fsdecode(done.stdout).strip(), ""


def _location(answer: str, search: str) -> str:
    """The canonical file that an answer stands for; empty where there is none."""
    if os.path.isabs(answer):
        return os.path.realpath(answer) if os.path.isfile(answer) else ""
    if not answer or "/" in answer or "\n" in answer:
        return ""
    folders: Sequence[str] = [each for each in search.split(":") if os.path.isabs(each)]
    return next(iter(matches(answer, folders, ()).values()), "")
