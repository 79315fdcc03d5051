"""Doing one thing to many items at once, in daemon threads: an interrupt waits for none of them."""

import queue
import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def concurrently(
    work: Callable[[_Item], _Result],
    items: Sequence[_Item],
    limit: int,
    stop: threading.Event | None = None,
) -> list[_Result | Exception]:
    """The outcome of `work` for every item, in order: what it returned, or what it raised.

    At most `limit` run at once. With `stop`, the first failure sets it and the rest is not begun;
    an item that was not begun has the outcome `NotBegun`.
    """
    waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
    ended: queue.SimpleQueue[tuple[int, _Result | Exception]] = queue.SimpleQueue()
    for index in range(len(items)):
        waiting.put(index)

    def serve() -> None:
        while True:
            try:
                index = waiting.get_nowait()
            except queue.Empty:
                return
            ended.put((index, _one(work, items[index], stop)))

    for _ in range(min(limit, len(items))):
        threading.Thread(target=serve, daemon=True).start()
    outcomes: dict[int, _Result | Exception] = {}
    try:
        while len(outcomes) < len(items):
            index, outcome = ended.get()
            outcomes[index] = outcome
    finally:
        if stop is not None and len(outcomes) < len(items):
            stop.set()
    return [outcomes[index] for index in range(len(items))]


class NotBegun(Exception):
    """Another item failed before this one was begun."""


def _one(
    work: Callable[[_Item], _Result], item: _Item, stop: threading.Event | None
) -> _Result | Exception:
    if stop is not None and stop.is_set():
        return NotBegun()
    try:
        return work(item)
    except Exception as failure:
        if stop is not None:
            stop.set()
        return failure
