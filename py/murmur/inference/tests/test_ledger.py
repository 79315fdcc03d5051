"""The machine's spend ledger: days, lines, what crashes leave. spec/sessions.md 20."""

import datetime
import json
import multiprocessing
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from murmur.core.diagnostics import MurmurError
from murmur.core.home import Home
from murmur.inference.ledger import SpendLedger, check_ledger, day_file, open_ledger

NOON = int(datetime.datetime(2026, 3, 1, 12, tzinfo=datetime.UTC).timestamp() * 1000)
DAY_MS = 86_400_000


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


@pytest.fixture
def ledger(home: Home) -> Iterator[SpendLedger]:
    with open_ledger(home, NOON) as opened:
        yield opened


def test_a_settled_call_is_one_line_of_its_utc_day(ledger: SpendLedger, home: Home) -> None:
    ledger.charge(NOON, "ses_1", 10, 5)
    ledger.charge(NOON + DAY_MS, "ses_1", 1, 1)
    path = home.spend / "2026-03-01.jsonl"
    assert path.read_text() == (
        f'{{"ts":{NOON},"session_id":"ses_1","input_tokens":10,"output_tokens":5}}\n'
    )
    assert (stat.S_IMODE(home.spend.stat().st_mode), stat.S_IMODE(path.stat().st_mode)) == (
        0o700,
        0o600,
    )
    assert (ledger.used(NOON), ledger.used(NOON + DAY_MS), ledger.used(NOON)) == (15, 2, 15)
    assert ledger.used(NOON + 2 * DAY_MS) == 0


def test_what_another_run_adds_is_counted_at_the_next_question(
    ledger: SpendLedger, home: Home
) -> None:
    assert ledger.used(NOON) == 0
    with open_ledger(home, NOON) as other:
        other.charge(NOON, "ses_2", 7, 0)
        assert ledger.used(NOON) == 7
        other.charge(NOON, "ses_2", 0, 3)
    assert ledger.used(NOON) == 10


@pytest.mark.parametrize(
    "left",
    [b'{"ts":1,"session_id":"ses_0","input_tok', b"\xff\n", b"[]\n", b'{"input_tokens":true}\n'],
)
def test_what_a_crash_left_of_a_line_neither_counts_nor_spoils_the_next(
    ledger: SpendLedger, home: Home, left: bytes
) -> None:
    (home.spend / day_file(NOON)).write_bytes(left)
    assert ledger.used(NOON) == 0
    ledger.charge(NOON, "ses_1", 4, 2)
    assert ledger.used(NOON) == 6
    assert json.loads((home.spend / day_file(NOON)).read_bytes().splitlines()[-1])


def test_a_file_that_was_replaced_or_cut_short_is_read_anew(
    ledger: SpendLedger, home: Home
) -> None:
    path = home.spend / day_file(NOON)
    ledger.charge(NOON, "ses_1", 100, 100)
    assert ledger.used(NOON) == 200
    path.write_text('{"input_tokens":3,"output_tokens":0}\n')
    assert ledger.used(NOON) == 3
    path.unlink()
    assert ledger.used(NOON) == 0


def test_opening_removes_day_files_older_than_30_days_and_nothing_else(home: Home) -> None:
    home.spend.mkdir()
    names = ("2026-01-29.jsonl", "2026-01-30.jsonl", "2025-99-01.jsonl", "notes", "2020-01-01.json")
    for name in names:
        (home.spend / name).write_text("")
    with open_ledger(home, NOON):
        left = sorted(path.name for path in home.spend.iterdir())
    assert left == sorted([*names[1:], day_file(NOON)])


def _add(root: Path, times: int) -> None:
    with open_ledger(Home(root), NOON) as ledger:
        for _ in range(times):
            ledger.charge(NOON, f"ses_{os.getpid()}", 2, 1)


def test_runs_that_add_at_the_same_time_lose_nothing(ledger: SpendLedger, tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    runs = [context.Process(target=_add, args=(tmp_path, 200)) for _ in range(4)]
    for each in runs:
        each.start()
    for each in runs:
        each.join(30)
        assert each.exitcode == 0
    assert ledger.used(NOON) == 4 * 200 * 3


@pytest.mark.parametrize("target", ["spend", "spend/" + day_file(NOON)])
def test_e_run_026_names_what_cannot_be_used_and_follows_no_link(home: Home, target: str) -> None:
    elsewhere = home.root / "elsewhere"
    elsewhere.mkdir()
    path = home.root / target
    path.parent.mkdir(exist_ok=True)
    path.symlink_to(elsewhere)
    for use in (open_ledger, check_ledger):
        with pytest.raises(MurmurError) as refused:
            use(home, NOON)
        assert refused.value.code == "E-RUN-026" and str(path) in refused.value.message
    assert list(elsewhere.iterdir()) == []


def test_looking_whether_it_can_be_used_makes_nothing(home: Home) -> None:
    check_ledger(home, NOON)
    assert list(home.root.iterdir()) == []
    home.spend.mkdir()
    check_ledger(home, NOON)
    assert list(home.spend.iterdir()) == []
