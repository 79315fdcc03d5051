"""tool-request-input: one question, one answer (spec 16.3)."""

from __future__ import annotations

import json

import pytest
from input_tool.asking import PROMPT_CHARACTERS, ask


def test_the_answer_is_the_data() -> None:
    asked: list[str] = []

    def answer(prompt: str) -> str:
        asked.append(prompt)
        return "é\nyes"

    outcome = ask('{"prompt": "May I?"}', answer)

    assert (outcome.status, outcome.data, asked) == ("passed", "é\nyes", ["May I?"])


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (None, "prompt is missing"),
        ('{"prompt": 3}', "prompt is a number"),
        ('{"prompt": " \\n"}', "prompt is empty"),
        ('{"prompt": "x", "to": "y"}', "takes prompt, not to"),
        (json.dumps({"prompt": "x" * (PROMPT_CHARACTERS + 1)}), "at most 16384"),
        ("[]", "must be an object"),
    ],
)
def test_a_question_that_is_none_is_refused_and_asks_nobody(data: str | None, says: str) -> None:
    def nobody(prompt: str) -> str:
        raise AssertionError(prompt)

    outcome = ask(data, nobody)

    assert (outcome.status, json.loads(outcome.data)["error_kind"]) == ("error", "invalid_input")
    assert says in outcome.summary
