"""share-file and fetch-peer-file against a door that says what a test wants. spec/door.md 18."""

import hashlib
import json
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from murmur.core.peer_handles import PeerHandles, handle_id
from murmur.core.safefs import open_root
from murmur.manifest.network import parse_rules
from murmur.manifest.session import PeerFileExport
from murmur.session.answers import Answer
from murmur.session.attempt import Attempt
from murmur.session.fetch_peer_file import FetchPeerFile
from murmur.session.share_file import ShareFile
from murmur.session.tests.scripted import SESSION_START
from murmur.trace.reader import read_trace
from murmur.trace.writer import TraceWriter

ATTEMPT = cast(Attempt, SimpleNamespace(cancel=threading.Event()))


class Door:
    """A peer's door: `answers` by path, `seen` requests with their headers."""

    def __init__(self) -> None:
        self.answers: dict[str, tuple[int, Mapping[str, str], bytes]] = {}
        self.seen: list[tuple[str, Mapping[str, str]]] = []
        door = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                door.seen.append((self.path, {k.lower(): v for k, v in self.headers.items()}))
                found = door.answers.get(self.path, door.answers.get("*", (404, {}, b"")))
                status, headers, body = found
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.server.server_address[1]}"

    def card(self, **changes: Any) -> None:
        interface = {"protocolBinding": "JSONRPC", "url": f"http://{self.address}"}
        card = {"name": "Reader", "supportedInterfaces": [interface], **changes}
        self.answers["/.well-known/agent-card.json"] = (200, {}, json.dumps(card).encode())


@pytest.fixture
def door() -> Iterator[Door]:
    made = Door()
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture
def trace(tmp_path: Path) -> TraceWriter:
    writer = TraceWriter(open_root(tmp_path), "ses_1")
    writer.write("session_start", **SESSION_START)
    return writer


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "work" / "out").mkdir(parents=True)
    (tmp_path / "work" / "out" / "a.txt").write_text("hello")
    return tmp_path / "work"


def _lines(tmp_path: Path, kind: str) -> list[Mapping[str, Any]]:
    events = read_trace(tmp_path / "trace.jsonl").events
    return [event for event in events if event["event_type"] == kind]


def _share(work: Path, trace: TraceWriter, rules: str, max_ttl: int | None = None) -> ShareFile:
    return ShareFile(
        handles=PeerHandles("ses_1"),
        export=PeerFileExport("out", max_ttl, 100),
        work=open_root(work),
        work_path=str(work),
        links=True,
        rules=parse_rules([rules]),
        trace=trace,
    )


def test_a_handle_is_made_for_the_capsule_that_the_card_names(
    door: Door, work: Path, trace: TraceWriter, tmp_path: Path
) -> None:
    door.card()
    tool = _share(work, trace, door.address)
    answer = tool({"path": "a.txt", "peer": f"http://{door.address}"}, ATTEMPT, 0)
    shown = json.loads(answer.text)
    assert shown["audience"] == f"reader@{door.address}"
    assert tool.handles.path_of(shown["handle"], shown["audience"]) == "a.txt"
    assert shown["handle_id"] == handle_id(shown["handle"])
    assert str(work) not in answer.text
    (line,) = _lines(tmp_path, "peer_handle_mint")
    assert (line["outcome"], line["handle_id"], line["path"]) == ("ok", shown["handle_id"], "a.txt")
    assert shown["handle"] not in (tmp_path / "trace.jsonl").read_text()


@pytest.mark.parametrize(
    ("ttl", "max_ttl", "seconds"),
    [(None, None, 3600), (None, 90, 90), ("30s", 90, 30), ("2h", 90, 90), (5, None, 5)],
)
def test_a_lifetime_narrows_and_never_widens(
    door: Door, work: Path, trace: TraceWriter, ttl: Any, max_ttl: int | None, seconds: int
) -> None:
    tool = _share(work, trace, door.address, max_ttl)
    assert tool._lifetime(ttl) == seconds


