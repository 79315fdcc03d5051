"""Compiling artifacts outside a session, for `mur install` and `mur precompile`.

The engine runs in throw-away hosts of a zygote of our own, as in a session; this process never
loads it. spec/registry.md 12 and 16, design/decisions.md 7.
"""

import contextlib
import functools
import os
import tempfile
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Protocol

from murmur.core.diagnostics import MurmurError, printable
from murmur.core.home import Home
from murmur.store.compiled import Compile, CompiledCache, build_facts
from murmur.store.payload import Payload

COMPILED = "compiled"
ALREADY_STORED = "already_stored"
FAILED = "failed"


class Watcher(Protocol):
    """Hears how compiling goes, from several threads."""

    def begins(self, name: str) -> None:
        """`name@version` is compiled, or found to be."""

    def ends(self, name: str) -> None:
        """It is no longer, however that ended."""


@contextlib.contextmanager
def compiler() -> Iterator[tuple[str, Compile]]:
    """The engine key of this machine and this mur, and a compile function for several threads.

    Raises what finding the helper and starting a zygote raise.
    """
    from murmur.guest.client import Guests
    from murmur.sandbox.guests import start_zygote
    from murmur.sandbox.mur_sandbox import find_helper
    from murmur.session.guest_lockdown import find_guest_lockdown

    helper = find_helper()
    guests = Guests.start(functools.partial(start_zygote, helper), find_guest_lockdown(helper))

    def compile_form(component: bytes, target: int) -> None:
        guests.compile(component, target)

    try:
        yield guests.engine_key(*build_facts(os.environ)), compile_form
    finally:
        guests.close()


def precompile(
    payloads: Sequence[Payload], home: Home, watcher: Watcher | None = None
) -> list[bool]:
    """Compiles every payload that has no sound form yet; whether each now has one in the cache.

    Never fails: what does not compile here compiles, or fails, at its first launch.
    """
    cache = CompiledCache(home)
    outcomes = compile_all(payloads, cache, discard=False, watcher=watcher)
    return [outcome != FAILED for outcome, _ in outcomes]


def compile_all(
    payloads: Sequence[Payload],
    cache: CompiledCache,
    *,
    discard: bool,
    watcher: Watcher | None = None,
) -> list[tuple[str, str]]:
    """For every payload, in order: `compiled`, `already_stored` or `failed`, and why it failed.

    Several at a time; equal payloads one after the other, so that one compile serves all of them.
    With `discard` a form that the cache cannot take, or may not, is compiled and thrown away;
    without, it is not compiled.
    """
    from murmur.guest.client import CompileFailed, GuestsFailed
    from murmur.sandbox.mur_sandbox import HelperMissing
    from murmur.sandbox.results import SetUpFailed

    expected = (CompileFailed, GuestsFailed, HelperMissing, MurmurError, OSError, SetUpFailed)
    if not payloads:
        return []
    turns = {payload.sha256: threading.Lock() for payload in payloads}
    try:
        with compiler() as (key, compile_form), tempfile.TemporaryDirectory() as scratch:

            def one(payload: Payload) -> tuple[str, str]:
                try:
                    with turns[payload.sha256], _watched(payload, watcher):
                        form = cache.ensure(
                            payload.sha256,
                            key,
                            payload.component,
                            compile_form,
                            Path(scratch) if discard else None,
                        )
                        if not form.kept:
                            form.path.unlink()
                except expected as failure:
                    return FAILED, _reason(failure)
                return (COMPILED if form.fresh else ALREADY_STORED), ""

            with ThreadPoolExecutor(max(1, min(len(payloads), os.cpu_count() or 1))) as pool:
                return list(pool.map(one, payloads))
    except expected as failure:
        return [(FAILED, _reason(failure))] * len(payloads)


@contextlib.contextmanager
def _watched(payload: Payload, watcher: Watcher | None) -> Iterator[None]:
    name = f"{payload.manifest.name}@{payload.manifest.version}"
    if watcher is not None:
        watcher.begins(name)
    try:
        yield
    finally:
        if watcher is not None:
            watcher.ends(name)


def _reason(failure: Exception) -> str:
    text = failure.message if isinstance(failure, MurmurError) else str(failure)
    return printable(text.splitlines()[0]) if text else type(failure).__name__
