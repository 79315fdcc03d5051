"""Compiling artifacts outside a session: what `mur install` does after it has stored them.

The engine runs in throw-away hosts of a zygote of our own, as in a session; this process never
loads it. spec/registry.md 12 and 16, design/decisions.md 7.
"""

import contextlib
import functools
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from murmur.core.diagnostics import MurmurError
from murmur.core.home import Home
from murmur.store.compiled import Compile, CompiledCache, build_facts
from murmur.store.payload import Payload


@contextlib.contextmanager
def compiler() -> Iterator[tuple[str, Compile]]:
    """The engine key of this machine and this mur, and a compile function for several threads.

    Raises what finding the helper and starting a zygote raise.
    """
    from murmur.guest.client import Guests
    from murmur.sandbox.guests import start_zygote
    from murmur.sandbox.helper import find_helper
    from murmur.session.guest_lockdown import find_guest_lockdown

    helper = find_helper()
    guests = Guests.start(functools.partial(start_zygote, helper), find_guest_lockdown(helper))

    def compile_form(component: bytes, target: int) -> None:
        guests.compile(component, target)

    try:
        yield guests.engine_key(*build_facts(os.environ)), compile_form
    finally:
        guests.close()


def precompile(payloads: Sequence[Payload], home: Home) -> list[bool]:
    """Compiles every payload that has no sound form yet; whether each now has one.

    Never fails: what does not compile here compiles, or fails, at its first launch.
    """
    from murmur.guest.client import CompileFailed, GuestsFailed
    from murmur.sandbox.helper import HelperMissing
    from murmur.sandbox.results import SetUpFailed

    expected = (CompileFailed, GuestsFailed, HelperMissing, MurmurError, OSError, SetUpFailed)
    try:
        with compiler() as (key, compile_form):
            cache = CompiledCache(home)

            def one(payload: Payload) -> bool:
                try:
                    cache.ensure(payload.sha256, key, payload.component, compile_form)
                except expected:
                    return False
                return True

            with ThreadPoolExecutor(max(1, min(len(payloads), os.cpu_count() or 1))) as pool:
                return list(pool.map(one, payloads))
    except expected:
        return [False] * len(payloads)
