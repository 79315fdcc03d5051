"""The parts of `transport: process` that need no harness. spec/artifacts.md 5 and 13."""

import json
import os
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmur.core.diagnostics import MurmurError
from murmur.core.foreign_json import read_json
from murmur.core.home import Home
from murmur.manifest.capsule import Capsule
from murmur.manifest.grants import Capabilities, NameGrant
from murmur.manifest.inference import Inference
from murmur.session.harness.contract import (
    BadValue,
    Called,
    CallProgress,
    Quota,
    Text,
    TurnFailed,
    Usage,
    description_of,
    event_of,
    plan_of,
)
from murmur.session.harness.inbox import Inbox, Lines, LineSplitter
from murmur.session.harness.load import _env_allow
from murmur.session.harness.program import (
    interpreter_names,
    native_loaders,
    program_folder,
    programs,
)
from murmur.session.harness.sessions import HarnessSessions
from murmur.session.harness.usage import grown, highest, together
from murmur.session.harness.version import judge
from murmur.session.history import Keeping

DESCRIPTION = {
    "harness": "Claude Code",
    "binary": "claude",
    "version-args": ["--version"],
    "tested-versions": ["2.0.14"],
    "interrupt": "stdin-message",
    "required-env": ["HOME"],
    "streams-text": True,
    "reports-usage": False,
}
PLAN = {
    "args": ["--config", "{files_dir}/c.json"],
    "env-set": [("CONFIG", "{files_dir}")],
    "files": [{"name": "c.json", "contents": "{}"}],
    "stdin": b"go\n",
    "keep-stdin-open": True,
    "interrupt-stdin": None,
}


def test_a_description_is_read_member_by_member() -> None:
    found = description_of(DESCRIPTION)
    assert (found.binary, found.version_args, found.required_env) == (
        "claude", ("--version",), ("HOME",),
    )  # fmt: skip
    assert found.interrupt == "stdin-message" and not found.reports_usage


@pytest.mark.parametrize("name", ["", "A=B", "A\0B"])
def test_no_environment_has_such_a_variable(name: str) -> None:
    with pytest.raises(BadValue, match="required-env"):
        description_of({**DESCRIPTION, "required-env": ["HOME", name]})


def test_the_folder_of_the_files_is_put_into_arguments_and_variables() -> None:
    plan = plan_of(PLAN).placed("/run/files")
    assert plan.args == ("--config", "/run/files/c.json")
    assert plan.env_set == (("CONFIG", "/run/files"),)
    assert plan.files == (("c.json", "{}"),)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"files": [{"name": "../c", "contents": ""}]}, "'../c'"),
        ({"files": [{"name": "c", "contents": ""}] * 2}, "twice"),
        ({"files": [{"name": "c" * 256, "contents": ""}]}, "255 bytes"),
        ({"files": [{"name": "..", "contents": ""}]}, "'..'"),
        ({"files": [{"name": "a/b", "contents": ""}]}, "'a/b'"),
        ({"files": [{"name": "a\0b", "contents": ""}]}, "no name of a file"),
        ({"env-set": [("A", "a\0b")]}, "no environment"),
        ({"env-set": [("A=B", "")]}, "'A=B'"),
        ({"args": ["a\0b"]}, "NUL"),
        ({"args": None}, "args"),
    ],
    ids=[
        "climbing",
        "twice",
        "long",
        "parent",
        "path",
        "name-nul",
        "value-nul",
        "variable",
        "argument",
        "missing",
    ],
)
def test_a_plan_by_which_nothing_can_be_started_is_refused(
    change: dict[str, Any], named: str
) -> None:
    values = {**PLAN, **change}
    if values["args"] is None:
        del values["args"]
    with pytest.raises(BadValue, match=named):
        plan_of(values)


