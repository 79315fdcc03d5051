"""The bytes of an index: a file of the work folder, or what a URL leads to."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from urllib.parse import SplitResult, urljoin, urlsplit

from murmur_guest.exchange import NoAnswer
from murmur_guest.provider import Response
from murmur_tooling.members import ToolError, invalid
from murmur_tooling.places import failed, resolve

from murmur.store.index import SIZE_LIMIT

DEFAULT = (
    "https://github.com/murmur-nexus/default-artifacts/releases/latest/download/"
    "artifacts-index.json"
)
LOCAL = "local"

_REDIRECTS = 5
_MOVED = (301, 302, 303, 307, 308)
_HEADERS = {"accept": "application/json, application/octet-stream;q=0.9, */*;q=0.1"}

Get = Callable[[str, Mapping[str, str]], Response]
"""Sends a GET. Raises NoAnswer; a redirect is an answer."""


def index_bytes(source: str, folder: Path, get: Get) -> bytes:
    """What `source` names, at most SIZE_LIMIT bytes and one more.

    Raises ToolError `invalid_input` for `local`, `unreachable`, `http_error`, and what a path of
    the work folder may come to.
    """
    if source == LOCAL:
        raise invalid(
            "index is 'local'; the store of this machine is no published index, and a capsule "
            "cannot read it. Give a URL or a file; `mur search --index local` lists the store"
        )
    if source.startswith(("http://", "https://")):
        return _fetched(source, get)
    if "://" in source:
        raise invalid(f"index is {source!r}; a URL begins with http:// or https://")
    path = resolve(folder, source)
    try:
        with (folder / path).open("rb") as file:
            return file.read(SIZE_LIMIT + 1)
    except IsADirectoryError:
        raise ToolError("is_directory", f"{path} is a directory") from None
    except OSError as problem:
        raise failed(path, problem) from None


def _fetched(url: str, get: Get) -> bytes:
    asked = url
    for _ in range(_REDIRECTS + 1):
        parts = _parts(asked)
        try:
            response = get(asked, _HEADERS)
            if response.status not in _MOVED:
                body = _whole(response.body)
        except NoAnswer as problem:
            raise ToolError(
                "unreachable",
                f"{parts.hostname} did not answer: {problem.words}; is {parts.scheme}://"
                f"{parts.netloc} in capabilities.network.allow?",
            ) from None
        if response.status == 200:
            return body
        if response.status not in _MOVED:
            raise ToolError("http_error", f"{asked} answered HTTP {response.status}")
        asked = _redirected(asked, response)
    raise ToolError("http_error", f"{url} leads through more than {_REDIRECTS} redirects")


def _redirected(url: str, response: Response) -> str:
    target = urljoin(url, response.headers.get("location", ""))
    parts = _parts(target)
    if target == url or (url.startswith("https://") and parts.scheme != "https"):
        raise ToolError("http_error", f"{url} redirects to {target or 'nowhere'}")
    return target


def _parts(url: str) -> SplitResult:
    bad = invalid(f"index is {url!r}; it must be as https://host/artifacts-index.json")
    if any(letter <= " " or letter > "~" for letter in url):
        raise bad
    try:
        parts = urlsplit(url)
        whole = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        raise bad from None
    if not whole or "@" in parts.netloc:
        raise bad
    return parts


def _whole(pieces: Iterable[bytes]) -> bytes:
    text = bytearray()
    for piece in pieces:
        text += piece
        if len(text) > SIZE_LIMIT:
            break
    return bytes(text)
