"""The folders' watch. spec/containment.md 20."""

import threading

from murmur.session.folder_guard import FolderGuard


def test_it_looks_again_and_again_until_it_is_closed() -> None:
    looks = 0
    twice = threading.Event()

    def look() -> None:
        nonlocal looks
        looks += 1
        if looks == 2:
            twice.set()

    guard = FolderGuard(look, 0.01)
    assert twice.wait(10)
    guard.close()
    guard.close()
    guard._thread.join(10)
    assert not guard._thread.is_alive()