def test_events_are_read_by_their_case() -> None:
    assert event_of(("text", "hello")) == Text("hello")
    called = ("tool-call", {"id": "1", "name": "t", "input": "{}"})
    assert event_of(called) == Called("1", "t", "{}")
    progress = ("tool-call-progress", {"id": "1", "input-bytes": 5})
    assert event_of(progress) == CallProgress("1", 5)
    failed = ("turn-failed", {"kind": "auth", "message": "no"})
    assert event_of(failed) == TurnFailed("auth", "no")
    quota = {"name": "w", "used": 0.5, "resets-at": None, "window-minutes": 5, "state": None}
    assert event_of(("quota", quota)) == Quota("w", 0.5, None, 5, None)


@pytest.mark.parametrize(
    "value", [None, "text", ("text",), ("text", 3), ("lost", "x"), ("usage", {}),
              ("turn-failed", {"kind": "bored", "message": ""})]
)  # fmt: skip
def test_what_is_no_event_is_refused(value: object) -> None:
    with pytest.raises(BadValue):
        event_of(value)


@given(st.lists(st.binary(max_size=40), max_size=12))
def test_lines_are_the_same_however_the_bytes_come(pieces: list[bytes]) -> None:
    splitter = LineSplitter()
    found = [line for piece in pieces for line in splitter.take(piece)] + splitter.rest()
    *whole, rest = b"".join(pieces).split(b"\n")
    expected = [line.removesuffix(b"\r") for line in whole] + ([rest] if rest else [])
    assert found == expected


def test_an_inbox_hands_lines_over_together_and_in_order() -> None:
    inbox = Inbox()
    inbox.put_lines([b"one", b"two \xff"])
    assert inbox.take(0) == Lines(("one", "two \ufffd"))
    assert inbox.take(0) is None


def test_a_writer_that_is_too_far_ahead_waits_until_somebody_reads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("murmur.session.harness.inbox._HELD_BYTES", 4)
    inbox = Inbox()
    writer = threading.Thread(target=inbox.put_lines, args=([b"12345", b"678"],))
    writer.start()
    first = inbox.take(5)
    writer.join(5)
    assert not writer.is_alive()
    assert first == Lines(("12345",)) and inbox.take(5) == Lines(("678",))


def test_lines_that_hold_nothing_make_a_writer_wait_as_well() -> None:
    inbox, passed = Inbox(), threading.Event()

    def floods() -> None:
        for _ in range(100):
            inbox.put_lines([b""] * (1 << 14))
        passed.set()

    writer = threading.Thread(target=floods, daemon=True)
    writer.start()
    assert not passed.wait(1)
    assert len(inbox._items) <= (32 << 20) // 64
    inbox.close()
    assert passed.wait(10)
    writer.join(10)


def test_lines_come_together_only_as_far_as_one_call_takes_them() -> None:
    inbox, line = Inbox(), b"x" * (9 << 20)
    inbox.put_lines([line, line, b"y"])
    assert inbox.take(0) == Lines((line.decode(),))
    assert inbox.take(0) == Lines((line.decode(), "y"))


@pytest.mark.parametrize(
    "text", ["NaN", '{"a": Infinity}', "1e999", "[" * 65 + "]" * 65, "[" * 100_000, "", "{"]
)
def test_a_value_that_nothing_behind_it_carries_is_none(text: str) -> None:
    with pytest.raises(ValueError):
        read_json(text)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)  # fmt: skip


@given(JSON)
def test_any_other_value_is_read_as_it_was_written(value: Any) -> None:
    assert read_json(json.dumps(value)) == value


def test_half_a_character_becomes_a_replacement_and_whole_ones_stay() -> None:
    assert read_json('{"\\ud800": ["\\ud83d\\ude00 \\udc00"]}') == {"\ufffd": ["\U0001f600 \ufffd"]}


COUNTS = st.one_of(st.none(), st.integers(0, 1000))
USAGES = st.builds(Usage, COUNTS, COUNTS, COUNTS, COUNTS, COUNTS)


@given(st.lists(USAGES, max_size=8))
def test_what_turns_are_given_adds_up_to_the_highest_counts(reports: list[Usage]) -> None:
    attributed, given = Usage(), Usage()
    for report in reports:
        given = together(given, grown(attributed, report))
        attributed = highest(attributed, report)
    assert given == attributed


def test_a_member_that_shrinks_adds_nothing_and_one_that_is_absent_is_not_zero() -> None:
    assert grown(Usage(input=10), Usage(input=4, output=2)) == Usage(input=0, output=2)


