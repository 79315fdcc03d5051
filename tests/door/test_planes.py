"""The file planes. spec/door.md 17 and 18."""

import dataclasses
import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from murmur.core.peer_handles import PeerHandles, handle_id
from murmur.core.safefs import open_root
from murmur.core.tasks import TaskState
from murmur.door.planes import Export, PlaneFacts, Planes
from murmur.door.tokens import DoorTokens
from murmur.trace.events import EVENTS

from .conftest import SESSION, OpenDoor, ServedDoor

AUDIENCE = "reader@localhost:4000"


@dataclasses.dataclass
class Served:
    """A door with planes over a work folder, and what they recorded."""

    door: ServedDoor
    work: Path
    handles: PeerHandles
    lines: list[tuple[str, Mapping[str, Any]]]

    def get(self, path: str, method: str = "GET", **headers: str) -> httpx.Response:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        return httpx.request(method, self.door.url + path, headers=sent, timeout=10)

    def peer(self, path: str, audience: str | None = AUDIENCE, seconds: float = 60) -> Any:
        token = self.handles.mint(path, AUDIENCE, seconds).token
        headers = {} if audience is None else {"x_murmur_audience": audience}
        return self.get(f"/resources/peer/{token}", **headers)

    def last(self, event: str) -> Mapping[str, Any]:
        """The newest recorded line, which the catalogue allows."""
        name, fields = self.lines[-1]
        assert name == event
        return EVENTS[event].payload(fields)


@pytest.fixture
def serve(open_door: OpenDoor, tmp_path: Path) -> Iterator[Callable[..., Served]]:
    handles = PeerHandles(SESSION)

    def served(
        *, containment: str = "advisory", declared: bool = True, max_bytes: int = 1000, **door: Any
    ) -> Served:
        work = tmp_path / "work"
        (work / "out" / "deep").mkdir(parents=True)
        (work / "shared").mkdir()
        (work / "secret.txt").write_text("secret")
        (work / "out" / "b.txt").write_text("bee")
        (work / "out" / "deep" / "a b.txt").write_text("sea")
        (work / "shared" / "s.txt").write_text("shared")
        lines: list[tuple[str, Mapping[str, Any]]] = []
        boards: list[ServedDoor] = []
        export = Export("out", max_bytes) if declared else None
        facts = PlaneFacts(
            work=open_root(work),
            work_path=str(work.resolve()),
            containment=containment,
            generation=lambda: boards[0].board.generation,
            record=lambda event, fields: lines.append((event, fields)),
            files=export,
            peer_files=Export("shared", max_bytes) if declared else None,
            handles=handles if declared else None,
        )
        boards.append(open_door(serving=Planes(facts), script=None, **door))
        return Served(boards[0], work, handles, lines)

    yield served


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def test_a_listing_names_every_regular_file_sorted_with_its_facts(
    serve: Callable[..., Served],
) -> None:
    served = serve()
    (served.work / "out" / "link").symlink_to("b.txt")
    os.mkfifo(served.work / "out" / "pipe")
    big = served.work / "out" / "z.bin"
    big.write_bytes(b"x" * 5000)
    answer = served.get("/resources/files")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    listing = answer.json()
    assert list(listing) == [
        "root",
        "mode",
        "max_bytes",
        "generation",
        "containment_achieved",
        "entries",
    ]
    assert (listing["root"], listing["mode"], listing["max_bytes"]) == ("out", "read-only", 1000)
    assert [entry["path"] for entry in listing["entries"]] == ["b.txt", "deep/a b.txt", "z.bin"]
    status = big.stat()
    assert listing["entries"][2] == {
        "path": "z.bin",
        "size_bytes": 5000,
        "mtime_ms": status.st_mtime_ns // 1_000_000,
        "sha256": digest(b"x" * 5000),
    }
    assert served.last("resource_list") == {
        "root": "out",
        "entry_count": 3,
        "total_bytes": 5006,
        "generation": 0,
        "containment_achieved": "advisory",
        "outcome": "ok",
        "reason": None,
    }


def test_a_file_is_read_with_its_facts_in_the_head(serve: Callable[..., Served]) -> None:
    served = serve()
    task = served.door.board.submit_local("x")
    assert served.door.board.take(0) and served.door.board.start(task)
    served.door.board.finish(task.id, TaskState.FAILED, "session ended")
    answer = served.get("/resources/files/deep/a%20b.txt")
    assert (answer.status_code, answer.content) == (200, b"sea")
    head = answer.headers
    assert head["content-type"] == "application/octet-stream"
    assert head["etag"] == f'"sha256:{digest(b"sea")}"'
    assert head["content-length"] == "3"
    mtime = (served.work / "out" / "deep" / "a b.txt").stat().st_mtime_ns // 1_000_000
    assert head["x-murmur-mtime-ms"] == str(mtime)
    assert head["x-murmur-generation"] == "1"
    assert head["x-murmur-containment"] == "advisory"
    assert head["x-murmur-export-root"] == "out"
    assert head["connection"] == "close"
    assert served.last("resource_read") == {
        "path": "deep/a b.txt",
        "outcome": "ok",
        "bytes": 3,
        "sha256": digest(b"sea"),
        "generation": 1,
        "containment_achieved": "advisory",
        "reason": None,
    }


