"""What the harnesses' drivers share (spec/artifacts.md 5, 13.2)."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from murmur_harness import ending
from murmur_harness.asking import model_arguments, refuse_settings
from murmur_harness.contract import (
    ExitStatus,
    FailureKind,
    LaunchRequest,
    Note,
    Refused,
    Text,
    TurnEnd,
    TurnFailed,
)
from murmur_harness.lines import (
    DEEPEST,
    content_text,
    count,
    fraction,
    json_text,
    meaning,
    note,
    record,
    small_count,
    text,
)


def _kind(reason: str) -> FailureKind:
    return "auth" if "login" in reason else "harness-error"


def _verdict(exit: ExitStatus, reason: str = "") -> TurnEnd | TurnFailed:
    return ending.verdict("It", exit, "said", reason, _kind)


@pytest.mark.parametrize("line", ["", "plain", "[1]", "1", '"{}"', "{", "[" * 100_000, "9" * 9_000])
def test_a_line_that_is_no_object_is_no_record(line: str) -> None:
    assert record(line) is None


def test_a_line_is_read_as_deep_as_a_component_can() -> None:
    def nested(depth: int) -> str:
        return '{"a":' * depth + "1" + "}" * depth

    assert record(nested(DEEPEST)) is not None
    assert record(nested(DEEPEST + 1)) is None
    assert record(json.dumps({"a": [[], {}] * 500, "b": "[{" * 500 + '"\\'})) is not None
    assert record('{"a": "' + "[" * 500) is None


@given(st.dictionaries(st.text(), st.integers() | st.text() | st.none()))
def test_a_line_that_is_an_object_is_read(value: dict[str, object]) -> None:
    assert record(json.dumps(value)) == value


def test_a_line_without_a_meaning_is_a_note_and_a_blank_one_nothing() -> None:
    for line in ("plain", '{"a": 1}'):
        assert meaning(line, lambda _: None) == [Note(line)]
    assert meaning(" \t", lambda _: None) == []
    assert meaning('{"a": 1}', lambda said: [Text(str(said["a"]))]) == [Text("1")]
    assert meaning("{}", lambda _: []) == []


@given(st.text(st.characters(), max_size=2000))
def test_a_note_is_at_most_512_characters_that_utf_8_can_carry(said: str) -> None:
    noted = note(said).text

    assert len(noted) <= 512
    noted.encode()


def test_half_of_a_surrogate_pair_does_not_survive() -> None:
    halves = json.loads('{"a": "x\\ud800y"}')

    assert text(halves["a"]) == "x?y"
    assert json_text(halves) == '{"a":"x?y"}'


@given(st.none() | st.booleans() | st.floats() | st.integers() | st.text())
def test_a_count_is_a_whole_number_that_its_member_holds(value: object) -> None:
    for read, most in ((count, 2**64 - 1), (small_count, 2**32 - 1)):
        found = read(value)
        assert found is None or (type(value) is int and found == value and 0 <= found <= most)


@given(st.none() | st.booleans() | st.floats() | st.integers() | st.text())
def test_a_fraction_is_between_0_and_1_or_absent(value: object) -> None:
    found = fraction(value)

    assert found is None or 0 <= found <= 1


def test_what_a_tool_gave_is_its_text_blocks_and_the_names_of_others() -> None:
    blocks = [{"type": "text", "text": "a"}, {"type": "image", "data": "aGk="}, {}, 7]

    assert content_text(blocks) == "a\n[image]\n[unknown content]\n[unknown content]"
    assert content_text("whole") == "whole"
    assert content_text(None) == ""


def test_an_interrupted_run_is_canceled_however_it_ended() -> None:
    for exit in (ExitStatus(0, interrupted=True), ExitStatus(None, 9, "login", True, True)):
        assert _verdict(exit) == TurnFailed("canceled", "It was interrupted")


def test_a_run_that_said_its_last_word_and_ended_well_has_an_answer() -> None:
    assert _verdict(ExitStatus(0, saw_terminal=True)) == TurnEnd("said")


@pytest.mark.parametrize(
    ("exit", "reason", "failed"),
    [
        (ExitStatus(0), "", TurnFailed("harness-error", "It ended with status 0 and no result")),
        (
            ExitStatus(1, saw_terminal=True),
            "please login",
            TurnFailed("auth", "It ended with status 1 and no result: please login"),
        ),
        (
            ExitStatus(None, 9),
            "why",
            TurnFailed("harness-error", "It ended with signal 9 and no result: why"),
        ),
    ],
)
def test_a_run_that_ended_without_a_result_failed(
    exit: ExitStatus, reason: str, failed: TurnFailed
) -> None:
    assert _verdict(exit, reason) == failed


def test_the_end_of_what_a_program_said_is_on_one_line() -> None:
    assert ending.last_lines("a\n\n b \nc\nd\n") == "b; c; d"


@pytest.mark.parametrize("config", ['{"x":1}', "[]", '"x"'])
def test_settings_are_refused_where_there_are_none(config: str) -> None:
    asked = LaunchRequest(task="x", session_id="s", config=config)

    with pytest.raises(Refused, match=r"inference\.driver\.config: driver-x has no settings"):
        refuse_settings("driver-x", asked)


@pytest.mark.parametrize("config", [None, "", "{}", " {} ", "null"])
def test_an_empty_block_is_no_setting(config: str | None) -> None:
    refuse_settings("driver-x", LaunchRequest(task="x", session_id="s", config=config))


@pytest.mark.parametrize("model", [None, "", "  "])
def test_without_a_model_the_harness_chooses_its_own(model: str | None) -> None:
    assert model_arguments("-m", LaunchRequest(task="x", session_id="s", model=model)) == []
