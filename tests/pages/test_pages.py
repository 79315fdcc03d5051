"""The pages that mur writes, looked at in a real browser without a network, light and dark.

With `MURMUR_SCREENSHOTS` set to a folder the pictures stay there, for people to look at.
"""

import os
import struct
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from murmur.topology.graph import build_graph
from murmur.topology.page import page as topology_page
from murmur.topology.tests.a_tempo import calling
from murmur.trace.show.html import page as session_page
from murmur.trace.tests import recording as rec
from tests.pages.browser import Page, a_browser, chromium

pytestmark = pytest.mark.skipif(chromium() is None, reason="no Chromium: package chromium")
GREEN, RED, YELLOW, ORANGE = (
    (0x4C, 0xAF, 0x50),
    (0xF4, 0x43, 0x36),
    (0xFF, 0xEB, 0x3B),
    (0xFF, 0x98, 0),
)


@pytest.fixture
def page() -> Iterator[Page]:
    with a_browser() as opened:
        yield opened


@pytest.fixture
def shots(tmp_path: Path) -> Path:
    kept = os.environ.get("MURMUR_SCREENSHOTS")
    folder = tmp_path if kept is None else Path(kept)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def colours(png: Path) -> Counter[tuple[int, int, int]]:
    """How many pixels of each colour a PNG has: 8 bits a channel, not interlaced."""
    data = png.read_bytes()
    at, width, height, channels, packed = 8, 0, 0, 3, b""
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at : at + 8])
        body = data[at + 8 : at + 8 + size]
        if kind == b"IHDR":
            width, height, depth, colour_type, _, _, interlaced = struct.unpack(">IIBBBBB", body)
            assert (depth, interlaced) == (8, 0) and colour_type in (2, 6)
            channels = 3 if colour_type == 2 else 4
        elif kind == b"IDAT":
            packed += body
        at += 12 + size
    return Counter(_pixels(zlib.decompress(packed), width, height, channels))


def _pixels(raw: bytes, width: int, height: int, size: int) -> Iterator[tuple[int, int, int]]:
    stride = width * size
    above = bytearray(stride)
    for row in range(height):
        start = row * (stride + 1)
        kind, line = raw[start], bytearray(raw[start + 1 : start + 1 + stride])
        if kind == 1:
            for i in range(size, stride):
                line[i] = (line[i] + line[i - size]) & 255
        elif kind == 2:
            line = bytearray((a + b) & 255 for a, b in zip(line, above, strict=True))
        elif kind == 3:
            for i in range(stride):
                left = line[i - size] if i >= size else 0
                line[i] = (line[i] + (left + above[i]) // 2) & 255
        elif kind == 4:
            for i in range(stride):
                left, corner = (line[i - size], above[i - size]) if i >= size else (0, 0)
                line[i] = (line[i] + _paeth(left, above[i], corner)) & 255
        yield from zip(line[0::size], line[1::size], line[2::size], strict=True)
        above = line


def _paeth(left: int, up: int, corner: int) -> int:
    guess = left + up - corner
    return min((left, up, corner), key=lambda each: abs(guess - each))


def is_dark(seen: Counter[tuple[int, int, int]]) -> bool:
    return sum(seen.most_common(1)[0][0]) < 300


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_topology_shows_nodes_by_colour_edges_and_a_table(
    page: Page, tmp_path: Path, shots: Path, dark: bool
) -> None:
    file = tmp_path / "topology.html"
    file.write_text(topology_page(build_graph(calling().items()), "1h"))
    page.open(file, dark=dark)
    assert page.evaluate("document.title") == "Murmur Topology"
    assert page.evaluate("document.querySelector('header').innerText").split("\n")[:3] == [
        "Murmur Topology",
        "last 1h",
        "4 sessions",
    ]
    seen = colours(page.screenshot(shots / f"topology-{'dark' if dark else 'light'}.png"))
    for colour in (GREEN, RED, YELLOW, ORANGE):
        assert seen[colour] > 100
    assert is_dark(seen) is dark
    ends = "murmurNetwork.getConnectedNodes('t1').sort().join()"
    assert page.evaluate(ends) == "t2,t3"
    rows = page.evaluate("[...document.querySelectorAll('tbody tr')].map(r => r.innerText)")
    assert len(rows) == 4 and "failing 0.1.0" in rows[1] and "caller" in rows[1]


def test_a_node_tells_its_times_when_it_is_pointed_at(page: Page, tmp_path: Path) -> None:
    file = tmp_path / "topology.html"
    file.write_text(topology_page(build_graph(calling().items()), "1h"))
    page.open(file)
    place: dict[str, Any] = page.evaluate(
        "(() => { const p = murmurNetwork.canvasToDOM(murmurNetwork.getPositions(['t1']).t1);"
        "const b = document.getElementById('graph').getBoundingClientRect();"
        "return { x: p.x + b.left, y: p.y + b.top }; })()"
    )
    page.move_mouse(place["x"], place["y"])
    tip = page.evaluate(
        "new Promise(r => setTimeout(() => "
        "r(document.querySelector('.vis-tooltip').innerText), 600))"
    )
    assert tip.split("\n") == [
        "caller 0.1.0",
        "started 2026-09-21T14:13:20.000Z",
        "status ok",
        "duration 900 ms",
        "inference 500 ms",
        "tool calls 50 ms",
        "shell 25 ms",
    ]


def test_an_empty_window_says_so(page: Page, tmp_path: Path, shots: Path) -> None:
    file = tmp_path / "empty.html"
    file.write_text(topology_page(build_graph([]), "7d"))
    page.open(file)
    page.screenshot(shots / "topology-empty.png")
    text = "No capsule sessions found in the selected time window."
    assert page.evaluate("document.getElementById('empty').innerText") == text


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_session_shows_its_timeline_and_can_be_searched(
    page: Page, tmp_path: Path, shots: Path, dark: bool
) -> None:
    denied = rec.line(
        "call_denied", turn=1, event="on-shell", target="/bin/rm", hook_name="p", reason="no"
    )
    fired = rec.line("compaction", turn=1, tokens_before=9000, tokens_after=1000)
    tokens = {"input_tokens": 900, "output_tokens": 90}
    trace = rec.record(
        tmp_path / "trace.jsonl",
        [
            rec.start(),
            rec.turn(0, "tool_call", **tokens),
            rec.call(0, "editor", {"path": "needle.txt"}, output="<img src=x onerror=alert(1)>"),
            rec.command(0),
            rec.turn(1, "tool_call", **tokens),
            denied,
            fired,
            rec.turn(2, "end_turn", **tokens),
            rec.end(total_turns=3, duration_ms=800),
        ],
    )
    file = tmp_path / "session.html"
    file.write_text(session_page(trace))
    page.open(file, dark=dark)
    seen = colours(page.screenshot(shots / f"session-{'dark' if dark else 'light'}.png"))
    assert is_dark(seen) is dark
    assert page.evaluate("document.querySelectorAll('#timeline rect').length") == 7
    assert page.evaluate("document.querySelectorAll('#tokens rect').length") == 6
    assert page.evaluate("document.querySelectorAll('#items li').length") == 7
    visible = "[...document.querySelectorAll('#items li')].filter(r => !r.hidden).length"
    search = (
        "(() => { const q = document.getElementById('query'); q.value = 'onerror';"
        f"q.dispatchEvent(new Event('input')); return {visible}; }})()"
    )
    assert page.evaluate(search) == 1
    page.evaluate("document.querySelectorAll('#items details').forEach(d => d.open = true)")
    assert page.evaluate("document.querySelectorAll('img').length") == 0
