"""One run of the whole table in one class, as whoever this process is. Prints JSON.

Started by harness.py as a process of its own, with a job on standard input: it may have to become
an ordinary user first, for good. What it needs is imported before that, since the modules may lie
where that user cannot read.
"""

import codecs
import dataclasses
import importlib
import importlib.util
import json
import os
import pkgutil
import re
import sys
import traceback
import types
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import murmur.core
import murmur.manifest
import murmur.sandbox
from murmur.sandbox.probe import CLASSES, read_host
from tests.conformance import rows_code, rows_files, rows_kernel, rows_network, rows_processes
from tests.conformance.prison import (
    INTERPRETER,
    SHELL,
    TIGHT,
    Prison,
    library,
    loader,
    unreachable,
    unrecognised_perl,
)
from tests.conformance.rows import ABSENT, ClassName, Row, unique
from tests.conformance.rows_resources import ATTEMPTS, CASES, NEED_SCOPE, runs
from tests.conformance.surroundings import AFTERWARDS, SEEN, Surroundings, goes_on, undumpable

INSIDE: Final = (
    *rows_processes.ROWS,
    *rows_files.ROWS,
    *rows_kernel.ROWS,
    *rows_network.ROWS,
)
BOUNDARY: Final = unique((*INSIDE, *rows_network.UNIX_ROWS, *rows_code.ROWS, *AFTERWARDS))
TABLE: Final = unique((*BOUNDARY, *CASES))

_ATTACK: Final = Path(__file__).with_name("attack.py").read_text()

_OF_THE_HOST: Final = re.compile(r'"(/(?:dev|proc/sys|proc/irq|sys)/[^"<{]+)"')

_CALLS: Final[dict[str, tuple[int, int]]] = {
    "memfd_create": (319, 279),
    "execveat": (322, 281),
    "openat": (257, 56),
    "mmap": (9, 222),
    "mprotect": (10, 226),
}


@dataclasses.dataclass(frozen=True, slots=True)
class Job:
    """What to do: `base` is a folder that belongs to `uid` (None: nobody is become), `join` the
    cgroups to enter before, `helper` a copy that everybody may execute."""

    class_: ClassName
    base: str
    helper: str
    uid: int | None
    join: tuple[str, ...]


def become(uid: int) -> None:
    """An ordinary user without a further group, for good."""
    for name in ("ascii", "idna", "latin-1"):  # imported where they are first used
        codecs.lookup(name)
    for package in (murmur.core, murmur.manifest, murmur.sandbox):
        _import_all(package)
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    os.environ["HOME"] = "/nonexistent"


def _import_all(package: types.ModuleType) -> None:
    """Loads what is imported late: the files may lie where the user to be cannot read."""
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        # A library that guests load lies among the modules and is none.
        spec = importlib.util.find_spec(found.name)
        if spec is not None and str(spec.origin).endswith(".py") and ".tests" not in found.name:
            importlib.import_module(found.name)


def attempt_all(job: Job) -> dict[str, Any]:
    """`{"refused": why}`, or `{"rows": {name: [result, control]}, "tier":, "hierarchy":}`."""
    for folder in job.join:
        Path(folder, "cgroup.procs").write_text(str(os.getpid()))
    if job.uid is not None:
        become(job.uid)
    undumpable()
    base, helper = Path(job.base), Path(job.helper)
    reading = read_host(helper)
    why = unreachable(reading, job.class_)
    if why is not None:
        return {"refused": why}
    make = _Maker(job.class_, helper, reading)
    seen: dict[str, tuple[object, object]] = {}
    prison = make.prison(base / "python", INTERPRETER)
    assert CLASSES[prison.policy.tier] == job.class_, prison.policy.tier
    around = Surroundings(prison)
    try:
        seen |= _inside(prison, INSIDE, around.facts)
        opted = make.prison(base / "unix", INTERPRETER, unix_sockets=True)
        try:
            facts = around.facts | {"base": opted.base}
            seen |= _inside(opted, rows_network.UNIX_ROWS, facts)
        finally:
            opted.close()
        seen |= _code(make, base)
        for row in AFTERWARDS:
            control = goes_on(prison, around)
            seen[row.name] = (SEEN[row.attempt](prison, around), control)
    finally:
        around.close()
        prison.close()
    for row in CASES:
        seen |= _resource(make, base / row.name, row)
    hierarchy = prison.scope.hierarchy if prison.scope is not None else prison.scope_refusal
    return {"rows": seen, "tier": prison.policy.tier, "scope": hierarchy}


@dataclasses.dataclass(frozen=True, slots=True)
class _Maker:
    class_: ClassName
    helper: Path
    reading: Any

    def prison(self, base: Path, tools: tuple[str, ...], **more: Any) -> Prison:
        return Prison(base, self.class_, self.helper, self.reading, tools, **more)


def _inside(
    prison: Prison, rows: Iterable[Row], facts: dict[str, object]
) -> dict[str, tuple[object, object]]:
    """One command tries all rows, each control right before its attack."""
    asked: dict[str, str] = {}
    chosen = tuple(rows)
    for row in chosen:
        asked[f"control {row.name}"] = row.control.attempt
        asked[row.name] = _filled(row.attempt, facts)
    (prison.work / "rows.json").write_text(json.dumps(asked))
    (prison.work / "attack.py").write_text(_ATTACK)
    result = prison.run("python3", "attack.py", timeout=120)
    assert result.exit_code == 0, result
    told = json.loads((prison.work / "results.json").read_text())
    return {
        row.name: (_refused(row, told[row.name]), told[f"control {row.name}"]) for row in chosen
    }


def _refused(row: Row, result: object) -> object:
    """The result; but what this host does not have is no proof of anything."""
    named = _OF_THE_HOST.search(row.attempt)
    if result == "ENOENT" and named is not None and not os.path.exists(named[1]):
        return ABSENT
    return result


def _filled(text: str, facts: dict[str, object]) -> str:
    for name, value in facts.items():
        text = text.replace(f"<{name}>", str(value))
    return text


def _code(make: _Maker, base: Path) -> dict[str, tuple[object, object]]:
    """The routes to code, in a session without a language runtime."""
    path = unrecognised_perl(base / "bin")
    if path is None:
        return {}
    prison = make.prison(base / "shell", (*SHELL, "runner"), path=path)
    machine = 0 if os.uname().machine == "x86_64" else 1
    facts: dict[str, object] = {name: numbers[machine] for name, numbers in _CALLS.items()}
    facts |= {"base": prison.base, "loader": loader(), "library": library()}
    seen: dict[str, tuple[object, object]] = {}
    try:
        assert prison.policy.workdir_noexec
        for row in rows_code.ROWS:
            control = _script(prison, _filled(row.control.attempt, facts))
            seen[row.name] = (_script(prison, _filled(row.attempt, facts)), control)
    finally:
        prison.close()
    return seen


def _script(prison: Prison, text: str) -> str:
    result = prison.run("sh", "-c", text, PERL_BADLANG="0")
    return result.stdout.decode("utf-8", "replace").strip()


def _resource(make: _Maker, base: Path, row: Row) -> dict[str, tuple[object, object]]:
    prison = make.prison(base, INTERPRETER, resources=TIGHT)
    try:
        if prison.scope is None and row.name in NEED_SCOPE:
            return {}
        control = runs(prison)
        return {row.name: (ATTEMPTS[row.attempt](prison), control)}
    finally:
        prison.close()


def main() -> int:
    job = json.load(sys.stdin)
    job["join"] = tuple(job["join"])
    try:
        print(json.dumps(attempt_all(Job(**job))))
    except Exception:
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
