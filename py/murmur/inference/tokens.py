"""Counting tokens: `cl100k_base`, or bytes/4 where that is unavailable. spec/artifacts.md 11.4."""

import importlib.machinery
import importlib.util
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

_ENCODING: Final = "cl100k_base"
_SPECIAL: Final = re.compile(r"<\|(?:endoftext|fim_prefix|fim_middle|fim_suffix|endofprompt)\|>")
_LOCK: Final = threading.Lock()
_counter: Callable[[str], int] | None = None


def count_tokens(text: str) -> int:
    """The number of `cl100k_base` tokens in `text`; a special token's spelling counts as one.

    Lone surrogates, which no tokenizer takes, count as the replacement character.
    spec/observability.md 7.
    """
    counter = _counter or _load()
    if counter is estimate_tokens:
        return counter(text)
    if not text.isascii():
        text = text.encode("utf-8", "replace").decode("utf-8")
    pieces = _SPECIAL.split(text)
    return sum(counter(piece) for piece in pieces if piece) + len(pieces) - 1


def adds_up() -> bool:
    """Whether parts cut where the tokenizer would cut count what the whole does.

    An estimate rounds each part down.
    """
    return (_counter or _load()) is not estimate_tokens


def estimate_tokens(text: str) -> int:
    """The fallback: one token per four bytes of UTF-8, rounded down."""
    return len(text.encode("utf-8", "surrogatepass")) // 4


def _load() -> Callable[[str], int]:
    global _counter
    with _LOCK:
        if _counter is None:
            try:
                _counter = _native_counter()
            except Exception:  # whatever a foreign wheel raises, counting must go on
                _counter = estimate_tokens
        return _counter


def _native_counter() -> Callable[[str], int]:
    """The tokenizer inside bpe-openai's extension module.

    The package around it unpacks three vocabularies into Python dictionaries at import (0.8 s,
    measured) and refuses long texts; the extension alone is ready in 35 ms and does neither.
    """
    package = importlib.util.find_spec("bpe_openai")
    if package is None or not package.submodule_search_locations:
        raise ImportError("bpe_openai is not installed")
    for folder in package.submodule_search_locations:
        for suffix in importlib.machinery.EXTENSION_SUFFIXES:
            path = Path(folder) / f"_bindings{suffix}"
            if path.is_file():
                name = "bpe_openai._bindings"
                loader = importlib.machinery.ExtensionFileLoader(name, str(path))
                spec = importlib.util.spec_from_file_location(name, path, loader=loader)
                if spec is None:
                    continue
                module = importlib.util.module_from_spec(spec)
                loader.exec_module(module)
                count: Callable[[str], int] = module.tokenizer_for_encoding(_ENCODING).count
                return count
    raise ImportError("bpe_openai has no extension module for this interpreter")
