"""The one engine configuration: what compiles and what runs a component must agree in every
setting.

`spec/registry.md` 16: a compiled form is good for one engine version with one set of settings.
Every form carries both in its head, so the form of an empty component tells them apart: its hash is
what the runtime folds into the second half of a cache file's name.
"""

from __future__ import annotations

import hashlib

from wasmtime import Config, Engine
from wasmtime.component import Component

from murmur.guest.memory import MemoryAccount

MAX_WASM_STACK_BYTES = 2 * 1024 * 1024
_EMPTY_COMPONENT = b"\0asm\x0d\0\1\0"


def new_engine(account: MemoryAccount | None = None, *, parallel: bool = False) -> Engine:
    """An engine whose memories are charged to `account`; without one it is good for compiling only.

    `parallel` lets compiling start threads, so only a host that is locked down already may ask for
    it.
    """
    config = Config()
    if account is not None:
        account.install(config)
    config.memory_init_cow = False
    config.epoch_interruption = True
    config.wasm_threads = False
    config.max_wasm_stack = MAX_WASM_STACK_BYTES
    config.parallel_compilation = parallel
    return Engine(config)


def engine_facts(engine: Engine) -> dict[str, str]:
    """What a compiled form depends on: engine version, settings, target and the processor's
    features, as one hash.
    """
    return {
        "empty_form_sha256": hashlib.sha256(
            Component(engine, _EMPTY_COMPONENT).serialize()
        ).hexdigest()
    }
