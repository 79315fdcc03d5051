"""Peer-file handles. spec/door.md 18."""

import base64
import json
import time

import pytest

from murmur.core.peer_handles import BadHandle, PeerHandles, handle_id, hide_tokens

AUDIENCE = "reader@localhost:4001"


def _refusal(handles: PeerHandles, token: str, audience: str | None = AUDIENCE) -> str:
    with pytest.raises(BadHandle) as refused:
        handles.path_of(token, audience)
    return refused.value.code


def test_a_handle_opens_its_path_to_its_audience_until_it_expires() -> None:
    handles = PeerHandles("ses_1")
    handle = handles.mint("a/b.txt", "Reader@Localhost:4001", 60)
    assert handle.audience == AUDIENCE
    assert handles.path_of(handle.token, AUDIENCE) == "a/b.txt"
    assert handles.path_of(handle.token, AUDIENCE) == "a/b.txt", "it is not single-use"
    assert abs(handle.expires_at_ms - time.time() * 1000 - 60_000) < 5_000
    old = handles.mint("a/b.txt", AUDIENCE, -1)
    assert _refusal(handles, old.token) == "handle_expired"


def test_the_payload_is_the_documented_one() -> None:
    handle = PeerHandles("ses_1").mint("a", AUDIENCE, 60)
    prefix, packed, mac = handle.token.split(".")
    payload = json.loads(base64.urlsafe_b64decode(packed + "=="))
    assert prefix == "mh1" and list(payload) == ["v", "iss", "p", "exp", "n"]
    assert (payload["v"], payload["iss"], payload["p"]) == (1, "ses_1", "a")
    assert len(payload["n"]) == 32 and "=" not in packed + mac


def test_anybody_else_and_any_other_session_are_refused_alike() -> None:
    handles, others = PeerHandles("ses_1"), PeerHandles("ses_1")
    token = handles.mint("a", AUDIENCE, 60).token
    assert _refusal(handles, token, "other@localhost:1") == "handle_not_valid"
    assert _refusal(others, token) == "handle_not_valid"
    head, _, mac = token.rpartition(".")
    forged = f"{head}.{'B' if mac[0] == 'A' else 'A'}{mac[1:]}"
    assert _refusal(handles, forged) == "handle_not_valid"


@pytest.mark.parametrize(
    "token",
    ["", "mh1", "mh1..", "mh2.e30.AAAA", "mh1.e30.AAAA", "mh1.!!.AAAA", "mh1.W10.AAAA",
     "mh1." + base64.urlsafe_b64encode(b'{"v":2}').decode().rstrip("=") + ".AAAA",
     "mh1." + "W" * 40000 + ".AAAA"],
)  # fmt: skip
def test_what_is_not_shaped_like_a_handle_is_malformed(token: str) -> None:
    assert _refusal(PeerHandles("ses_1"), token) == "malformed_handle"


def test_the_shape_is_judged_before_the_audience_and_that_before_the_mac() -> None:
    handles = PeerHandles("ses_1")
    token = PeerHandles("ses_2").mint("a", AUDIENCE, 60).token
    assert _refusal(handles, "x", None) == "malformed_handle"
    assert _refusal(handles, token, None) == "missing_audience"
    assert _refusal(handles, token, "") == "missing_audience"


def test_revoking_closes_every_handle() -> None:
    handles = PeerHandles("ses_1")
    token = handles.mint("a", AUDIENCE, 60).token
    handles.revoke()
    handles.revoke()
    assert _refusal(handles, token) == "handle_not_valid"


def test_tokens_are_hidden_wherever_they_stand() -> None:
    token = PeerHandles("ses_1").mint("a", AUDIENCE, 60).token
    hidden = f"<handle:{handle_id(token)}>"
    assert len(handle_id(token)) == 16
    assert hide_tokens({"handle": token, "n": [1, f"see {token}."]}) == {
        "handle": hidden,
        "n": [1, f"see {hidden}."],
    }
