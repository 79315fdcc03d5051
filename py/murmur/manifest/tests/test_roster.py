"""`roster.yaml` as far as the file alone says. spec/formations-and-newer-manifest.md B1 and B2."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from murmur.core.diagnostics import MurmurError, render
from murmur.manifest.roster import Member, Rule, load_roster

PAIR = """\
roster_version: 1
members:
  - {name: lead, capsule: local/crew-lead, version: 0.1.0, entry: true}
  - {name: worker, capsule: local/crew-worker, version: 0.1.0}
"""


def refusal(text: str, path: str = "roster.yaml") -> MurmurError:
    with pytest.raises(MurmurError) as caught:
        load_roster(text, path)
    assert caught.value.message.startswith("roster.yaml:") or path != "roster.yaml"
    return caught.value


def test_a_roster_is_taken_over_in_its_order() -> None:
    roster = load_roster(PAIR + "reachability: [{from: lead, to: [worker, worker]}]\n")
    assert roster.members == (
        Member("lead", "local/crew-lead", "0.1.0", True),
        Member("worker", "local/crew-worker", "0.1.0"),
    )
    assert roster.reachability == (Rule("lead", ("worker", "worker")),)
    assert roster.entry.name == "lead"
    assert roster.callees("lead") == ("worker",) and roster.callees("worker") == ()


@pytest.mark.parametrize("tail", ["", "reachability:\n", "reachability: []\n"])
def test_without_rules_nobody_calls_anybody(tail: str) -> None:
    assert load_roster(PAIR + tail).reachability == ()


def test_all_is_a_word_of_its_own() -> None:
    assert load_roster(PAIR + "reachability: all\n").reachability == "all"


def test_rules_add_up_and_callees_come_in_roster_order() -> None:
    text = PAIR + (
        "  - {name: third, capsule: local/crew-worker, version: 0.1.0}\n"
        "reachability:\n"
        "  - {from: lead, to: [third]}\n"
        "  - {from: lead, to: [worker]}\n"
    )
    assert load_roster(text).callees("lead") == ("worker", "third")


@pytest.mark.parametrize("written", ["1.10", "'1.10'", "2", "1e3", "0x10"])
def test_an_unquoted_number_is_a_version_as_it_stands(written: str) -> None:
    text = PAIR.replace("version: 0.1.0, entry", f"version: {written}, entry")
    assert load_roster(text).members[0].version == written.strip("'")


MEMBER = "roster_version: 1\nmembers: [{name: a, capsule: l/a, version: '1', entry: true"


@pytest.mark.parametrize(
    ("text", "key", "reason"),
    [
        ("", "roster_version", "required"),
        ("members: []\n", "roster_version", "required"),
        ("roster_version: 1\n", "members", "required"),
        ("roster_version: 2\nmembers: [{}]\n", "members[0].name", "required"),
        (PAIR.replace(": 1\n", ": 2\n"), "roster_version", "reads version 1"),
        (PAIR.replace(": 1\n", ": '1'\n"), "roster_version", "an integer"),
        (PAIR.replace(": 1\n", ": true\n"), "roster_version", "an integer"),
        ("roster_version: 1\nmembers: []\n", "members", "at least one"),
        ("roster_version: 1\nmembers: {}\n", "members", "a list"),
        ("- a\n", "the file", "a mapping"),
        (PAIR + "extra: 1\n", "extra", "no such key"),
        (PAIR + "reachabilty: all\n", "reachabilty", "did you mean reachability?"),
        (MEMBER + ", role: x}]", "members[0].role", "no such key"),
        (MEMBER + ", entry: yes}]", "the file", "given twice"),
        (
            PAIR.replace("entry: true", "entry: 1"),
            "members[0].entry (member lead)",
            "true or false",
        ),
        (PAIR.replace("name: worker", "name: Worker"), "members[1].name", "'Worker'"),
        (PAIR.replace("name: worker", f"name: {'w' * 33}"), "members[1].name", "32"),
        (PAIR.replace("name: worker", "name: 7"), "members[1].name", "a string"),
        (
            PAIR.replace("local/crew-worker", "crew-worker"),
            "members[1].capsule (member worker)",
            "write local/crew-worker",
        ),
        (PAIR.replace("local/crew-worker", "A/b"), "members[1].capsule", "<scope>/<name>"),
        (
            PAIR.replace("0.1.0}", "latest}"),
            "members[1].version (member worker)",
            "no exact version",
        ),
        (PAIR.replace("0.1.0}", "stable}"), "members[1].version", "no exact version"),
        (PAIR.replace("0.1.0}", "edge}"), "members[1].version", "no exact version"),
        (PAIR.replace("0.1.0}", "' '}"), "members[1].version", "blank"),
        (PAIR.replace("0.1.0}", "[1]}"), "members[1].version", "a string"),
        (PAIR.replace(", version: 0.1.0}", ", version: }"), "members[1].version", "required"),
        (PAIR + "reachability: some\n", "reachability", "all or a list"),
        (PAIR + "reachability: {from: lead}\n", "reachability", "all or a list"),
        (PAIR + "reachability: [all]\n", "reachability[0]", "a mapping"),
        (PAIR + "reachability: [{from: lead}]\n", "reachability[0].to", "required"),
        (PAIR + "reachability: [{to: [lead]}]\n", "reachability[0].from", "required"),
        (PAIR + "reachability: [{from: lead, to: []}]\n", "reachability[0].to", "nobody"),
        (PAIR + "reachability: [{from: lead, to: [lead]}]\n", "reachability[0].to", "lists lead"),
        (PAIR + "reachability: [{from: lead, to: worker}]\n", "reachability[0].to", "a list"),
        (
            PAIR + "reachability: [{from: lead, to: [worker], if: x}]\n",
            "reachability[0].if",
            "no such",
        ),
        ("a: [\n", "the file", "not a YAML document"),
    ],
)
def test_a_shape_that_is_none_is_e_ros_001(text: str, key: str, reason: str) -> None:
    caught = refusal(text)
    assert caught.code == "E-ROS-001" and caught.exit_status == 1
    assert f": {key}" in caught.message
    assert reason in caught.message + caught.hint


def test_a_refusal_says_line_and_column() -> None:
    text = PAIR.replace(
        "{name: worker, capsule: local/crew-worker", "{name: worker, capsule: x/y/z"
    )
    assert refusal(text).message.startswith("roster.yaml:4:20: members[1].capsule (member worker)")


def test_a_file_of_another_name_is_no_roster() -> None:
    assert refusal(PAIR, "/x/crew.yaml").code == "E-ROS-001"
    assert load_roster(PAIR, "/x/roster.yaml").members


TRIO = """\
roster_version: 1
members:
  - {name: a, capsule: l/a, version: '1', entry: true}
  - {name: b, capsule: l/b, version: '1'}
  - {name: c, capsule: l/c, version: '1'}
