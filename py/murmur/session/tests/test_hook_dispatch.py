"""Who is called at an event, and what of their answers counts. spec/artifacts.md 15.2 to 15.6."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from murmur.core.safefs import Root, open_root
from murmur.guest.questions import (
    CONVERSATION_INTERFACE,
    INFERENCE_INTERFACE,
    TASK_IO_INTERFACE,
    TOKENS_INTERFACE,
    Err,
    Ok,
    Value,
)
from murmur.manifest.grants import Capabilities, ReadGrant
from murmur.session.hooks.answers import Fault, Output
from murmur.session.hooks.contracts import Handler
from murmur.session.hooks.dispatch import Committed, CompactionAnswer, Denial
from murmur.session.hooks.imports import Imports
from murmur.session.hooks.scope import Scope
from murmur.session.tests.hooked import Script, ask, hook, hooks_of, log_of
from murmur.session.tests.scripted import SESSION_START
from murmur.trace.reader import read_trace
from murmur.trace.writer import TraceWriter

EVENT: Mapping[str, Any] = {"turn": 0}


@pytest.fixture
def records(tmp_path: Path) -> Iterator[Root]:
    (tmp_path / "logs").mkdir()
    with open_root(tmp_path) as root:
        yield root


def _faults(hooks: Any, records: Root, folder: Path) -> list[tuple[str, str, str]]:
    """The `hook_dispatch_error` lines that the session's end writes."""
    trace = TraceWriter(records, "ses_1")
    trace.write("session_start", **SESSION_START)
    hooks.drain()
    hooks.flush(trace)
    trace.close()
    return [
        (str(line["hook_name"]), str(line["event"]), str(line["arm"]))
        for line in read_trace(folder / "trace.jsonl").events[1:]
    ]


def test_hooks_are_called_in_order_where_their_binding_says(records: Root) -> None:
    script = Script()
    staged = [hook("a"), hook("b", binding="on-inference"), hook("c", binding="on-task-end")]
    hooks = hooks_of(script, staged, records)
    hooks.observe("on-inference", lambda: EVENT)
    assert script.names("on-inference") == ["a", "b"]
    assert hooks.hear("on-task-end") and hooks.hear("on-stage")


def test_an_event_that_nobody_hears_is_not_made(records: Root) -> None:
    hooks = hooks_of(Script(), [hook("a", binding="on-shell")], records)
    assert hooks.observe("on-inference", lambda: pytest.fail("made")) == []
    assert not hooks.hear("on-inference")


HONOURED: Sequence[tuple[Handler, str, str]] = (
    ("on-task-start", "seed-context", "seed-context"),
    ("on-inference", "artifact", "none"),
    ("on-compaction", "replace-context", "replace-context"),
    ("on-task-end", "reopen-task", "reopen-task"),
)


@pytest.mark.parametrize(("handler", "arm", "policy"), HONOURED)
def test_each_event_honours_its_one_arm(
    records: Root, tmp_path: Path, handler: Handler, arm: str, policy: str
) -> None:
    script = Script().on("a", handler, Output(arm, "1")).on("b", handler, Output(arm, "2"))
    staged = [hook("a", policy=policy), hook("b", policy=policy)]
    hooks = hooks_of(script, staged, records)
    assert hooks.observe(handler, lambda: EVENT) == [Committed("a", "1"), Committed("b", "2")]
    assert hooks.first(handler, lambda: EVENT) == Committed("a", "1")
    assert _faults(hooks, records, tmp_path) == []


@pytest.mark.parametrize(
    ("handler", "arm", "policy"),
    [
        *[(handler, "deny", "none") for handler in ("on-session-start", "on-shell")],
        ("on-session-end", "artifact", "none"),
        ("on-task-start", "seed-context", "none"),
        ("on-task-start", "reopen-task", "reopen-task"),
        ("on-task-end", "reopen-task", "seed-context"),
        ("on-inference", "seed-context", "seed-context"),
    ],
)
def test_any_other_arm_is_a_fault_in_log_and_trace(
    records: Root, tmp_path: Path, handler: Handler, arm: str, policy: str
) -> None:
    script = Script().on("h", handler, Output(arm, "x"))
    hooks = hooks_of(script, [hook(policy=policy)], records)
    assert hooks.observe(handler, lambda: EVENT) == []
    assert _faults(hooks, records, tmp_path) == [("h", handler, arm)]
    assert f"{handler}: its {arm} is not honoured" in log_of(tmp_path)


