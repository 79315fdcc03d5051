"""Messages that are serialized and counted once. spec/artifacts.md 11.4."""

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from murmur.inference import tokens
from murmur.inference.payload import Continuation, TurnRequest
from murmur.inference.pieces import IMAGE_TOKENS, Pieces
from murmur.inference.tokens import count_tokens, estimate_tokens
from murmur.trace.content import Hashed, canonical

# Text of the kinds that a tokenizer's pattern tells apart, next to what JSON puts around it.
KINDS = st.sampled_from(
    [*"aZé中9 \n\t'\".,{}[]:\\<|>s\u0301\ud800\u2028", "<|endoftext|>", "'ll", "\r\n", "123"]
) | st.just('},{"content')
TEXT = st.text() | st.lists(KINDS, max_size=12).map("".join)
BLOCK = st.one_of(
    st.builds(lambda text: {"type": "text", "text": text}, TEXT),
    st.builds(
        lambda name, given: {"type": "tool_call", "id": name, "name": name, "input": given},
        TEXT,
        st.dictionaries(TEXT, st.integers() | TEXT, max_size=3),
    ),
)
CONTENT = st.lists(BLOCK, max_size=3)
MESSAGE = st.one_of(
    st.builds(
        lambda role, content, own: {"role": role, "content": content, "id": own},
        st.sampled_from(["user", "assistant"]),
        CONTENT,
        TEXT,
    ),
    st.builds(
        lambda call, failed, content: {
            "role": "tool",
            "tool_call_id": call,
            "is_error": failed,
            "content": content,
        },
        TEXT,
        st.booleans(),
        CONTENT,
    ),
)


def request(messages: Any, pieces: Pieces, **more: Any) -> TurnRequest:
    return TurnRequest("m", 8, tuple(messages), ({"name": "t"},), "sys", pieces=pieces, **more)


@given(st.lists(MESSAGE, max_size=6))
@example([{"role": "user", "content": []}, {"role": "user", "content": []}])
def test_tokens_are_those_of_the_whole_request(messages: list[dict[str, Any]]) -> None:
    pieces = Pieces()
    for count in range(len(messages) + 1):
        asked = request(messages[:count], pieces)
        whole = canonical(asked.members()).decode()
        assert asked.full_payload() == whole
        assert asked.input_tokens() == count_tokens(whole)


def test_an_estimate_is_made_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "_counter", estimate_tokens)
    messages = [{"role": "user", "content": [{"type": "text", "text": "abcde"}]}] * 3
    asked = request(messages, Pieces())
    assert asked.input_tokens() == len(asked.full_payload()) // 4


def test_a_message_is_serialized_and_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    serialized: list[object] = []
    counted: list[str] = []
    of = Hashed.of

    def hashing(value: object) -> Hashed:
        serialized.append(value)
        return of(value)

    def counting(text: str) -> int:
        counted.append(text)
        return count_tokens(text)

    monkeypatch.setattr("murmur.inference.pieces.Hashed.of", hashing)
    monkeypatch.setattr("murmur.inference.pieces.count_tokens", counting)
    pieces, messages = Pieces(), []
    for number in range(20):
        messages.append({"role": "user", "content": [{"type": "text", "text": f"no {number}"}]})
        asked = request(messages, pieces)
        asked.payload()
        asked.input_tokens()
    assert len(serialized) == 20
    # Once as the newest, with what follows it then, and once between two others.
    assert max(sum(f"no {number}" in text for text in counted) for number in range(10, 20)) == 2


def test_what_is_no_longer_sent_is_forgotten() -> None:
    pieces = Pieces()
    one = {"role": "user", "content": [{"type": "text", "text": "one"}]}
    two = {"role": "user", "content": [{"type": "text", "text": "two"}]}
    first = pieces.of((one, two))
    assert pieces.of((two,)) == first[1:]
    assert pieces.of((one, two))[0] is not first[0]


def test_a_continuation_sends_the_rest_of_the_same_text() -> None:
    messages = [{"role": "user", "content": []}, {"role": "assistant", "content": []}]
    held = Continuation("c1", "ctx", 1)
    asked = request(messages, Pieces(), context_id="ctx", continuation=held)
    sent = json.loads(asked.payload())
    assert sent["messages"] == messages[1:] and sent["continuation_id"] == "c1"
    assert asked.payload().encode() == canonical(sent)
    assert asked.input_tokens() == count_tokens(asked.full_payload())


def test_an_image_counts_the_same_whatever_its_size() -> None:
    def asked(size: int) -> TurnRequest:
        source = {"type": "base64", "media_type": "image/png", "data": "A" * size}
        return request(
            [{"role": "user", "content": [{"type": "image", "source": source}]}] * 2, Pieces()
        )

    bare = count_tokens(asked(0).full_payload())
    assert asked(0).input_tokens() == asked(9000).input_tokens() == bare + 2 * IMAGE_TOKENS
