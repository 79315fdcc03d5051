"""Counting tokens: spec/artifacts.md 11.4."""

import importlib

import pytest

from murmur.inference import tokens


def test_counts_are_those_of_cl100k_base() -> None:
    encoding = importlib.import_module("bpe_openai").get_encoding("cl100k_base")
    for text in (
        "",
        "hello world",
        "Grüße, 世界! 12345",
        "a<|endoftext|>b<|fim_prefix|>",
        " \t x" * 50,
    ):
        assert tokens.count_tokens(text) == len(encoding.encode(text, allowed_special="all"))


def test_long_texts_and_half_characters_are_counted_too() -> None:
    assert tokens.count_tokens("word " * 400_000) > 390_000
    assert tokens.count_tokens("\ud800 x") > 0


def test_without_the_encoder_a_token_is_four_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "_counter", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert tokens.count_tokens("abcde") == 1
    assert tokens.count_tokens("üü") == 1
    assert tokens.count_tokens("\ud800") == 0
    monkeypatch.setattr(tokens, "_counter", None)
