"""One GitHub repository as a source: its releases, their assets, its owner. spec/registry.md 13.

Everything goes through the API, so that a token opens private repositories too. The answers are
read with bounds and checked before a field is used; what does not hold is `Unanswered`.
"""

import dataclasses
import json
import re
import threading
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO, Final, TypeVar
from urllib.parse import quote

from murmur.core.diagnostics import printable
from murmur.store.transport import Transfer, Unanswered, Web, url_fault

API: Final = "https://api.github.com"
API_VARIABLE: Final = "MUR_GITHUB_API_BASE"
ASSET_LIMIT: Final = 2 << 30
"""The most bytes that are taken of one asset, which is also GitHub's own limit."""

_Answer = TypeVar("_Answer")
_JSON: Final = "application/vnd.github+json"
_BYTES: Final = "application/octet-stream"
_ANSWER_LIMIT: Final = 16 << 20
_REPOSITORY: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?/[A-Za-z0-9._-]+")


@dataclasses.dataclass(frozen=True, slots=True)
class Asset:
    """One file of a release. `sha256` is GitHub's own digest of it, where it tells one."""

    id: int
    name: str
    size: int
    sha256: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Published:
    """One release."""

    tag: str
    assets: tuple[Asset, ...]

    def asset(self, name: str) -> Asset | None:
        return next((asset for asset in self.assets if asset.name == name), None)


class GitHub:
    """The repository `owner/name`, asked at most once for each release and for its owner.

    Every method raises transport.Absent and transport.Unanswered. Safe for several threads.
    """

    def __init__(self, repository: str, token: str | None, base: str = API) -> None:
        self.repository = repository
        self.has_token = token is not None
        self._base = base.rstrip("/")
        self._web = Web(token)
        self._lock = threading.Lock()
        self._locks: dict[str, threading.Lock] = {}
        self._kept: dict[str, Any] = {}

    @property
    def label(self) -> str:
        return f"github:{self.repository}"

    def latest(self) -> Published:
        """The newest release that is neither a draft nor a pre-release."""
        return self._once("latest", lambda: _release(self._json("/releases/latest")))

    def release(self, tag: str) -> Published:
        path = f"/releases/tags/{quote(tag, safe='')}"
        return self._once(f"tag {tag}", lambda: _release(self._json(path)))

    def owner_id(self) -> int:
        """The numeric id of the account that owns the repository now."""
        return self._once("owner", lambda: _owner(self._json("")))

    def read_asset(self, asset: Asset, limit: int) -> bytes:
        """A small asset as a whole, such as an index."""
        return self._web.read(self._asset_url(asset), _BYTES, limit)

    def download(self, asset: Asset, sink: BinaryIO, transfer: Transfer) -> str:
        """Writes an asset to `sink`; its sha256. Raises transport.Stopped as well."""
        return self._web.download(self._asset_url(asset), _BYTES, sink, ASSET_LIMIT, transfer)

    def _asset_url(self, asset: Asset) -> str:
        return self._url(f"/releases/assets/{asset.id}")

    def _url(self, path: str) -> str:
        fault = url_fault(self._base)
        if fault is not None:
            raise Unanswered(f"{API_VARIABLE} is {printable(self._base)}: {fault}")
        if not _REPOSITORY.fullmatch(self.repository) or self.repository.endswith(("/.", "/..")):
            raise Unanswered(f"{printable(self.repository)} is no repository of GitHub's")
        return f"{self._base}/repos/{self.repository}{path}"

    def _json(self, path: str) -> Mapping[str, Any]:
        data = self._web.read(self._url(path), _JSON, _ANSWER_LIMIT)
        try:
            value = json.loads(data)
        except (ValueError, RecursionError):
            raise Unanswered("its answer is not JSON") from None
        if not isinstance(value, dict):
            raise Unanswered("its answer is no JSON object")
        return value

    def _once(self, key: str, ask: Callable[[], _Answer]) -> _Answer:
        with self._lock:
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            if key not in self._kept:
                self._kept[key] = ask()
            kept: _Answer = self._kept[key]
            return kept


def _release(value: Mapping[str, Any]) -> Published:
    tag, entries = value.get("tag_name"), value.get("assets")
    if not isinstance(tag, str) or not isinstance(entries, list):
        raise Unanswered("its answer describes no release")
    return Published(tag, tuple(_asset(entry) for entry in entries))


def _asset(value: object) -> Asset:
    if isinstance(value, dict):
        name = value.get("name")
        number, size = _count(value.get("id")), _count(value.get("size", 0))
        if number is not None and size is not None and isinstance(name, str):
            digest = re.fullmatch(r"sha256:([0-9a-f]{64})", str(value.get("digest")))
            return Asset(number, name, size, digest[1] if digest else None)
    raise Unanswered("its answer lists an asset without id and name")


def _owner(value: Mapping[str, Any]) -> int:
    owner = value.get("owner")
    number = _count(owner.get("id")) if isinstance(owner, dict) else None
    if number is None:
        raise Unanswered("its answer does not say who owns the repository")
    return number


def _count(value: object) -> int | None:
    return value if type(value) is int and 0 <= value < 1 << 64 else None