@pytest.mark.parametrize(
    ("line", "version", "tested"),
    [
        ("2.0.14 (Claude Code)", "2.0.14", True),
        ("codex-cli 0.46.0-alpha.3", "0.46.0-alpha.3", False),
        ("nightly", "nightly", False),
    ],
)
def test_a_version_is_the_number_in_the_harnesss_own_line(
    line: str, version: str, tested: bool
) -> None:
    found = judge(line, ["2.0.14"])
    assert (found.version, found.tested) == (version, tested)


def sessions(home: Home | None, *, threaded: bool = True, always: str | None = None) -> Any:
    keeping = Keeping(home=home, store="demo" if home else None, threaded=threaded)
    return HarnessSessions(keeping, "Stand-in", "local/d@0.1.0", always)


def test_a_stateless_task_begins_a_new_session_and_is_remembered_all_the_same(
    tmp_path: Path,
) -> None:
    home = Home(tmp_path)
    at = sessions(home, threaded=False)
    first = at.choose("ctx-a", "tsk_1")
    at.keep("ctx-a", "tsk_1", first.id)
    assert at.choose("ctx-a", "tsk_1").mode == "resume"  # the task's next attempt
    assert at.choose("ctx-a", "tsk_2").mode == "new"
    resumed = sessions(home, threaded=False, always="ctx-a").choose("ctx-a", "tsk_3")
    assert (resumed.id, resumed.mode) == (first.id, "resume")


def test_an_entry_of_another_type_begins_a_new_session(tmp_path: Path) -> None:
    at = sessions(Home(tmp_path))
    at.keep("ctx-a", "tsk_1", "known")
    path = at.path("ctx-a")
    assert path.stat().st_mode & 0o777 == 0o600
    path.write_text('{"type": "other", "session_id": "x"}')
    assert sessions(Home(tmp_path)).choose("ctx-a", "tsk_2").mode == "new"


def test_without_a_record_a_session_is_remembered_in_memory_alone(tmp_path: Path) -> None:
    at = sessions(None)
    at.keep("ctx-a", "tsk_1", "known")
    assert at.choose("ctx-a", "tsk_2").id == "known"
    assert at.forget("ctx-a") == "known" and at.forget("ctx-a") is None
    assert not any(tmp_path.iterdir())


def test_what_an_implied_driver_needs_counts_as_allowed() -> None:
    def allowed(implied: bool) -> tuple[str, ...]:
        inference = Inference(transport="process", driver_implied=implied)
        capsule = Capsule(
            name="demo",
            version="1",
            inference=inference,
            capabilities=Capabilities(env=NameGrant(("PATH",))),
        )
        label = SimpleNamespace(label="murmur/driver-claude-code@0.1.0")
        return _env_allow(capsule, cast(Any, label), description_of(DESCRIPTION))

    assert allowed(implied=True) == ("PATH", "HOME")
    with pytest.raises(MurmurError, match="HOME") as refused:
        allowed(implied=False)
    assert refused.value.code == "E-CAP-019"


@pytest.mark.parametrize(
    ("line", "runs", "searched"),
    [
        (b"#!/usr/bin/env node\n", ("/usr/bin/env",), ("node",)),
        (b"#!/bin/sh -e\n", ("/bin/sh",), ()),
        (b"\x7fELF", (), ()),
    ],
)
def test_a_script_may_start_its_interpreter_and_nothing_else(
    tmp_path: Path, line: bytes, runs: tuple[str, ...], searched: tuple[str, ...]
) -> None:
    binary = tmp_path / "harness"
    binary.write_bytes(line)
    canonical = tuple(os.path.realpath(each) for each in runs)
    assert programs(str(binary)) == (str(binary), *canonical)
    assert interpreter_names(str(binary)) == searched
    assert native_loaders(str(binary)) == searched
    folder = (str(tmp_path),) if runs else ()
    assert program_folder(str(binary), ("/elsewhere",)) == folder
    assert program_folder(str(binary), (str(tmp_path / "home"),)) == ()
