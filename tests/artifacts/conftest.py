from __future__ import annotations

from collections.abc import Iterator

import pytest

from murmur.guest.client import Guests
from murmur.guest.tests.starter import plain_starter


@pytest.fixture(scope="session")
def guests() -> Iterator[Guests]:
    started = Guests.start(plain_starter)
    yield started
    started.close()
