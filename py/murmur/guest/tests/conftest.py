from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from murmur.guest.calls import GuestCall, GuestResult, ToolInput
from murmur.guest.client import Guests

from .components import component
from .starter import plain_starter


@pytest.fixture(scope="session")
def guests() -> Iterator[Guests]:
    started = Guests.start(plain_starter)
    yield started
    started.close()


@pytest.fixture(scope="session")
def compiled(guests: Guests, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    folder = tmp_path_factory.mktemp("compiled")

    def compile_once(name: str, wasi: str = "0.2.0") -> Path:
        path = folder / f"{name}-{wasi}.cwasm"
        if not path.exists():
            target = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            try:
                guests.compile(component(name, wasi), target)
            finally:
                os.close(target)
        return path

    return compile_once


@pytest.fixture
def call(guests: Guests, compiled: Callable[..., Path]) -> Callable[..., GuestResult]:
    """Calls a test guest: `call("echo", "text", limits=..., on_event=...)`."""

    def run(
        name: str, data: str | None = None, *, wasi: str = "0.2.0", **settings: object
    ) -> GuestResult:
        named = ("on_event", "answering", "cancel")
        about = {key: settings.pop(key) for key in named if key in settings}
        path = compiled(name, wasi)
        fields = {"role": "tool", "input": ToolInput(data), **settings}
        request = GuestCall(artifact=name, compiled=path, key=f"{name}-{wasi}", **fields)  # type: ignore[arg-type]
        return guests.call(request, **about)  # type: ignore[arg-type]

    return run
