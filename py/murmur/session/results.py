"""The agent's answer on disk: `out/result.txt`. spec/sessions.md 12.1."""

from murmur.core.safefs import Root


def write_result(records: Root, text: str) -> None:
    """Replaces `out/result.txt` in the records directory."""
    records.write_atomic("out/result.txt", text.encode("utf-8", "replace"))


def capped(text: str, cap: int) -> str:
    """A truncated answer with the marker that says which limit cut it."""
    return f"{text}\n\n[cut: the answer reached inference.max_tokens ({cap} tokens)]"
