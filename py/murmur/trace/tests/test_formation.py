"""The formation listing, after the example that the CLI reference prints."""

from pathlib import Path
from typing import Any

import pytest

from murmur.core.diagnostics import MurmurError
from murmur.core.home import Home
from murmur.trace.show.page import show, show_formation
from murmur.trace.tests import recording as rec

FORMATION = "frm_019f01a93ff27c1e9a3b5d0c4e8f2a61"


def ses(number: int) -> str:
    return f"ses_019f01a94{number:03x}7761854e768ecbe3d399"


def member(home: Home, root: Path, number: int, name: str | None, *events: dict[str, Any]) -> Path:
    """Records one member's session below a workdir root."""
    named = {} if name is None else {"formation_member": name}
    start = rec.start(formation_id=FORMATION, capsule_name=name or "checker", **named)
    if name == "chief":
        start["formation_callees"] = ["lead"]
    session = ses(number)
    whole = [each | {"session_id": session} for each in (start, *events)]
    return rec.record(home.records_group(root) / session / "trace.jsonl", whole)


def call(call_id: str, callee: str, task: str, callee_task: str, **fields: Any) -> dict[str, Any]:
    known = {"call_id": call_id, "member": callee, "task_id": task}
    ended = {"status": "completed", "duration_ms": 48_200, "delivered": True}
    return rec.line("member_call", **known | {"member_task_id": callee_task} | ended | fields)


def received(task: str, **fields: Any) -> list[dict[str, Any]]:
    ended = {"task_id": task, "exit_status": "ok", "duration_ms": 12_000}
    return [rec.line("a2a_task_received", task_id=task, **fields), rec.line("task_end", **ended)]


def formation(tmp_path: Path) -> tuple[Home, Path]:
    home, root = Home(tmp_path / "home"), tmp_path / "project"
    peers = home.root / "formations" / FORMATION
    member(
        home,
        root,
        1,
        "chief",
        rec.line("a2a_task_received", task_id="tsk_chief", caller="operator"),
        rec.line("member_call_busy", call_id="mcl_1", member="lead", task_id="tsk_chief"),
        call("mcl_1", "lead", "tsk_chief", "tsk_lead"),
        rec.end(),
    )
    lead = [
        *received("tsk_lead", caller="member", caller_member="chief", message_id="msg_mcl_1"),
        call(
            "mcl_2",
            "worker",
            "tsk_lead",
            "tsk_worker",
            delivered=False,
            status="no_answer",
            no_answer_below=[{"member": "x", "status": "crashed"}],
        ),
        rec.end(),
    ]
    member(home, peers / "lead", 2, "lead", *lead)
    worker = received("tsk_worker", caller="member", message_id="msg_mcl_2")
    member(home, peers / "worker", 3, "worker", *worker, *received("tsk_public", caller="public"))
    return home, root


def test_members_calls_and_tasks_are_listed_and_nested(tmp_path: Path) -> None:
    home, root = formation(tmp_path)
    lines = list(show_formation(home, [root / "workdir", root], FORMATION))
    groups = [home.records_group(each) for each in (root / "workdir", root)]
    peers = [
        home.records_group(home.root / "formations" / FORMATION / name)
        for name in ("lead", "worker")
    ]
    assert lines == [
        "── Formation ────────────────────────────────────",
        f"formation:  {FORMATION}",
        *(f"searched:   {group}" for group in [*groups, *peers]),
        f"{ses(1)}  chief   chief@0.1.0   ok              may call lead",
        f"{ses(2)}  lead    lead@0.1.0    ok",
        f"{ses(3)}  worker  worker@0.1.0  no session_end",
        "calls:      2",
        "tasks:      2 not from a member — operator 1, public 1",
        "tsk_chief   operator → chief  outstanding  -                     message not captured",
        "  mcl_1     chief → lead      completed    48.2s  delivered      "
        "busy \N{MULTIPLICATION SIGN}1",
        "    mcl_2   lead → worker     no_answer    48.2s  not delivered  "
        "no answer below: x (crashed)",
        "tsk_public  public → worker   ok           12.0s                 message not captured",
    ]


def test_a_call_whose_other_side_is_missing_says_so(tmp_path: Path) -> None:
    home, root = Home(tmp_path / "home"), tmp_path / "project"
    member(
        home,
        root,
        1,
        "chief",
        call("mcl_1", "a", "t", "gone"),
        rec.line("member_call", call_id="mcl_2", member="b", status="rejected", duration_ms=1),
        rec.line("member_call_start", call_id="mcl_3", member="c", member_task_id="tsk_c"),
        rec.line("a2a_task_received", task_id="tsk_d", caller_member="ghost", message_id="x"),
    )
    member(home, root, 2, "c", *received("tsk_c", caller="member", message_id="msg_mcl_3"))
    tails = [line.split("  ")[-1].strip() for line in show_formation(home, [root], FORMATION)][-4:]
    assert sorted(tails) == [
        "a's trace not found",
        "c's task ended ok",
        "ghost's trace not found; chief's task has no task_end",
        "never held by b",
    ]


def test_a_member_shows_its_formation_below_its_own_sections(tmp_path: Path) -> None:
    home, root = formation(tmp_path)
    lines = list(show(home.records_group(root) / ses(1) / "trace.jsonl", home))
    assert f"formation:  {FORMATION}" in lines[:3]
    assert lines[lines.index("── Formation ────────────────────────────────────") - 1] == ""
    assert any(line.startswith(ses(3)) for line in lines)


def test_a_formation_that_nobody_names_is_refused_with_the_places(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    with pytest.raises(MurmurError) as refused:
        show_formation(home, [tmp_path / "p"], FORMATION)
    assert refused.value.code == "E-TRC-002"
    group = home.records_group(tmp_path / "p")
    assert f"no session under {group} belongs to formation {FORMATION}" in (
        refused.value.diagnostic.message
    )


def test_a_malformed_member_names_its_formation(tmp_path: Path) -> None:
    home, root = formation(tmp_path)
    path = home.records_group(root) / ses(1) / "trace.jsonl"
    path.write_text(path.read_text() + "nope\n{}\n")
    with pytest.raises(MurmurError) as refused:
        show_formation(home, [root], FORMATION)
    assert refused.value.code == "E-TRC-001"
    assert FORMATION in refused.value.diagnostic.message
