"""Lines as no harness would write them, and what must hold of a driver that reads them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any

from hypothesis import strategies as st
from murmur_harness.contract import Event, HarnessDriver, Note

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(), max_size=20)
    | st.sampled_from(["text", "thinking", "tool_use", "tool_result", "mcp_tool_call", "error"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=12,
)


def lines_like(samples: Sequence[dict[str, Any]]) -> st.SearchStrategy[str]:
    """Text, JSON, and lines like the samples with a member anywhere replaced by any JSON."""
    return (
        st.text(max_size=50)
        | st.binary(max_size=50).map(lambda data: data.decode("utf-8", "replace"))
        | JSON.map(json.dumps)
        | st.builds(_spoiled, st.sampled_from(list(samples)), st.data(), JSON)
    )


def check_totality(make: Callable[[], HarnessDriver], lines: Sequence[str]) -> None:
    """Any line gives events or one note: none raises, and each string reaches the runtime."""
    driver = make()
    for line in lines:
        events = driver.read(line)
        assert bool(line.strip()) or events == []
        for event in events:
            _check(event)
        if any(isinstance(event, Note) for event in events):
            assert all(len(event.text) <= 512 for event in events if isinstance(event, Note))


def _check(event: Event) -> None:
    for field in fields(event):
        value = getattr(event, field.name)
        if isinstance(value, str):
            value.encode()
        elif isinstance(value, int):
            assert 0 <= value < 2**64


def _spoiled(sample: dict[str, Any], data: st.DataObject, value: object) -> str:
    copy: dict[str, Any] = json.loads(json.dumps(sample))
    place: Any = copy
    while True:
        keys: list[Any] = list(place) if isinstance(place, dict) else list(range(len(place)))
        if not keys:
            break
        key = data.draw(st.sampled_from(keys))
        inner = place[key]
        if isinstance(inner, dict | list) and inner and data.draw(st.booleans()):
            place = inner
            continue
        place[key] = value
        break
    return json.dumps(copy)
