"""Session addresses of running sessions, and what each command says where there is none to reach.

CLI reference, *Session addresses*; spec/diagnostics.md, the order of refusals.
"""

import os
from collections.abc import Iterator

import pytest

from murmur.cli.tests.box import Box
from murmur.cli.tests.running import Records, card_of, process, session

TOKEN = "mdt1.operator.mac"


@pytest.fixture
def records(box: Box) -> Records:
    return Records(box)


@pytest.fixture(scope="module")
def live() -> Iterator[tuple[int, str]]:
    with process() as found:
        yield found


def tokens(records: Records, live: tuple[int, str], *numbers: int) -> None:
    for number in numbers:
        records.write(
            number,
            live[0],
            process_start=live[1],
            door_token=f"{TOKEN}{number}",
            credentials={"reader": f"mdt1.reader.{number}"},
        )


def test_every_form_names_its_session(box: Box, records: Records, live: tuple[int, str]) -> None:
    tokens(records, live, 1, 2, 0xABCD)
    newest = [f"{TOKEN}{0xABCD}"]
    assert box.ok("token") == newest
    for address in ("@1", "abcd", "ABCD", "0000abcd", session(0xABCD)):
        assert box.ok("token", address) == newest
    assert box.ok("token", "@3") == [f"{TOKEN}1"]
    assert box.ok("token", "@2", "--credential", "reader") == ["mdt1.reader.2"]


def test_ordinals_count_what_passes_layers_1_and_2(
    box: Box, records: Records, live: tuple[int, str]
) -> None:
    tokens(records, live, 1, 3)
    records.write(2, os.getpid(), process_start="1")
    records.write(4, live[0], process_start=live[1] + "0", door_token=TOKEN)
    assert box.ok("token", "@2") == [f"{TOKEN}1"]
    assert records.names() == [f"{session(1)}.json", f"{session(3)}.json"]


REFUSED = {
    "too short": ("abc", "no session address"),
    "no hex": ("wxyz", "no session address"),
    "a path": ("./trace.jsonl", "a path names a directory"),
    "@0": ("@0", "no session address"),
    "past the last": ("@4", "only 3 capsules are running"),
    "unknown": (session(77), "no running session has that id"),
    "several": ("0000", "more digits"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_names_no_session_is_e_run_022(
    box: Box, records: Records, live: tuple[int, str], case: str
) -> None:
    tokens(records, live, 0x10000, 0x20000, 0x30000)
    address, said = REFUSED[case]
    for command in (["token", address], ["watch", address], ["stop", address]):
        assert said in box.refused("E-RUN-022", *command)
    if case == "several":
        assert session(0x10000) in box.refused("E-RUN-022", "token", address)


def test_an_address_of_a_session_that_has_stopped_names_no_other(
    box: Box, records: Records, live: tuple[int, str]
) -> None:
    tokens(records, live, 1)
    records.write(2, os.getpid(), process_start="1")
    complaint = box.refused("E-RUN-022", "stop", session(2))
    assert f"pid {os.getpid()} is held by a process that started at another time" in complaint
    assert records.names() == [f"{session(1)}.json"]


def test_nothing_running_is_e_run_022_for_a_bare_command(box: Box) -> None:
    for command in (["token"], ["watch"], ["control", "show"], ["cancel", "@1", "tsk_1"]):
        assert "no capsule is running" in box.refused("E-RUN-022", *command)


def test_a_public_door_has_no_token(box: Box, records: Records, live: tuple[int, str]) -> None:
    records.write(1, live[0], process_start=live[1])
    assert session(1) in box.refused("E-RUN-048", "token")


def test_a_credential_that_was_not_minted_lists_those_that_were(
    box: Box, records: Records, live: tuple[int, str]
) -> None:
    tokens(records, live, 1)
    complaint = box.refused("E-RUN-049", "token", "--credential", "nobody")
    assert "operator, reader" in complaint and TOKEN not in complaint


def test_a_script_capsule_has_no_door(box: Box, records: Records, live: tuple[int, str]) -> None:
    records.write(1, live[0], process_start=live[1], url=None)
    for command in (["watch"], ["cancel", "@1", "tsk_1"], ["control", "show"]):
        assert session(1) in box.refused("E-RUN-056", *command)


def test_a_door_that_does_not_answer_is_e_run_023_and_keeps_its_record(
    box: Box, records: Records, live: tuple[int, str]
) -> None:
    records.write(1, live[0], process_start=live[1])
    for command in (["watch"], ["cancel", "@1", "tsk_1"], ["control", "set", "a", "1"]):
        assert "localhost:9" in box.refused("E-RUN-023", *command)
    assert "localhost:9" in box.refused("E-RUN-023", "watch", "--url", "localhost:9")
    assert "localhost:9" in box.refused("E-RUN-023", "cancel", "--url", "localhost:9", "tsk_1")
    assert records.names() == [f"{session(1)}.json"]


def test_a_session_without_a_control_token_has_no_surface(
    box: Box, records: Records, live: tuple[int, str]
) -> None:
    with card_of(session(1)) as url:
        records.write(1, live[0], process_start=live[1], url=url)
        for command in (["show"], ["set", "a", "1"], ["secret", "A"], ["forget", "A"]):
            assert session(1) in box.refused("E-RUN-042", "control", *command)


FORMATIONS = {
    "frm_1": "'frm_1' is not a formation id",
    "frm_019f01a93ff27c1e9a3b5d0c4e8f2a61": "no member of formation",
}


@pytest.mark.parametrize("formation", FORMATIONS)
def test_a_formation_that_does_not_run_is_e_run_022(box: Box, formation: str) -> None:
    assert FORMATIONS[formation] in box.refused("E-RUN-022", "stop", formation)


def test_a_formation_whose_members_are_gone_says_how_many_records_went(
    box: Box, records: Records
) -> None:
    formation = "frm_019f01a93ff27c1e9a3b5d0c4e8f2a61"
    records.write(1, os.getpid(), formation_id=formation)
    complaint = box.refused("E-RUN-022", "stop", formation)
    assert "1 member record(s) named processes that are gone, and were removed" in complaint
    assert records.names() == []


def test_usage(box: Box) -> None:
    for command in (
        ["watch", "@1", "--url", "localhost:9"],
        ["watch", "--url", "nonsense"],
        ["watch", "--url", "localhost:0"],
        ["cancel", "@1"],
        ["cancel", "--url", "localhost:9", "@1", "tsk_1"],
        ["stop"],
        ["stop", "--url", "localhost:9"],
        ["stop", "@1", "--timeout", "-1"],
    ):
        assert box.usage(*command)
