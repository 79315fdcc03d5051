"""Whether a run succeeded: its `result` line, or how it ended without one (spec/artifacts.md 13.6).

`subtype` alone says nothing: a rejected key ends as `success` with `is_error`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from murmur_harness import ending
from murmur_harness.contract import ExitStatus, FailureKind, TurnEnd, TurnFailed
from murmur_harness.ending import last_lines
from murmur_harness.lines import count, text

# What `error` of an assistant line says where the result carries no status: not logged in, for one.
_ASSISTANT_ERRORS: dict[str, FailureKind] = {
    "authentication_failed": "auth",
    "oauth_org_not_allowed": "auth",
    "billing_error": "quota",
    "rate_limit": "quota",
}
_ABORTED = ("aborted_streaming", "aborted_tools")
_LOGIN_WORDS = ("/login", "invalid api key", "not logged in", "oauth token")


def of_result(result: Mapping[str, Any], assistant_error: str) -> TurnEnd | TurnFailed:
    """The verdict of a `result` line; `assistant_error` is that of the last message before it."""
    if result.get("is_error") is False:
        return TurnEnd(text(result.get("result")))
    return TurnFailed(_kind(result, assistant_error), _message(result))


def of_exit(exit: ExitStatus, said: str) -> TurnEnd | TurnFailed:
    """The verdict of an end without a `result` line, after the text that was said last."""
    return ending.verdict("Claude Code", exit, said, last_lines(exit.stderr_tail), _kind_of_stderr)


def _kind_of_stderr(stderr: str) -> FailureKind:
    spoken = stderr.lower()
    return "auth" if any(words in spoken for words in _LOGIN_WORDS) else "harness-error"


def _kind(result: Mapping[str, Any], assistant_error: str) -> FailureKind:
    status = count(result.get("api_error_status"))
    if status in (401, 403):
        return "auth"
    if status == 429:
        return "quota"
    if result.get("terminal_reason") in _ABORTED:
        return "canceled"
    if result.get("subtype") == "error_max_turns":
        return "max-turns"
    if status is None:
        return _ASSISTANT_ERRORS.get(assistant_error, "harness-error")
    return "harness-error"


def _message(result: Mapping[str, Any]) -> str:
    errors = result.get("errors")
    listed = [text(error) for error in errors] if isinstance(errors, list) else []
    said = text(result.get("result")) or "; ".join(error for error in listed if error)
    return said or f"Claude Code reported {text(result.get('subtype')) or 'an error'}"