@pytest.mark.parametrize(
    ("path", "outcome"),
    [("../secret", "outside_root"), ("none.txt", "not_found"), (".", "outside_root"),
     ("big.bin", "too_large"), ("link", "outside_root")],
)  # fmt: skip
def test_a_path_that_is_no_file_of_the_export_fails_the_mint(
    door: Door, work: Path, trace: TraceWriter, tmp_path: Path, path: str, outcome: str
) -> None:
    (work / "out" / "big.bin").write_bytes(bytes(101))
    (work / "out" / "link").symlink_to("/etc/passwd")
    answer = _share(work, trace, door.address)({"path": path, "peer": door.address}, ATTEMPT, 0)
    assert answer.is_error and outcome in answer.text
    (line,) = _lines(tmp_path, "peer_handle_mint")
    assert (line["outcome"], line["handle_id"], line["audience"]) == (outcome, None, "")
    assert door.seen == []


@pytest.mark.parametrize("ttl", [0, "0s", -1, "1d", "soon", True, 1.5])
def test_a_lifetime_that_is_none_is_refused(
    door: Door, work: Path, trace: TraceWriter, ttl: Any
) -> None:
    tool = _share(work, trace, door.address)
    answer = tool({"path": "a.txt", "peer": door.address, "ttl": ttl}, ATTEMPT, 0)
    assert answer.is_error and "ttl" in answer.text


@pytest.mark.parametrize(
    "card",
    [(404, {}, b""), (200, {}, b"x"), (200, {}, b"[]"), (200, {}, b'{"name":"a"}'),
     (200, {}, b'{"name":"","supportedInterfaces":[{"protocolBinding":"JSONRPC","url":"http://h:1"}]}')],
)  # fmt: skip
def test_a_peer_without_a_card_is_unreachable(
    door: Door, work: Path, trace: TraceWriter, tmp_path: Path, card: Any
) -> None:
    door.answers["*"] = card
    answer = _share(work, trace, door.address)({"path": "a.txt", "peer": door.address}, ATTEMPT, 0)
    assert answer.is_error
    assert _lines(tmp_path, "peer_handle_mint")[0]["outcome"] == "peer_unreachable"


def test_a_peer_outside_network_allow_is_not_asked(
    door: Door, work: Path, trace: TraceWriter
) -> None:
    door.card()
    answer = _share(work, trace, "example.com")({"path": "a.txt", "peer": door.address}, ATTEMPT, 0)
    assert answer.is_error and "capabilities.network.allow" in answer.text
    assert door.seen == []


def _fetch(work: Path, trace: TraceWriter, rules: str, limit: int = 1000) -> FetchPeerFile:
    return FetchPeerFile(
        rules=parse_rules([rules]),
        work=open_root(work),
        identity="reader@localhost:9",
        limit=limit,
        trace=trace,
    )


def _handle(path: str) -> str:
    return PeerHandles("ses_other").mint(path, "reader@localhost:9", 60).token


def _serve(door: Door, data: bytes, **headers: str) -> None:
    etag = f'"sha256:{hashlib.sha256(data).hexdigest()}"'
    door.answers["*"] = (200, {"etag": etag, "x-murmur-generation": "7", **headers}, data)


def _call(tool: FetchPeerFile, peer: str, handle: str) -> Answer:
    return tool({"peer": peer, "handle": handle}, ATTEMPT, 0)


def test_a_file_is_stored_whole_and_named_by_its_handle(
    door: Door, work: Path, trace: TraceWriter, tmp_path: Path
) -> None:
    _serve(door, b"contents")
    handle = _handle("deep/re port.txt")
    answer = _call(_fetch(work, trace, door.address), door.address, handle)
    shown = json.loads(answer.text)
    name = f"peer-in/{handle_id(handle)}-re_port.txt"
    assert (shown["path"], shown["bytes"], shown["generation"]) == (name, 8, 7)
    assert shown["peer"] == door.address and "contents" not in answer.text
    assert (work / name).read_bytes() == b"contents"
    assert [each.name for each in (work / "peer-in").iterdir()] == [name.rpartition("/")[2]]
    path, headers = door.seen[0]
    assert path == f"/resources/peer/{handle}"
    assert headers["x-murmur-audience"] == "reader@localhost:9"
    (line,) = _lines(tmp_path, "peer_file_fetch")
    assert (line["outcome"], line["stored_path"], line["bytes"]) == ("ok", name, 8)
    assert handle not in (tmp_path / "trace.jsonl").read_text()


