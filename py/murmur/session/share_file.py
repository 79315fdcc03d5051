"""The runtime-provided tool `share-file`. spec/sessions.md 15.3; spec/door.md 18."""

import contextlib
import dataclasses
import http.client
import json
import os
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from murmur.core.exported import ExportedRoot, ExportRefused
from murmur.core.peer_handles import Handle, PeerHandles
from murmur.core.safefs import Root
from murmur.manifest.network import NetworkRule
from murmur.manifest.quantities import LIFETIME, parse_quantity
from murmur.manifest.session import PeerFileExport
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

CARD_PATH: Final = "/.well-known/agent-card.json"
DEFAULT_LIFETIME_S: Final = 3600
_CARD_SECONDS: Final = 10.0
_LARGEST_CARD: Final = 1 << 20
_NETWORK: Final = "capabilities.network.allow"


class _Unread(Exception):
    """Why a peer's card told nothing."""


@dataclasses.dataclass(frozen=True, slots=True)
class ShareFile:
    """Mints a handle for one file and one peer, who is read from the card at its door.

    `links` says whether a link that stays inside the root is followed, as the door does when the
    handle is redeemed. `work_path` is canonical.
    """

    handles: PeerHandles
    export: PeerFileExport
    work: Root
    work_path: str
    links: bool
    rules: Sequence[NetworkRule]
    trace: TraceWriter

    def __call__(self, arguments: Mapping[str, object], attempt: Attempt, turn: int) -> Answer:
        path, peer = arguments.get("path"), arguments.get("peer")
        if not isinstance(path, str) or not isinstance(peer, str):
            return refusal("path and peer must be strings")
        try:
            lifetime = self._lifetime(arguments.get("ttl"))
        except ValueError as accepted:
            return refusal(f"ttl is {arguments.get('ttl')!r}, and may be {accepted}, above 0")
        try:
            path = self._canonical(path)
        except ExportRefused as refused:
            return self._refused(path, "", refused.code, refused.reason)
        except OSError as failure:
            return self._refused(path, "", "io_error", failure.strerror or str(failure))
        try:
            audience = self._audience(peer)
        except (BadPeer, NotAllowed, _Unread) as unread:
            return self._refused(path, "", "peer_unreachable", str(unread))
        handle = self.handles.mint(path, audience, lifetime)
        self._record(path, handle.audience, "ok", None, handle)
        shown = {
            "handle": handle.token,
            "handle_id": handle.id,
            "expires_at_ms": handle.expires_at_ms,
            "audience": handle.audience,
        }
        return Answer(json.dumps(shown))

    def _lifetime(self, ttl: object) -> int:
        """Seconds; what is asked for narrows and never widens. Raises ValueError."""
        longest = self.export.max_ttl or DEFAULT_LIFETIME_S
        if ttl is None:
            return longest
        seconds = parse_quantity(ttl, LIFETIME)
        if seconds == 0:
            raise ValueError(f"an integer, or one followed by {', '.join(LIFETIME)}")
        return min(seconds, longest)

    def _canonical(self, path: str) -> str:
        """The path with its links resolved. Raises ExportRefused, OSError."""
        with ExportedRoot(self.work, self.work_path, self.export.root) as root:
            opened = root.open(path, links=self.links, max_bytes=self.export.max_bytes)
        os.close(opened.descriptor)
        return opened.path

    def _audience(self, peer: str) -> str:
        """`<name>@<host:port>` of the capsule behind a door, as its card has them.

        Raises BadPeer, NotAllowed, _Unread.
        """
        url = parse_peer(peer)
        check_peer(self.rules, url, _NETWORK)
        try:
            with contextlib.closing(
                connect_peer(self.rules, url, _CARD_SECONDS, _NETWORK)
            ) as connection:
                connection.request("GET", CARD_PATH, headers={"connection": "close"})
                response = connection.getresponse()
                body = response.read(_LARGEST_CARD + 1)
        except (OSError, http.client.HTTPException, ValueError) as failure:
            why = failure or type(failure).__name__
            raise _Unread(f"the card of {url.netloc} cannot be read: {why}") from None
        if response.status != 200:
            raise _Unread(f"{url.netloc} answered HTTP {response.status} instead of its card")
        return _audience_of(body, url.netloc)

    def _refused(self, path: str, audience: str, outcome: str, reason: str) -> Answer:
        self._record(path, audience, outcome, reason, None)
        return refusal(f"{outcome}: {reason}")

    def _record(
        self, path: str, audience: str, outcome: str, reason: str | None, handle: Handle | None
    ) -> None:
        self.trace.write_aside(
            "peer_handle_mint",
            handle_id=handle.id if handle is not None else None,
            path=path,
            audience=audience,
            expires_at_ms=handle.expires_at_ms if handle is not None else None,
            outcome=outcome,
            reason=reason,
        )


def _audience_of(body: bytes, netloc: str) -> str:
    """Raises _Unread for what is no card of a capsule."""
    try:
        card: Any = json.loads(body)
        name = card["name"]
        url = next(
            each["url"]
            for each in card["supportedInterfaces"]
            if each.get("protocolBinding") == "JSONRPC"
        )
        address = urlsplit(url).netloc
        if not isinstance(name, str) or not name or not address:
            raise ValueError("name")
    except (ValueError, KeyError, TypeError, AttributeError, StopIteration, RecursionError):
        raise _Unread(f"{netloc} answered no agent card with a JSONRPC interface") from None
    return f"{name}@{address}".lower()