def test_a_blocking_hooks_error_is_a_line_in_its_log_alone(records: Root, tmp_path: Path) -> None:
    script = Script().on("h", "on-inference", Fault("broken\nand more"))
    hooks = hooks_of(script, [hook(), hook("next")], records)
    assert hooks.observe("on-inference", lambda: EVENT) == []
    assert script.names("on-inference") == ["h", "next"]
    assert log_of(tmp_path).endswith("on-inference: broken and more\n")
    assert log_of(tmp_path, "next") == ""
    assert _faults(hooks, records, tmp_path) == []


def test_a_handler_that_a_hook_has_not_says_nothing(records: Root, tmp_path: Path) -> None:
    hooks = hooks_of(Script().on("h", "on-task-end", None), [hook()], records)
    assert hooks.observe("on-task-end", lambda: EVENT) == []
    assert log_of(tmp_path) == ""


def test_any_compaction_error_wins_over_a_replacement(records: Root) -> None:
    script = Script().on("a", "on-compaction", Output("replace-context", []))
    staged = [hook("a", policy="replace-context"), hook("b")]
    assert hooks_of(script, staged, records).compact(lambda: EVENT) == CompactionAnswer(
        Committed("a", []), None
    )
    script.on("b", "on-compaction", Fault("no"))
    assert hooks_of(script, staged, records).compact(lambda: EVENT) == CompactionAnswer(
        Committed("a", []), Committed("b", "no")
    )


def _policy(name: str = "h") -> Any:
    return hook(name, binding="on-shell", policy="deny")


def test_only_policy_hooks_decide_and_the_first_refusal_is_the_last_question(
    records: Root,
) -> None:
    script = Script().on("b", "on-shell", Output("deny", "not that")).on("c", "on-shell", None)
    staged = [hook("a"), _policy("b"), _policy("c")]
    hooks = hooks_of(script, staged, records)
    assert hooks.decides("on-shell") and not hooks.decides("on-tool-call")
    denial = hooks.refusal("on-shell", EVENT)
    assert denial == Denial("b", "not that")
    assert "not that" in denial.text and "unchanged is refused again" in denial.text
    assert script.names("on-shell") == ["b"]


def test_a_clean_none_lets_a_call_proceed(records: Root) -> None:
    assert hooks_of(Script(), [_policy()], records).refusal("on-shell", EVENT) is None


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Output("deny", " "), "it gave no reason"),
        (Fault("trapped"), "it could not decide about it (trapped)"),
        (Output("artifact", "{}"), "it could not decide about it (it answered artifact)"),
        (None, "it could not decide about it (it has no on-shell)"),
    ],
)
def test_a_policy_hook_that_cannot_decide_refuses(
    records: Root, answer: Output | Fault | None, said: str
) -> None:
    script = Script().on("h", "on-shell", answer)
    assert hooks_of(script, [_policy()], records).refusal("on-shell", EVENT) == Denial("h", said)


def test_a_denial_after_the_call_is_no_longer_one(records: Root, tmp_path: Path) -> None:
    script = Script().on("h", "on-shell", Output("deny", "late"))
    hooks = hooks_of(script, [_policy()], records)
    assert hooks.observe("on-shell", lambda: EVENT) == []
    assert _faults(hooks, records, tmp_path) == [("h", "on-shell", "deny")]


def test_an_async_hook_holds_nobody_up_and_its_output_counts_for_nothing(
    records: Root, tmp_path: Path
) -> None:
    gate = threading.Event()

    def slow(event: Mapping[str, Any], answering: Any) -> Output:
        assert gate.wait(10)
        return Output("artifact", "{}")

    script = Script().on("h", "on-inference", slow)
    hooks = hooks_of(script, [hook(mode="async")], records)
    assert hooks.observe("on-inference", lambda: EVENT) == []
    gate.set()
    assert _faults(hooks, records, tmp_path) == []
    assert script.names("on-inference") == ["h"]


