"""One turn: what `inference.driver.config` makes of DeepSeek's dialect, and the answer.

Thinking is on unless it is switched off. A call that was made with thinking must come back with its
`reasoning_content` in every later request, or the provider refuses it.
"""

from collections.abc import Mapping

from murmur_chat import turn
from murmur_chat.dialect import Dialect
from murmur_chat.settings import read_block, switch, word
from murmur_guest.exchange import Answer, Progress, Request
from murmur_guest.provider import Post

KEYS = ("thinking", "reasoning_effort")
EFFORTS = ("minimal", "low", "medium", "high", "xhigh", "max", "ultra")


def answer(
    request: Request, environment: Mapping[str, str], progress: Progress, post: Post
) -> Answer:
    """Answer one request. Raises DriverError."""
    return turn.answer(request, environment, progress, post, dialect(environment))


def dialect(environment: Mapping[str, str]) -> Dialect:
    """DeepSeek's, with the settings in it. Raises DriverError."""
    config = read_block(environment, KEYS)
    thinking = switch(config, "thinking")
    effort = word(config, "reasoning_effort", EFFORTS)
    kind = {True: "enabled", False: "disabled", None: None}[thinking]
    return Dialect(
        "DeepSeek",
        replays_reasoning=thinking is not False,
        members={
            "thinking": {"type": kind} if kind else None,
            "reasoning_effort": effort,
        },
        interruptions={"insufficient_system_resource": "it ran out of capacity within the turn"},
    )
