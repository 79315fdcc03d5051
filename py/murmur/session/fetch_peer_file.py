"""The runtime-provided tool `fetch-peer-file`. spec/sessions.md 15.3; spec/door.md 18."""

import base64
import contextlib
import dataclasses
import hashlib
import http.client
import json
import os
import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from murmur.core.peer_handles import handle_id
from murmur.core.safefs import Root
from murmur.manifest.network import NetworkRule
from murmur.session.answers import Answer, refusal
from murmur.session.attempt import Attempt
from murmur.session.peer_connection import (
    BadPeer,
    NotAllowed,
    check_peer,
    connect_peer,
    parse_peer,
)
from murmur.trace.writer import TraceWriter

FOLDER: Final = "peer-in"
_FIELD: Final = "capabilities.peer_fetch.allow"
_SECONDS: Final = 60.0
_CHUNK: Final = 1 << 16
_REFUSAL_BYTES: Final = 1 << 16
_LONGEST_NAME: Final = 120
_HANDLE: Final = re.compile(r"mh1\.([A-Za-z0-9_-]+)\.[A-Za-z0-9_-]+")
_WORD: Final = re.compile(r"[a-z_]{1,40}")


class _Refused(Exception):
    """A fetch that stored nothing."""

    def __init__(self, outcome: str, reason: str) -> None:
        super().__init__(reason)
        self.outcome = outcome
        self.reason = reason


@dataclasses.dataclass(frozen=True, slots=True)
class _Stored:
    path: str
    size: int
    sha256: str
    generation: int | None


@dataclasses.dataclass(frozen=True, slots=True)
class FetchPeerFile:
    """Redeems a handle at a peer's door and stores the file in the work folder.

    `identity` is this capsule's own `<name>@<host:port>`; `limit` the most bytes taken.
    """

    rules: Sequence[NetworkRule]
    work: Root
    identity: str
    limit: int
    trace: TraceWriter

    def __call__(self, arguments: Mapping[str, object], attempt: Attempt, turn: int) -> Answer:
        peer, handle = arguments.get("peer"), arguments.get("handle")
        if not isinstance(peer, str) or not isinstance(handle, str):
            return refusal("peer and handle must be strings")
        try:
            stored = self._fetch(peer, handle)
        except _Refused as refused:
            self._record(peer, handle, refused.outcome, refused.reason, None)
            return refusal(f"{refused.outcome}: {refused.reason}")
        self._record(peer, handle, "ok", None, stored)
        shown = {
            "path": stored.path,
            "bytes": stored.size,
            "sha256": stored.sha256,
            "generation": stored.generation,
            "peer": peer,
        }
        return Answer(json.dumps(shown))

    def _fetch(self, peer: str, handle: str) -> _Stored:
        try:
            url = parse_peer(peer)
            check_peer(self.rules, url, _FIELD)
        except (BadPeer, NotAllowed) as refused:
            raise _Refused("peer_not_allowed", str(refused)) from None
        shaped = _HANDLE.fullmatch(handle)
        if shaped is None:
            raise _Refused("malformed_handle", "the handle is not shaped like one")
        name = f"{handle_id(handle)}-{_basename(shaped[1])}"
        try:
            with contextlib.closing(connect_peer(self.rules, url, _SECONDS, _FIELD)) as connection:
                connection.request(
                    "GET",
                    f"/resources/peer/{handle}",
                    headers={"x-murmur-audience": self.identity, "connection": "close"},
                )
                response = connection.getresponse()
                if response.status != 200:
                    raise _peers_refusal(response, url.netloc)
                return self._store(response, name)
        except NotAllowed as refused:
            raise _Refused("peer_not_allowed", str(refused)) from None
        except (OSError, http.client.HTTPException, ValueError) as failure:
            why = failure or type(failure).__name__
            raise _Refused("peer_unreachable", f"{url.netloc} did not answer: {why}") from None

    def _store(self, response: http.client.HTTPResponse, name: str) -> _Stored:
        """Writes the body beside its place, and puts it there once it is what the peer says."""
        unfinished = f".{name}.{secrets.token_hex(8)}.tmp"
        try:
            folder = self.work.sub(FOLDER, create=True, mode=0o777)
        except OSError as failure:
            raise _Refused("io_error", f"{FOLDER}: {failure.strerror or failure}") from None
        with folder:
            try:
                size, digest = self._write(response, folder, unfinished)
                etag = (response.getheader("etag") or "").strip('"')
                if etag != f"sha256:{digest}":
                    raise _Refused("etag_mismatch", "what arrived is not what the peer announced")
                os.rename(unfinished, name, src_dir_fd=folder.fileno(), dst_dir_fd=folder.fileno())
            except BaseException:
                with contextlib.suppress(OSError):
                    folder.unlink(unfinished)
                raise
        generation = response.getheader("x-murmur-generation") or ""
        number = int(generation) if generation.isascii() and generation.isdigit() else None
        return _Stored(f"{FOLDER}/{name}", size, digest, number)

    def _write(
        self, response: http.client.HTTPResponse, folder: Root, name: str
    ) -> tuple[int, str]:
        """Bytes written and their SHA-256."""
        digest, size = hashlib.sha256(), 0
        with _disk():
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
            stream = os.fdopen(folder.open_file(name, flags, 0o644), "wb", buffering=0)
        with stream:
            while piece := response.read(_CHUNK):
                size += len(piece)
                if size > self.limit:
                    raise _Refused("too_large", f"the file is larger than {self.limit} bytes")
                digest.update(piece)
                with _disk():
                    stream.write(piece)
        return size, digest.hexdigest()

    def _record(
        self, peer: str, handle: str, outcome: str, reason: str | None, stored: _Stored | None
    ) -> None:
        self.trace.write_aside(
            "peer_file_fetch",
            peer=peer,
            handle_id=handle_id(handle),
            stored_path=stored.path if stored is not None else None,
            bytes=stored.size if stored is not None else None,
            sha256=stored.sha256 if stored is not None else None,
            outcome=outcome,
            reason=reason,
        )


@contextlib.contextmanager
def _disk() -> Iterator[None]:
    """Tells a failure of this machine's disk from one of the peer's connection."""
    try:
        yield
    except OSError as failure:
        raise _Refused("io_error", f"{FOLDER}: {failure.strerror or failure}") from None


def _basename(payload: str) -> str:
    """The last part of the path that a handle names, as a file name that is safe anywhere."""
    try:
        told = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        name = str(told["p"]).rpartition("/")[2]
    except (ValueError, KeyError, TypeError, RecursionError):
        name = ""
    name = re.sub(r"[^A-Za-z0-9._-]", "_", name)
    return name if 0 < len(name) <= _LONGEST_NAME else "file"


def _peers_refusal(response: http.client.HTTPResponse, netloc: str) -> _Refused:
    """The refusal that a door answered, in its own word; `peer_unreachable` for anything else."""
    try:
        told = json.loads(response.read(_REFUSAL_BYTES))
        word, message = told["error"], told["message"]
    except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError):
        word, message = "", ""
    if isinstance(word, str) and _WORD.fullmatch(word):
        return _Refused(word, f"{netloc} refused the handle: {message}")
    return _Refused("peer_unreachable", f"{netloc} answered HTTP {response.status}")
