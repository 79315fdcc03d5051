"""The file planes: the operator's by path, the peers' by handle. spec/door.md 17 and 18.

Files are read, and whole trees hashed, in one thread of the door's own beside the event loop: a
listing of a large work folder would hold up every stream otherwise. Every request leaves one trace
line, refusals included.
"""

import asyncio
import hashlib
import os
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote_to_bytes

from starlette.requests import Request
from starlette.responses import Response

from murmur.core.exported import ExportedFile, ExportedRoot, ExportRefused
from murmur.core.peer_handles import BadHandle, PeerHandles, handle_id
from murmur.core.safefs import Root
from murmur.door import errors, paths
from murmur.door.envelope import encode
from murmur.door.file_tree import list_tree

_CHUNK: Final = 1 << 20

_STATUSES: Final = {
    "not_found": 404,
    "outside_root": 403,
    "symlink_refused": 403,
    "not_a_regular_file": 403,
    "too_large": 413,
    "io_error": 500,
    "malformed_handle": 400,
    "missing_audience": 400,
    "handle_not_valid": 403,
    "handle_expired": 410,
}

Record = Callable[[str, Mapping[str, Any]], object]


@dataclass(frozen=True, slots=True)
class Export:
    """One exported subtree: the manifest's `root` as written, and the most bytes of one file."""

    root: str
    max_bytes: int


@dataclass(frozen=True, slots=True)
class PlaneFacts:
    """What both planes serve from. `files` or `peer_files` None is a plane that is not declared.

    `generation` counts the tasks that have ended; `containment` is the achieved class; `record`
    writes a trace line and may be called from any thread.
    """

    work: Root
    work_path: str
    containment: str
    generation: Callable[[], int]
    record: Record
    files: Export | None = None
    peer_files: Export | None = None
    handles: PeerHandles | None = None


@dataclass(frozen=True, slots=True)
class _Read:
    """A file's bytes and facts, all from one descriptor."""

    data: bytes
    path: str
    mtime_ms: int

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()


