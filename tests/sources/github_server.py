"""An HTTP server on loopback that speaks the part of GitHub's API that sources need.

Releases, assets and repositories; assets are redirected to a second server, as GitHub does, which
answers ranges. Everything asked is kept, and single answers can be replaced by troubles.
"""

import dataclasses
import hashlib
import json
import re
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

from .archives import index

INDEX = "artifacts-index.json"


@dataclasses.dataclass
class Asked:
    server: str
    path: str
    headers: dict[str, str]


@dataclasses.dataclass
class Repository:
    """`latest` is the tag of the newest release; `token` makes the repository private."""

    owner_id: int
    releases: dict[str, dict[str, bytes]] = dataclasses.field(default_factory=dict)
    latest: str | None = None
    token: str | None = None


Trouble = Callable[["Handler"], bool]
"""Answers in place of the server; False leaves the answer to it after all."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    role: str
    world: "GitHubServer"

    def log_message(self, format: str, *args: object) -> None: ...

    def do_GET(self) -> None:
        headers = {key.lower(): value for key, value in self.headers.items()}
        self.close_connection = True
        self.world.asked.append(Asked(self.role, self.path, headers))
        for pattern, trouble in list(self.world.troubles):
            if re.search(pattern, self.path) and trouble(self):
                return
        if self.role == "api":
            self._api(headers)
        else:
            self._storage(headers)

    def send(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def json(self, status: int, value: Any, **headers: str) -> None:
        self.send(status, json.dumps(value).encode(), Content_Type="application/json", **headers)

    def missing(self) -> None:
        self.json(404, {"message": "Not Found"})

    def _api(self, headers: dict[str, str]) -> None:
        match = re.fullmatch(r"/api/repos/([^/]+/[^/]+)(/.*)?", self.path)
        repository = self.world.repositories.get(match[1].lower()) if match else None
        if match is None or repository is None:
            return self.missing()
        if repository.token and headers.get("authorization") != f"Bearer {repository.token}":
            return self.missing()
        rest = match[2] or ""
        if rest == "":
            return self.json(200, {"full_name": match[1], "owner": {"id": repository.owner_id}})
        tag = re.fullmatch(r"/releases/tags/(.+)", rest)
        if rest == "/releases/latest" and repository.latest:
            return self._release(repository, repository.latest)
        if tag is not None and unquote(tag[1]) in repository.releases:
            return self._release(repository, unquote(tag[1]))
        asset = re.fullmatch(r"/releases/assets/([0-9]+)", rest)
        if asset is not None and int(asset[1]) in self.world.numbers(repository):
            if headers.get("accept") != "application/octet-stream":
                return self.json(200, {"id": int(asset[1])})
            location = f"{self.world.storage}/blob/{match[1]}/{asset[1]}?sig=x"
            return self.send(302, Location=location)
        return self.missing()

    def _release(self, repository: Repository, tag: str) -> None:
        assets = [
            {"id": number, "name": name, "size": len(data)}
            | (
                {"digest": "sha256:" + hashlib.sha256(data).hexdigest()}
                if self.world.digests
                else {}
            )
            for number, (held, name, data) in self.world.numbers(repository).items()
            if held == tag
        ]
        self.json(200, {"tag_name": tag, "assets": assets})

    def _storage(self, headers: dict[str, str]) -> None:
        match = re.fullmatch(r"/blob/([^/]+/[^/]+)/([0-9]+)\?sig=x", self.path)
        if match is None or "authorization" in headers:
            return self.send(400, b"a token does not belong here")
        repository = self.world.repositories[match[1].lower()]
        data = self.world.numbers(repository)[int(match[2])][2]
        etag = f'"{hashlib.md5(data).hexdigest()}"'
        wanted = re.fullmatch(r"bytes=([0-9]+)-", headers.get("range", ""))
        if wanted is not None and headers.get("if-range") == etag:
            start = int(wanted[1])
            span = f"bytes {start}-{len(data) - 1}/{len(data)}"
            return self.send(206, data[start:], ETag=etag, Content_Range=span)
        self.send(200, data, ETag=etag)


class GitHubServer:
    """Two servers, `api` and `storage`, over some repositories."""

    def __init__(self) -> None:
        self.repositories: dict[str, Repository] = {}
        self.asked: list[Asked] = []
        self.troubles: list[tuple[str, Trouble]] = []
        self.digests = False
        self._servers = []
        for role in ("api", "storage"):
            handler = type(role, (Handler,), {"role": role, "world": self})
            server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
            server.daemon_threads = True
            threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
            self._servers.append(server)
        self.base = f"http://127.0.0.1:{self._servers[0].server_port}/api"
        self.storage = f"http://127.0.0.1:{self._servers[1].server_port}"

    def close(self) -> None:
        for server in self._servers:
            server.shutdown()
            server.server_close()

    def publish(
        self, repository: str, tag: str, *assets: tuple[str, bytes], owner_id: int = 42
    ) -> Repository:
        """A release, newest from now on, with the index of all releases among its assets."""
        held = self.repositories.setdefault(repository.lower(), Repository(owner_id))
        held.releases[tag] = dict(assets)
        held.latest = tag
        scope = repository.partition("/")[0].lower()
        if repository == "murmur-nexus/default-artifacts":
            scope = "murmur"
        packed = {
            each: {name: data for name, data in files.items() if name.endswith(".mur.zip")}
            for each, files in held.releases.items()
        }
        held.releases[tag][INDEX] = index(scope, packed)
        return held

    def numbers(self, repository: Repository) -> dict[int, tuple[str, str, bytes]]:
        """Every asset by its number: its release, name and bytes."""
        found = {}
        for number, (tag, name, data) in enumerate(
            (tag, name, data)
            for tag, assets in repository.releases.items()
            for name, data in assets.items()
        ):
            found[100 + number] = (tag, name, data)
        return found

    def paths(self, role: str) -> list[str]:
        return [each.path for each in self.asked if each.server == role]

    def downloads(self) -> int:
        """How many answers the storage was asked for, indexes included."""
        return len(self.paths("storage"))

    def trouble(self, pattern: str, trouble: Trouble, times: int = 1_000_000) -> None:
        """From now on `trouble` answers what matches, so many times."""
        left = [times]

        def limited(handler: Handler) -> bool:
            if left[0] <= 0:
                return False
            left[0] -= 1
            return trouble(handler)

        self.troubles.append((pattern, limited))


def answers(status: int, message: str = "", **headers: str) -> Trouble:
    """Always the same answer."""

    def trouble(handler: Handler) -> bool:
        handler.json(status, {"message": message}, **headers)
        return True

    return trouble


def breaks_off(after: int) -> Trouble:
    """The storage's answer, cut after so many bytes of its body."""

    def trouble(handler: Handler) -> bool:
        whole = handler.wfile.write
        left = [after]

        def cut(data: bytes) -> int:
            if data.startswith(b"HTTP/1.1"):
                return whole(data)
            piece = data[: left[0]]
            left[0] -= len(piece)
            whole(piece)
            return len(data)

        handler.wfile.write = cut  # type: ignore[method-assign,assignment]
        return False

    return trouble