REFUSED = {
    "nothing there": ("nothing", 404, "not_found"),
    "an empty path": ("", 403, "outside_root"),
    "a parent": ("../secret.txt", 403, "outside_root"),
    "an encoded parent": ("%2e%2e/secret.txt", 403, "outside_root"),
    "an encoded slash": ("deep%2f..%2f..%2fsecret.txt", 403, "outside_root"),
    "an absolute path": ("%2fetc/passwd", 403, "outside_root"),
    "an empty segment": ("deep//x", 403, "outside_root"),
    "a dot": ("./b.txt", 403, "outside_root"),
    "a NUL": ("b.txt%00", 403, "outside_root"),
    "a folder": ("deep", 403, "not_a_regular_file"),
    "a pipe": ("pipe", 403, "not_a_regular_file"),
    "a link out": ("leaves", 403, "outside_root"),
    "too much": ("big", 413, "too_large"),
    "a query": ("b.txt?x=1", 404, "not_found"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_read_says_why_and_leaves_a_line(
    serve: Callable[..., Served], case: str
) -> None:
    served = serve()
    out = served.work / "out"
    os.mkfifo(out / "pipe")
    (out / "leaves").symlink_to("../secret.txt")
    (out / "big").write_bytes(b"x" * 1001)
    path, status, error = REFUSED[case]
    request = f"GET /resources/files/{path} HTTP/1.1\r\nhost: x\r\n\r\n"
    answer = served.door.raw(request.encode())
    assert answer.startswith(f"HTTP/1.1 {status} ".encode())
    body = json.loads(answer.partition(b"\r\n\r\n")[2])
    assert body["error"] == error and body["message"]
    line = served.last("resource_read")
    assert (line["outcome"], line["bytes"], line["sha256"]) == (error, None, None)
    assert b"secret" not in answer.replace(b"secret.txt", b"")


def test_a_link_inside_is_followed_unless_the_class_is_scoped(
    serve: Callable[..., Served], tmp_path: Path
) -> None:
    served = serve(containment="scoped")
    (served.work / "out" / "near").symlink_to("b.txt")
    answer = served.get("/resources/files/near")
    assert (answer.status_code, answer.json()["error"]) == (403, "symlink_refused")
    served.work.rename(tmp_path / "gone")


@pytest.mark.parametrize("containment", ["advisory", "sealed"])
def test_a_link_that_stays_inside_is_served(serve: Callable[..., Served], containment: str) -> None:
    served = serve(containment=containment)
    (served.work / "out" / "near").symlink_to("b.txt")
    assert served.get("/resources/files/near").content == b"bee"


def test_any_other_method_is_refused_and_what_is_not_declared_is_said(
    serve: Callable[..., Served],
) -> None:
    served = serve()
    for method in ("POST", "PUT", "DELETE", "HEAD"):
        for path in ("/resources/files", "/resources/files/b.txt"):
            answer = served.get(path, method)
            assert (answer.status_code, answer.headers["allow"]) == (405, "GET")
    assert served.lines[-1][1]["outcome"] == "method_not_allowed"
    assert served.get("/resources/other").json()["error"] == "not_found"


def test_a_capsule_without_exports_says_so_for_every_request(
    serve: Callable[..., Served],
) -> None:
    served = serve(declared=False)
    for path in ("/resources/files", "/resources/files/b.txt", "/resources/x"):
        answer = served.get(path, "POST" if path.endswith("x") else "GET")
        assert (answer.status_code, answer.json()["error"]) == (404, "no_resource_plane")
    answer = served.get("/resources/peer/mh1.a.b", x_murmur_audience=AUDIENCE)
    assert (answer.status_code, answer.json()["error"]) == (404, "no_peer_plane")
    assert served.last("peer_handle_redeem")["outcome"] == "no_peer_plane"
    assert len(served.lines) == 4


def test_a_root_that_is_not_there_lists_nothing(serve: Callable[..., Served]) -> None:
    served = serve()
    (served.work / "out").rename(served.work / "elsewhere")
    assert served.get("/resources/files").json()["entries"] == []
    assert served.get("/resources/files/b.txt").json()["error"] == "not_found"


def test_a_root_that_becomes_a_link_out_is_refused(
    serve: Callable[..., Served], tmp_path: Path
) -> None:
    served = serve()
    (served.work / "out").rename(tmp_path / "outside")
    (served.work / "out").symlink_to(tmp_path / "outside")
    for path in ("/resources/files", "/resources/files/b.txt"):
        assert served.get(path).json()["error"] == "outside_root"


def test_an_authenticated_door_asks_for_a_token_and_its_scope(
    serve: Callable[..., Served],
) -> None:
    tokens = DoorTokens("worker", {"files": ["resources/files"], "reader": ["GetTask"]})
    served = serve(tokens=tokens)
    assert served.get("/resources/files").status_code == 401
    refused = served.get("/resources/files", authorization=f"Bearer {tokens.credentials['reader']}")
    assert refused.status_code == 403
    assert refused.headers["www-authenticate"].endswith('scope="resources/files"')
    assert served.lines == []
    token = tokens.credentials["files"]
    assert served.get("/resources/files", authorization=f"Bearer {token}").status_code == 200
    # A handle is a peer's whole credential.
    assert served.peer("s.txt").content == b"shared"


def test_a_handle_opens_one_file_for_one_audience(serve: Callable[..., Served]) -> None:
    served = serve()
    minted = served.handles.mint("s.txt", AUDIENCE, 60)
    answer = served.get(f"/resources/peer/{minted.token}", x_murmur_audience=AUDIENCE.upper())
    assert (answer.status_code, answer.content) == (200, b"shared")
    assert answer.headers["x-murmur-handle-id"] == minted.id
    assert answer.headers["etag"] == f'"sha256:{digest(b"shared")}"'
    assert "x-murmur-export-root" not in answer.headers
    assert served.last("peer_handle_redeem") == {
        "handle_id": minted.id,
        "path": "s.txt",
        "generation": 0,
        "audience_asserted": AUDIENCE,
        "bytes": 6,
        "sha256": digest(b"shared"),
        "outcome": "ok",
        "reason": None,
    }
    assert minted.token not in json.dumps(served.lines)


def test_what_redeems_nothing(serve: Callable[..., Served]) -> None:
    served = serve()
    good = served.handles.mint("s.txt", AUDIENCE, 60).token
    foreign = PeerHandles(SESSION).mint("s.txt", AUDIENCE, 60).token
    cases = [
        ("", AUDIENCE, 404, "not_found"),
        ("nonsense", AUDIENCE, 400, "malformed_handle"),
        ("mh1.e30.AAAA", AUDIENCE, 400, "malformed_handle"),
        (good, None, 400, "missing_audience"),
        (good, "", 400, "missing_audience"),
        (good, "somebody@else:1", 403, "handle_not_valid"),
        (foreign, AUDIENCE, 403, "handle_not_valid"),
        (served.handles.mint("s.txt", AUDIENCE, -1).token, AUDIENCE, 410, "handle_expired"),
        (served.handles.mint("gone", AUDIENCE, 60).token, AUDIENCE, 404, "not_found"),
    ]
    texts = set()
    for token, audience, status, error in cases:
        headers = {} if audience is None else {"x_murmur_audience": audience}
        answer = served.get(f"/resources/peer/{token}", **headers)
        assert (answer.status_code, answer.json()["error"]) == (status, error)
        line = served.last("peer_handle_redeem")
        assert (line["outcome"], line["handle_id"]) == (error, handle_id(token))
        assert line["path"] == ("gone" if token == cases[-1][0] else None)
        if error == "handle_not_valid":
            texts.add(answer.content)
    assert len(texts) == 1
    assert served.get("/resources/peer").json()["error"] == "not_found"
    answer = served.get(f"/resources/peer/{good}", "POST", x_murmur_audience=AUDIENCE)
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET")


def test_the_session_s_end_revokes_every_handle(serve: Callable[..., Served]) -> None:
    served = serve()
    token = served.handles.mint("s.txt", AUDIENCE, 60).token
    served.handles.revoke()
    answer = served.get(f"/resources/peer/{token}", x_murmur_audience=AUDIENCE)
    assert (answer.status_code, answer.json()["error"]) == (403, "handle_not_valid")


def test_a_large_listing_delays_no_other_request(serve: Callable[..., Served]) -> None:
    served = serve(max_bytes=10)
    (served.work / "out" / "huge").write_bytes(bytes(100 << 20))
    listing = threading.Thread(target=served.get, args=("/resources/files",))
    listing.start()
    answered = 0
    while listing.is_alive():
        served.door.call("ListTasks")
        answered += 1
    listing.join()
    # One that had to wait for the listing would be the only one.
    assert answered > 3