class Planes:
    """Answers everything beneath both prefixes."""

    def __init__(self, facts: PlaneFacts) -> None:
        self._facts = facts
        self._stopped = threading.Event()
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="murmur-planes")

    def close(self) -> None:
        """Ends a listing under way at its next file; nothing begins any more."""
        self._stopped.set()
        self._reader.shutdown(wait=False, cancel_futures=True)

    async def answer_files(self, request: Request, target: str) -> Response:
        """Raises the plane's HttpRefusal."""
        if target == paths.FILES:
            return await self._run(self._list, request.method)
        wanted = _decoded(target.removeprefix(paths.FILES + "/"))
        if not target.startswith(paths.FILES + "/"):
            wanted = _decoded(target.removeprefix(paths.RESOURCES))
            return await self._run(self._elsewhere, request.method, wanted)
        return await self._run(self._read_file, request.method, wanted)

    async def answer_peer(self, request: Request, target: str, audience: str | None) -> Response:
        """Raises the plane's HttpRefusal. `audience` is the lower-cased `x-murmur-audience`."""
        token = _decoded(target.removeprefix(paths.PEER).removeprefix("/"))
        return await self._run(self._redeem, request.method, token, audience)

    async def _run(self, work: Callable[..., Response], *arguments: object) -> Response:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._reader, work, *arguments)

    # In the reading thread.

    def _list(self, method: str) -> Response:
        export = self._facts.files
        try:
            if export is None:
                raise _no_plane()
            _only_get(method)
            entries = self._entries(export)
        except errors.HttpRefusal as refusal:
            self._record_list(export, [], refusal)
            raise
        self._record_list(export, entries, None)
        return _json(
            {
                "root": export.root,
                "mode": "read-only",
                "max_bytes": export.max_bytes,
                "generation": self._facts.generation(),
                "containment_achieved": self._facts.containment,
                "entries": entries,
            }
        )

    def _record_list(
        self,
        export: Export | None,
        entries: list[dict[str, Any]],
        refusal: errors.HttpRefusal | None,
    ) -> None:
        self._facts.record(
            "resource_list",
            {
                "root": export.root if export else "",
                "entry_count": len(entries),
                "total_bytes": sum(each["size_bytes"] for each in entries),
                "generation": self._facts.generation(),
                "containment_achieved": self._facts.containment,
                **_outcome(refusal),
            },
        )

    def _entries(self, export: Export) -> list[dict[str, Any]]:
        try:
            with ExportedRoot(self._facts.work, self._facts.work_path, export.root) as root:
                return list_tree(Root(os.dup(root.fileno())), self._stopped)
        except ExportRefused as refused:
            if refused.code == "not_found":
                return []
            raise _refusal(refused.code, refused.reason) from None
        except OSError as failure:
            raise _refusal("io_error", failure.strerror or str(failure)) from None

    def _elsewhere(self, method: str, wanted: str) -> Response:
        """What lies beneath `/resources/` and is no plane."""
        refusal = _refusal("not_found", "there is nothing here") if self._facts.files else None
        return self._refused_read(wanted, refusal or _no_plane())

    def _refused_read(self, wanted: str, refusal: errors.HttpRefusal) -> Response:
        self._record_read(wanted, None, refusal)
        raise refusal

    def _read_file(self, method: str, wanted: str) -> Response:
        export = self._facts.files
        if export is None:
            return self._refused_read(wanted, _no_plane())
        try:
            _only_get(method)
            found = self._read(export, wanted)
        except errors.HttpRefusal as refusal:
            return self._refused_read(wanted, refusal)
        self._record_read(wanted, found, None)
        return self._bytes(found, {"x-murmur-export-root": export.root})

    def _record_read(
        self, wanted: str, found: _Read | None, refusal: errors.HttpRefusal | None
    ) -> None:
        self._facts.record(
            "resource_read",
            {
                "path": wanted,
                "bytes": len(found.data) if found else None,
                "sha256": found.sha256 if found else None,
                "generation": self._facts.generation(),
                "containment_achieved": self._facts.containment,
                **_outcome(refusal),
            },
        )

    def _redeem(self, method: str, token: str, audience: str | None) -> Response:
        path: str | None = None
        try:
            export, handles = self._facts.peer_files, self._facts.handles
            if export is None or handles is None:
                raise _refusal("no_peer_plane", "this capsule hands no files to peers", 404)
            if not token:
                raise _refusal("not_found", "a handle is needed")
            _only_get(method)
            try:
                path = handles.path_of(token, audience)
            except BadHandle as bad:
                raise _refusal(bad.code, bad.reason) from None
            found = self._read(export, path)
        except errors.HttpRefusal as refusal:
            self._record_redeem(token, path, audience, None, refusal)
            raise
        self._record_redeem(token, path, audience, found, None)
        return self._bytes(found, {"x-murmur-handle-id": handle_id(token)})

    def _record_redeem(
        self,
        token: str,
        path: str | None,
        audience: str | None,
        found: _Read | None,
        refusal: errors.HttpRefusal | None,
    ) -> None:
        self._facts.record(
            "peer_handle_redeem",
            {
                "handle_id": handle_id(token),
                "path": path,
                "generation": self._facts.generation(),
                "audience_asserted": audience,
                "bytes": len(found.data) if found else None,
                "sha256": found.sha256 if found else None,
                **_outcome(refusal),
            },
        )

    def _read(self, export: Export, wanted: str) -> _Read:
        """Raises the plane's HttpRefusal."""
        links = self._facts.containment != "scoped"
        try:
            with ExportedRoot(self._facts.work, self._facts.work_path, export.root) as root:
                opened = root.open(wanted, links=links, max_bytes=export.max_bytes)
            return _contents(opened, export.max_bytes)
        except ExportRefused as refused:
            raise _refusal(refused.code, refused.reason) from None
        except OSError as failure:
            raise _refusal("io_error", failure.strerror or str(failure)) from None

    def _bytes(self, found: _Read, more: Mapping[str, str]) -> Response:
        headers = {
            "etag": f'"sha256:{found.sha256}"',
            "x-murmur-mtime-ms": str(found.mtime_ms),
            "x-murmur-generation": str(self._facts.generation()),
            "x-murmur-containment": self._facts.containment,
            "connection": "close",
            # Header values go out as latin-1: UTF-8 spelled in it is UTF-8 on the wire.
            **{name: value.encode().decode("latin-1") for name, value in more.items()},
        }
        return Response(found.data, headers=headers, media_type="application/octet-stream")


def _contents(opened: ExportedFile, most: int) -> _Read:
    pieces: list[bytes] = []
    total = 0
    with os.fdopen(opened.descriptor, "rb", buffering=0) as file:
        while piece := file.read(_CHUNK):
            total += len(piece)
            if total > most:
                raise ExportRefused("too_large", f"{opened.path} holds more than {most} bytes")
            pieces.append(piece)
        mtime_ms = os.fstat(file.fileno()).st_mtime_ns // 1_000_000
    return _Read(b"".join(pieces), opened.path, mtime_ms)


def _decoded(text: str) -> str:
    return os.fsdecode(unquote_to_bytes(text))


def _only_get(method: str) -> None:
    if method != "GET":
        raise errors.HttpRefusal(
            405, "method_not_allowed", "files are read with GET", {"allow": "GET"}
        )


def _no_plane() -> errors.HttpRefusal:
    return _refusal("no_resource_plane", "this capsule exports no files", 404)


def _refusal(code: str, reason: str, status: int | None = None) -> errors.HttpRefusal:
    return errors.HttpRefusal(status or _STATUSES[code], code, reason)


def _outcome(refusal: errors.HttpRefusal | None) -> dict[str, Any]:
    if refusal is None:
        return {"outcome": "ok", "reason": None}
    return {"outcome": refusal.error, "reason": refusal.message}


def _json(value: object) -> Response:
    return Response(encode(value), headers={"connection": "close"}, media_type="application/json")