def test_an_async_hooks_error_is_in_the_trace_too(records: Root, tmp_path: Path) -> None:
    script = Script().on("h", "on-shell", Fault("broken"))
    hooks = hooks_of(script, [hook(mode="async")], records)
    hooks.observe("on-shell", lambda: EVENT)
    assert _faults(hooks, records, tmp_path) == [("h", "on-shell", "error")]
    assert "on-shell: broken" in log_of(tmp_path)


def test_a_rejected_commitment_is_a_fault_of_its_arm(records: Root, tmp_path: Path) -> None:
    hooks = hooks_of(Script(), [hook()], records)
    hooks.reject("h", "on-task-start", "seed-rejected", "its seed: no_budget")
    assert _faults(hooks, records, tmp_path) == [("h", "on-task-start", "seed-rejected")]


READS = Capabilities(task_io=ReadGrant(True), conversation=ReadGrant(True))
DECLINED = Capabilities(task_io=ReadGrant(False), conversation=ReadGrant(False))


def _answering(granted: Capabilities | None, stored: Sequence[str] = ()) -> Any:
    scope = Scope()
    scope.begin_task("tsk_1", "ctx_1")
    scope.begin_attempt("task", "task", threading.Event())
    record = [
        {"id": f"msg_{text}", "role": "user", "content": [{"type": "text", "text": text}]}
        for text in stored
    ]

    def read(context_id: str) -> Any:
        assert context_id == "ctx_1"
        return record

    imports = Imports(scope, None, read)
    return imports.answering(hook(granted=granted), "on-inference")


@pytest.mark.parametrize("granted", [None, DECLINED])
def test_what_is_not_granted_answers_so(granted: Capabilities | None) -> None:
    answering = _answering(granted)
    assert ask(answering, TASK_IO_INTERFACE, "input-len", "original") == Err("not-granted")
    assert ask(answering, CONVERSATION_INTERFACE, "read-messages", None, 5) == Err("not-granted")


def test_what_is_granted_is_read() -> None:
    answering = _answering(READS)
    assert ask(answering, TASK_IO_INTERFACE, "input-len", "original") == Ok(4)
    assert ask(answering, CONVERSATION_INTERFACE, "read-messages", None, 5) == Ok(
        {"messages": [], "next-cursor": None, "total": 0}
    )


def test_tokens_are_counted_for_anybody() -> None:
    assert ask(_answering(None), TOKENS_INTERFACE, "count", "hello world") == Value(2)


def test_without_a_running_http_session_no_model_is_called() -> None:
    answer = ask(_answering(None), INFERENCE_INTERFACE, "run-inference", {})
    assert isinstance(answer, Err) and "inference.driver.artifact" in answer.value


def _page(answering: Any, cursor: str | None, limit: int) -> tuple[list[str], str | None]:
    answer = ask(answering, CONVERSATION_INTERFACE, "read-messages", cursor, limit)
    assert isinstance(answer, Ok)
    return [each["id"] for each in answer.value["messages"]], answer.value["next-cursor"]


def test_a_record_is_read_newest_first_and_appends_leave_the_cursor_true() -> None:
    answering = _answering(READS, ["a", "b", "c", "d", "e"])
    ids, cursor = _page(answering, None, 2)
    assert ids == ["msg_e", "msg_d"]
    assert _page(answering, cursor, 2) == (["msg_c", "msg_b"], "mc_1")
    assert _page(answering, "mc_1", 2) == (["msg_a"], None)
    assert _page(answering, None, 0)[0] == ["msg_e"]
    assert len(_page(_answering(READS, ["x"] * 300), None, 1000)[0]) == 100


@pytest.mark.parametrize("cursor", ["1", "mc_", "mc_x", "mc_-1", "mc_6", "mc_²"])
def test_a_cursor_of_another_kind_is_refused(cursor: str) -> None:
    answering = _answering(READS, ["a", "b", "c", "d", "e"])
    answer = ask(answering, CONVERSATION_INTERFACE, "read-messages", cursor, 1)
    assert answer == Err("invalid-cursor")


def test_a_record_that_cannot_be_read_is_unavailable() -> None:
    def read(context_id: str) -> Any:
        raise OSError(13, "Permission denied")

    scope = Scope()
    scope.begin_task("tsk_1", "ctx_1")
    answering = Imports(scope, None, read).answering(hook(granted=READS), "on-inference")
    answer = ask(answering, CONVERSATION_INTERFACE, "read-messages", None, 1)
    assert answer == Err("unavailable: Permission denied")
