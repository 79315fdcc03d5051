"""How an address is read and what it chooses. CLI reference, *Session addresses*."""

from pathlib import Path

import pytest

from murmur.core.addresses import BadAddress, Ending, Literal, Ordinal, choose, parse_address

OLD = "ses_019f01a940ce7761854e768ecbe3d399"
MIDDLE = "ses_019f01a940ce7761854e768ecbe3d3aa"
NEW = "ses_019f0193c7d871a5b2e30ff41a7cd399"
NEWEST_FIRST = (NEW, MIDDLE, OLD)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("@1", Ordinal("@1", 1)),
        ("@12", Ordinal("@12", 12)),
        ("d399", Ending("d399", "d399")),
        ("D3AA", Ending("D3AA", "d3aa")),
        (OLD, Ending(OLD, OLD)),
        ("./d399", Literal("./d399", Path("./d399"))),
        ("trace.jsonl", Literal("trace.jsonl", Path("trace.jsonl"))),
        ("/tmp/x/trace.jsonl", Literal("/tmp/x/trace.jsonl", Path("/tmp/x/trace.jsonl"))),
    ],
)
def test_an_address_has_four_forms(text: str, meant: object) -> None:
    assert parse_address(text) == meant


@pytest.mark.parametrize("text", ["@", "@0", "@-1", "@x", "@1x", "399", "a", ""])
def test_what_is_no_address_is_refused_with_what_is(text: str) -> None:
    with pytest.raises(BadAddress) as refused:
        parse_address(text)
    assert refused.value.address == text and refused.value.reason


@pytest.mark.parametrize(
    ("text", "found"),
    [("@1", NEW), ("@3", OLD), ("d3aa", MIDDLE), ("D3AA", MIDDLE), (OLD, OLD), ("ecbe3d399", OLD)],
)
def test_an_address_names_one_candidate(text: str, found: str) -> None:
    address = parse_address(text)
    assert not isinstance(address, Literal)
    assert choose(address, NEWEST_FIRST, "here") == found


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("d399", ("2 sessions", NEW, OLD)),
        ("beef", ("no session", "here")),
        ("@4", ("only 3", "here")),
        (OLD.replace("d399", "d398"), ("no session",)),
    ],
)
def test_an_address_of_none_or_several_is_refused(text: str, facts: tuple[str, ...]) -> None:
    address = parse_address(text)
    assert not isinstance(address, Literal)
    with pytest.raises(BadAddress) as refused:
        choose(address, NEWEST_FIRST, "here")
    assert all(fact in refused.value.reason for fact in facts)


def test_no_candidate_at_all_is_said_as_that() -> None:
    with pytest.raises(BadAddress, match="there is no session in here"):
        choose(Ordinal("@1", 1), (), "here")
