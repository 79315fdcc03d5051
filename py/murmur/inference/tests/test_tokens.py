"""Counting tokens: spec/artifacts.md 11.4."""

import importlib

import pytest

from murmur.inference import tokens


def test_counts_are_those_of_cl100k_base() -> None:
    encoding = importlib.import_module("bpe_openai").get_encoding("cl100k_base")
    for text in ("", "hello world", "Grüße, 世界! 12345", "<|endoftext|>", " \n\n\t x" * 50):
        assert tokens.count_tokens(text) == len(encoding.encode(text, disallowed_special=()))


def test_long_texts_and_half_characters_are_counted_too() -> None:
    assert tokens.count_tokens("word " * 400_000) > 390_000
    assert tokens.count_tokens("\ud800 x") > 0


def test_without_the_encoder_a_token_is_four_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "_counter", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert tokens.count_tokens("abcde") == 2
    assert tokens.count_tokens("ü") == 1
    assert tokens.count_tokens("\ud800") == 1
    monkeypatch.setattr(tokens, "_counter", None)
