"""One question and its answer (spec 16.3)."""

from collections.abc import Callable

from murmur_tooling.members import ToolError, invalid, read_plain
from murmur_tooling.outcome import Outcome, refused

PROMPT_CHARACTERS = 16 * 1024


def ask(data: str | None, request_input: Callable[[str], str]) -> Outcome:
    """Ask `prompt` by `request_input`. The result's data is the answer as it was given, no JSON."""
    try:
        prompt = read_plain(data, ("prompt",)).text("prompt")
        if not prompt.strip():
            raise invalid("prompt is empty; it must be the question")
        if len(prompt) > PROMPT_CHARACTERS:
            raise invalid(
                f"prompt is {len(prompt)} characters long; at most {PROMPT_CHARACTERS} are asked"
            )
    except ToolError as problem:
        return refused(problem)
    answer = request_input(prompt)
    return Outcome("passed", "answered", answer, metadata=(("state_effect", "read"),))
