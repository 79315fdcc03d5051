"""Ids sort by the moment they were made: spec/sessions.md 1."""

import time

import pytest

from murmur.core.ids import id_time_ms, is_id, new_id


def test_an_id_is_a_prefix_and_a_uuid_7() -> None:
    made = new_id("ses")
    assert is_id(made, "ses") and not is_id(made, "tsk")
    digits = made.removeprefix("ses_")
    assert digits[12] == "7"
    assert digits[16] in "89ab"


def test_ids_made_one_after_another_strictly_ascend() -> None:
    made = [new_id("tsk") for _ in range(20_000)]
    assert made == sorted(set(made))


def test_the_time_of_an_id_is_read_back() -> None:
    before = time.time_ns() // 1_000_000
    assert before <= id_time_ms(new_id("ses")) <= before + 5_000
    with pytest.raises(ValueError):
        id_time_ms("ses_short")
