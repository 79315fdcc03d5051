"""The escape table, row by row. spec/containment.md 26; `python -m tests.conformance.harness`
prints it without pytest."""

import sys

import pytest

from tests.conformance.attempts import BOUNDARY, TABLE
from tests.conformance.harness import USERS, Run, User, exit_status, render
from tests.conformance.rows import (
    CLASSES,
    ClassName,
    Control,
    Observed,
    Row,
    held,
    part,
    unique,
    verdict,
)
from tests.conformance.rows_resources import CASES, NEED_SCOPE

from .conftest import Runner

LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the helper's home")

# spec/containment.md 26.1 and 26.2, word for word but for the six system calls of one row.
DOCUMENTED = (
    "read-etc-shadow", "write-outside-workdir", "stat-outside-workdir", "symlink-escape",
    "hardlink-escape", "rename-across-boundary", "proc-self-cwd-reopen", "proc-pid-root-reopen",
    "proc-self-fd-reopen", "inherited-fd-after-exec", "mknod-block-device-in-workdir",
    "exec-renamed-disallowed-binary", "connect-unlisted-tcp-host", "udp-exfiltration",
    "dns-exfiltration", "abstract-unix-socket-connect", "pathname-unix-socket-connect",
    "syscall-io-uring-setup", "syscall-userfaultfd", "syscall-bpf", "syscall-open-by-handle-at",
    "syscall-perf-event-open", "syscall-keyctl", "fork-bomb", "disk-filler-per-file",
    "disk-filler-aggregate", "memory-hog", "fd-exhauster",
)  # fmt: skip


def test_every_case_of_the_reference_has_its_row() -> None:
    names = {row.name for row in TABLE}
    assert set(DOCUMENTED) <= names
    assert set(NEED_SCOPE) <= {row.name for row in CASES}


@LINUX
@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("class_", CLASSES)
def test_an_attack_comes_to_what_is_documented(
    runner: Runner, class_: ClassName, user: User, row: Row
) -> None:
    run = runner(class_, user)
    if run.refused:
        pytest.skip(f"INCONCLUSIVE: {run.refused}")
    assert not run.failed, run.failed
    seen = run.rows.get(row.name)
    if seen is None and row.name in NEED_SCOPE and run.scope not in ("v1", "v2"):
        pytest.skip(f"INCONCLUSIVE: no cgroup scope: {run.scope}")
    assert held(row, class_, seen), f"{verdict(row, class_, seen)}: {seen}, {row}"


ROW = Row(
    "reading",
    "open it",
    Control("open mine", "opened"),
    {"advisory": None, "scoped": ("EACCES", "ENOENT"), "sealed": "ENOENT"},
)


@pytest.mark.parametrize(
    ("class_", "seen", "told", "good"),
    [
        ("scoped", Observed("EACCES", "opened"), "REFUSED EACCES", True),
        ("sealed", Observed("EACCES", "opened"), "OTHER EACCES", False),
        ("scoped", Observed("opened", "opened"), "OTHER opened", False),
        ("scoped", Observed("EACCES", "EACCES"), "INCONCLUSIVE", False),
        ("scoped", None, "INCONCLUSIVE", False),
        ("scoped", Observed("ABSENT", "opened"), "ABSENT", True),
    ],
)
def test_a_verdict_needs_its_control(
    class_: ClassName, seen: Observed | None, told: str, good: bool
) -> None:
    assert verdict(ROW, class_, seen) == told
    assert held(ROW, class_, seen) is good


def test_what_only_landlock_holds_is_not_asserted_without_it() -> None:
    (row,) = part(ROW.control, {"x": ("open it", "EACCES")}, holds="landlock")
    assert verdict(row, "advisory", Observed("opened", "opened")) == "- opened"
    assert verdict(row, "scoped", Observed("opened", "opened")) == "OTHER opened"
    with pytest.raises(ValueError, match="x"):
        unique((row, row))


def test_the_exit_status_tells_what_failed() -> None:
    good = {row.name: Observed(row.allowed("scoped")[0], row.control.comes_to) for row in TABLE}
    whole = Run("scoped", "root", good, "Full", "v1")
    escaped = Run("scoped", "root", good | {BOUNDARY[0].name: Observed("opened", "opened")})
    unbounded = Run("scoped", "root", good | {CASES[0].name: Observed("UNCONTAINED", 0)})
    assert exit_status([whole]) == 0
    assert exit_status([Run("scoped", "root", refused="no")]) == 2
    assert exit_status([whole, Run("scoped", "root", failed="it broke")]) == 1
    assert exit_status([whole, escaped]) == 3
    assert exit_status([whole, unbounded]) == 4
    text = render([whole, escaped, Run("sealed", "root", refused="no pivot_root")])
    assert f"NOT AS DOCUMENTED  scoped/root {BOUNDARY[0].name}: OTHER opened" in text
    assert "sealed/root: not run: no pivot_root" in text
    assert text.endswith(f"verdict: {len(TABLE)} rows in 2 runs, 1 not as documented")
