"""Hashes and blobs. spec/observability.md 6."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmur.core.diagnostics import MurmurError
from murmur.core.safefs import open_root
from murmur.trace.content import Capture, Hashed, canonical
from murmur.trace.redaction import Redactor, clip

SYSTEM = "[Capsule] é"
TOOLS = [{"name": "t", "parameters": {"type": "object", "b": 1, "a": 2}}]
MESSAGES = [Hashed.of({"role": "user", "content": [{"type": "text", "text": "hi"}]})]


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("level", ["meta", "content"])
def test_each_hash_is_of_the_documented_bytes(tmp_path: Path, level: str) -> None:
    with open_root(tmp_path) as records:
        fields = Capture(level, records).inference(SYSTEM, TOOLS, MESSAGES, '{"content": []}')
    message = b'{"content":[{"text":"hi","type":"text"}],"role":"user"}'
    tools = b'[{"name":"t","parameters":{"a":2,"b":1,"type":"object"}}]'
    assert fields == {
        "system_sha": sha("[Capsule] é".encode()),
        "tools_sha": sha(tools),
        "response_sha": sha(b'{"content": []}'),
        "message_shas": [sha(message)],
    }
    blobs = tmp_path / "blobs"
    if level == "meta":
        assert not blobs.exists()
    else:
        assert blobs.stat().st_mode & 0o777 == 0o700
        assert (blobs / sha(message)).read_bytes() == message
        assert (blobs / sha(message)).stat().st_mode & 0o777 == 0o600
        assert {blob.name for blob in blobs.iterdir()} == {
            fields["system_sha"],
            fields["tools_sha"],
            fields["response_sha"],
            *fields["message_shas"],
        }


def test_what_is_empty_hashes_as_such_and_no_message_leaves_no_list(tmp_path: Path) -> None:
    with open_root(tmp_path) as records:
        fields = Capture("meta", records).inference("", (), (), "")
    assert fields == {"system_sha": sha(b""), "tools_sha": sha(b"[]"), "response_sha": sha(b"")}


def test_a_body_sent_again_is_stored_once(tmp_path: Path) -> None:
    with open_root(tmp_path) as records:
        capture = Capture("content", records)
        capture.inference(SYSTEM, TOOLS, MESSAGES, "x")
        first = (tmp_path / "blobs" / MESSAGES[0].sha).stat().st_ino
        capture.inference(SYSTEM, TOOLS, MESSAGES, "x")
        Capture("content", records).inference(SYSTEM, TOOLS, MESSAGES, "x")
    assert (tmp_path / "blobs" / MESSAGES[0].sha).stat().st_ino == first


def test_level_none_keeps_the_prompts_hash_and_nothing_else(tmp_path: Path) -> None:
    with open_root(tmp_path) as records:
        capture = Capture("none", records)
        assert capture.inference(SYSTEM, TOOLS, MESSAGES, "x") == {}
        assert capture.message("hi") is None and capture.output("x") is None
        assert capture.system_prompt("p") == sha(b"p")
        assert capture.system_prompt(None) is None
    assert list(tmp_path.iterdir()) == []


def test_output_is_kept_under_content_only(tmp_path: Path) -> None:
    with open_root(tmp_path) as records:
        assert Capture("meta", records).output("x") is None
        assert Capture("content", records).output("x") == "x"


def test_a_blob_is_written_once(tmp_path: Path) -> None:
    with open_root(tmp_path) as records:
        capture = Capture("content", records)
        name = capture.message("hi")
        assert name is not None
        (tmp_path / "blobs" / name).write_bytes(b"marked")
        assert capture.message("hi") == name
    assert (tmp_path / "blobs" / name).read_bytes() == b"marked"


def test_a_blob_that_cannot_be_written_is_e_run_007(tmp_path: Path) -> None:
    (tmp_path / "blobs").symlink_to(tmp_path)
    with open_root(tmp_path) as records, pytest.raises(MurmurError) as caught:
        Capture("content", records).message("hi")
    assert caught.value.code == "E-RUN-007"


def test_the_canon_sorts_by_code_point_and_escapes_little() -> None:
    assert canonical({"b": "\x7f/\u2028é", "B": '\x01\n"\\', "\U0001f600": 1, "\ufb01": 2}) == (
        '{"B":"\\u0001\\n\\"\\\\","b":"\x7f/\u2028é","\ufb01":2,"\U0001f600":1}'.encode()
    )
    assert canonical("\ud800") == b'"\\ud800"'
    with pytest.raises(ValueError, match="Out of range"):
        canonical([float("nan")])


_JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=10),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=10,
)


@given(st.lists(_JSON, max_size=3), st.text(max_size=10))
def test_each_hashed_piece_is_a_substring_of_the_serialized_request(
    tools: list[Any], system: str
) -> None:
    request = canonical({"tools": tools, "system": system, "messages": tools})
    assert canonical(tools) in request
    assert json.loads(request)["tools"] == tools


def test_a_credential_is_replaced_however_it_is_spelled() -> None:
    redact = Redactor(lambda: ['k"1/é', "abc", "k1k1", "k1k1k1k1"])
    text = redact('plain k"1/é json k\\"1/\\u00e9 url k%221%2F%C3%A9 abc k1k1k1k1')
    assert text == "plain [redacted] json [redacted] url [redacted] abc [redacted]"


@given(st.text(max_size=50), st.integers(0, 60))
def test_a_text_is_cut_between_characters(text: str, limit: int) -> None:
    cut = clip(text, limit)
    assert len(cut.encode("utf-8", "replace")) <= limit or cut == ""
    assert (
        text.encode("utf-8", "replace").decode().startswith(cut.encode("utf-8", "replace").decode())
    )