"""


@pytest.mark.parametrize(
    ("text", "code", "facts"),
    [
        (TRIO.replace("name: c", "name: b"), "E-ROS-003", ["5:", "named b"]),
        (TRIO.replace(", entry: true", ""), "E-ROS-002", ["no member"]),
        (TRIO.replace("'1'}", "'1', entry: true}"), "E-ROS-002", ["a, b, c"]),
        (TRIO + "reachability: [{from: x, to: [b]}]\n", "E-ROS-004", ["from x names x"]),
        (TRIO + "reachability: [{from: b, to: [x]}]\n", "E-ROS-004", ["from b names x"]),
        (TRIO + "reachability: [{from: b, to: [c, a]}]\n", "E-ROS-008", ["from b", "member a"]),
    ],
)
def test_names_are_checked_together(text: str, code: str, facts: list[str]) -> None:
    caught = refusal(text)
    assert caught.code == code and caught.hint
    for fact in facts:
        assert fact in caught.message


# Each roster below has the fault of its code and of every code after it.
_FAULTS = [
    ("E-ROS-001", "roster_version: 1\nzzz: 1\nmembers:\n"),
    ("E-ROS-003", "roster_version: 1\nmembers:\n  - {name: b, capsule: l/a, version: '1'}\n"),
    ("E-ROS-002", "roster_version: 1\nmembers:\n"),
    (
        "E-ROS-004",
        "roster_version: 1\nmembers:\n  - {name: a, capsule: l/a, version: '1', entry: true}\n",
    ),
]


@pytest.mark.parametrize(("code", "head"), _FAULTS)
def test_of_several_faults_the_first_check_s_is_reported(code: str, head: str) -> None:
    text = head + "  - {name: b, capsule: l/b, version: '1'}\n"
    text += "reachability: [{from: b, to: [x]}, {from: b, to: [a]}]\n"
    assert refusal(text).code == code


_TREES: st.SearchStrategy[Any] = st.recursive(
    st.sampled_from([None, True, 1, 1.5, "a", "b", "all", "l/a", "latest", "", "\x1b[2J"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["name", "capsule", "version", "entry", "from", "to", "members", "x"]),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=150)
@given(
    st.dictionaries(
        st.sampled_from(["roster_version", "members", "reachability", "x"]),
        _TREES | st.just(1),
        max_size=4,
    )
)
def test_any_roster_is_loaded_or_refused(tree: dict[str, Any]) -> None:
    try:
        roster = load_roster(json.dumps(tree))
    except MurmurError as caught:
        assert caught.code.startswith("E-ROS-00") and caught.message.startswith("roster.yaml")
        assert all(line.isprintable() for line in render(caught.diagnostic).split("\n"))
    else:
        assert roster.entry in roster.members