@pytest.mark.parametrize("path", ["x" * 121, "", "a/"])
def test_a_name_that_cannot_be_one_becomes_file(
    door: Door, work: Path, trace: TraceWriter, path: str
) -> None:
    _serve(door, b"x")
    handle = _handle(path)
    answer = _call(_fetch(work, trace, door.address), door.address, handle)
    assert json.loads(answer.text)["path"] == f"peer-in/{handle_id(handle)}-file"


def _outcome(tmp_path: Path) -> str:
    (line,) = _lines(tmp_path, "peer_file_fetch")
    assert (line["stored_path"], line["bytes"], line["sha256"]) == (None, None, None)
    return str(line["outcome"])


def _nothing_is_left(work: Path) -> bool:
    folder = work / "peer-in"
    return not folder.is_dir() or not list(folder.iterdir())


def test_the_peer_is_checked_before_anybody_connects(
    door: Door, work: Path, trace: TraceWriter, tmp_path: Path
) -> None:
    answer = _call(_fetch(work, trace, "example.com"), door.address, _handle("a"))
    assert answer.is_error and "capabilities.peer_fetch.allow" in answer.text
    assert _outcome(tmp_path) == "peer_not_allowed" and door.seen == []


def test_a_refusal_of_the_door_keeps_its_word(
    door: Door, work: Path, trace: TraceWriter, tmp_path: Path
) -> None:
    door.answers["*"] = (410, {}, b'{"error":"handle_expired","message":"it has expired"}')
    answer = _call(_fetch(work, trace, door.address), door.address, _handle("a"))
    assert answer.is_error and "handle_expired" in answer.text
    assert _outcome(tmp_path) == "handle_expired" and _nothing_is_left(work)


def test_bytes_other_than_announced_are_not_kept(
    door: Door, work: Path, trace: TraceWriter, tmp_path: Path
) -> None:
    door.answers["*"] = (200, {"etag": '"sha256:' + "0" * 64 + '"'}, b"other")
    _call(_fetch(work, trace, door.address), door.address, _handle("a"))
    assert _outcome(tmp_path) == "etag_mismatch" and _nothing_is_left(work)


def test_a_file_that_is_too_large_is_not_kept(
    door: Door, work: Path, trace: TraceWriter, tmp_path: Path
) -> None:
    _serve(door, bytes(50))
    _call(_fetch(work, trace, door.address, limit=49), door.address, _handle("a"))
    assert _outcome(tmp_path) == "too_large" and _nothing_is_left(work)


def test_a_peer_that_is_not_there_and_a_handle_that_is_none(
    door: Door, work: Path, trace: TraceWriter, tmp_path: Path
) -> None:
    tool = _fetch(work, trace, "127.0.0.1")
    assert _call(tool, "127.0.0.1:1", _handle("a")).is_error
    assert _outcome(tmp_path) == "peer_unreachable"
    assert "malformed_handle" in _call(tool, door.address, "mh1.x").text
    assert "peer_not_allowed" in _call(tool, "ftp://x", _handle("a")).text
    assert door.seen == []


def test_a_link_in_the_place_of_the_folder_is_never_followed(
    door: Door, work: Path, trace: TraceWriter, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere").mkdir()
    (work / "peer-in").symlink_to(tmp_path / "elsewhere")
    _serve(door, b"contents")
    _call(_fetch(work, trace, door.address), door.address, _handle("a"))
    assert _outcome(tmp_path) == "io_error"
    assert not list((tmp_path / "elsewhere").iterdir())
