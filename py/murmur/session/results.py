"""The agent's answer on disk: `out/result.txt`. spec/sessions.md 12.1."""

from typing import Final

from murmur.core.safefs import Root

RESULT: Final = "out/result.txt"


def result_of(task_id: str) -> str:
    """A task's own copy of its result, kept under `lifecycle.conversation: threaded`."""
    return f"out/result_{task_id}.txt"


def write_result(records: Root, text: str, name: str = RESULT) -> None:
    """Replaces a result file in the records directory."""
    records.write_atomic(name, text.encode("utf-8", "replace"))


def capped(text: str, cap: int) -> str:
    """A truncated answer with the marker that says which limit cut it."""
    return f"{text}\n\n[cut: the answer reached inference.max_tokens ({cap} tokens)]"
