"""HTTP for sources: bounded reads, resumed downloads, redirects that do not carry a token away.

Plain `urllib` of the standard library, one connection a request. A 404 is `Absent`; whatever else
keeps an answer from coming is `Unanswered` with the line that says what came back. What is merely
in trouble (a closed connection, a time-out, 5xx) is tried again. spec/registry.md 13,
spec/diagnostics.md 4.11 (E-REG-006).
"""

import dataclasses
import email.message
import functools
import hashlib
import http.client
import json
import re
import socket
import ssl
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import IO, Any, BinaryIO, Final
from urllib.parse import urlsplit

from murmur.core.diagnostics import printable

USER_AGENT: Final = "murmur-cli"
TIMEOUT_S: Final = 30.0
ATTEMPTS: Final = 3
"""How often in a row, and with what pauses between, something in trouble is asked."""
PAUSES_S: Final = (0.5, 1.5)
# A server that answers drop by drop would otherwise hold an install forever.
_WINDOW_S: Final = 60.0
_WINDOW_BYTES: Final = 60 << 10
_PROGRESS_BYTES: Final = 1 << 20
_CHUNK: Final = 1 << 16
_BODY_LIMIT: Final = 1 << 14
_TRANSIENT: Final = frozenset({500, 502, 503, 504})
_LOOPBACK: Final = re.compile(r"localhost|127(\.[0-9]{1,3}){3}|::1")


class Absent(Exception):
    """The server answered that there is no such thing (404)."""


class Unanswered(Exception):
    """No usable answer; the text says what came back instead.

    `denied` says that a token, or another one, may help.
    """

    def __init__(self, reason: str, *, denied: bool = False) -> None:
        super().__init__(reason)
        self.denied = denied


class Stopped(Exception):
    """The caller gave up the transfer: another one of the same install failed."""


class _Trouble(Exception):
    """A failure that may pass when tried again."""


@dataclasses.dataclass(frozen=True, slots=True)
class Transfer:
    """What a running download reports to and is stopped by. `observe` gets the bytes so far."""

    observe: Callable[[int], None] = lambda count: None
    stop: threading.Event = dataclasses.field(default_factory=threading.Event)


def url_fault(url: str) -> str | None:
    """Why nothing is fetched from `url`: neither https nor, for tests, http on this machine."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return "it is no URL"
    if not host or re.search(r"[\x00-\x20\x7f]", url):
        return "it is no URL"
    if parts.scheme == "https" or (parts.scheme == "http" and _LOOPBACK.fullmatch(host)):
        return None
    return "only https is fetched, and http from this machine itself"


class Web:
    """Reads URLs, with one token or none. Safe for several threads."""

    def __init__(self, token: str | None = None) -> None:
        """`token` holds what a header may hold: printable ASCII."""
        self._token = token
        self._opener = _opener()

    def read(self, url: str, accept: str, limit: int) -> bytes:
        """The whole body, at most `limit` bytes. Raises Absent and Unanswered."""
        for attempt in range(ATTEMPTS):
            try:
                return self._read(url, accept, limit)
            except _Trouble as trouble:
                last = str(trouble)
                if attempt + 1 < ATTEMPTS:
                    time.sleep(PAUSES_S[attempt])
        raise Unanswered(last)

    def _read(self, url: str, accept: str, limit: int) -> bytes:
        with self._open(url, {"Accept": accept}) as response:
            pieces = []
            total = 0
            for piece in _pieces(response, Transfer()):
                total += len(piece)
                if total > limit:
                    raise Unanswered(f"its answer is larger than {limit} bytes")
                pieces.append(piece)
            return b"".join(pieces)

    def download(
        self, url: str, accept: str, sink: BinaryIO, limit: int, transfer: Transfer
    ) -> str:
        """Writes the body to `sink` from its start and returns its sha256, taken on the way.

        A broken transfer goes on where it stopped when the server can show that it is the same
        file, else from the start. Raises Absent, Stopped, and Unanswered; OSError of the sink.
        """
        state = _Download(sink, limit)
        failures = best = 0
        while True:
            try:
                with self._open(url, {"Accept": accept} | state.range_headers()) as response:
                    state.take(response, transfer)
                return state.digest.hexdigest()
            except _Trouble as trouble:
                # One that comes forward may break off as often as it likes.
                failures = 1 if state.have >= best + _PROGRESS_BYTES else failures + 1
                best = max(best, state.have)
                if isinstance(trouble, _Restart):
                    state.restart()
                if failures >= ATTEMPTS:
                    raise Unanswered(str(trouble)) from None
                if transfer.stop.wait(PAUSES_S[failures - 1]):
                    raise Stopped from None

    def _open(self, url: str, headers: dict[str, str]) -> http.client.HTTPResponse:
        """A successful answer. Raises Absent, Unanswered, _Trouble."""
        request = urllib.request.Request(url, headers=headers)
        request.add_header("User-Agent", USER_AGENT)
        request.add_header("Accept-Encoding", "identity")
        if self._token is not None:
            request.add_header("Authorization", f"Bearer {self._token}")
        try:
            response = self._opener.open(request, timeout=TIMEOUT_S)
        except urllib.error.HTTPError as answer:
            with answer:
                raise self._refusal(answer) from None
        except urllib.error.URLError as failure:
            raise _failure(failure.reason) from None
        except (OSError, http.client.HTTPException) as failure:
            raise _failure(failure) from None
        except ValueError:
            raise Unanswered("it leads to what is no URL") from None
        assert isinstance(response, http.client.HTTPResponse)
        encoding = response.headers.get("Content-Encoding", "identity")
        if encoding != "identity":
            response.close()
            raise Unanswered(f"its answer is encoded as {printable(encoding)}")
        return response

    def _refusal(self, answer: urllib.error.HTTPError) -> Exception:
        """What an answer that is no success means."""
        if answer.code == 404:
            return Absent()
        if answer.code == 416:
            return _Restart("HTTP 416")
        text = self._message(answer)
        limited = _limited(answer.code, answer.headers, text)
        if limited is not None:
            return Unanswered(limited, denied=True)
        line = f"HTTP {answer.code}" + (f" ({text})" if text else "")
        if answer.code in _TRANSIENT:
            return _Trouble(line)
        return Unanswered(line, denied=answer.code in (401, 403))

    def _message(self, answer: urllib.error.HTTPError) -> str:
        """The message in the answer's body, without our token should it be echoed."""
        try:
            body = answer.read(_BODY_LIMIT)
            message = json.loads(body)["message"]
        except (OSError, http.client.HTTPException, ValueError, TypeError, KeyError):
            return ""
        except RecursionError:
            return ""
        text = message if isinstance(message, str) else ""
        if self._token:
            text = text.replace(self._token, "[token]")
        return printable(text)[:200]


class _Restart(_Trouble):
    """The range that was asked for does not exist: begin again."""


class _Download:
    """One download over several attempts: what is written so far, and its hash."""

    def __init__(self, sink: BinaryIO, limit: int) -> None:
        self._sink = sink
        self._limit = limit
        self.have = 0
        self._etag: str | None = None
        self.restart()

    def restart(self) -> None:
        """Begins again: with the next answer's first byte."""
        self._sink.seek(0)
        self._sink.truncate()
        self.have = 0
        self.digest = hashlib.sha256()

    def range_headers(self) -> dict[str, str]:
        if not self.have or self._etag is None:
            return {}
        return {"Range": f"bytes={self.have}-", "If-Range": self._etag}

    def take(self, response: http.client.HTTPResponse, transfer: Transfer) -> None:
        """Appends one answer, or begins again with it. Raises as `Web.download`; _Trouble."""
        continued = response.status == 206 and re.match(
            rf"bytes {self.have}-", response.headers.get("Content-Range", "")
        )
        if response.status == 206 and not continued:
            self._etag = None
            self.restart()
            raise _Trouble("it answered with another range than was asked for")
        if not continued:
            self.restart()
        etag = response.headers.get("ETag", "")
        self._etag = etag if etag.startswith('"') else None
        for piece in _pieces(response, transfer):
            self.have += len(piece)
            if self.have > self._limit:
                raise Unanswered(f"the file is larger than {self._limit} bytes")
            self.digest.update(piece)
            _write_all(self._sink, piece)
            transfer.observe(self.have)


def _write_all(sink: BinaryIO, piece: bytes) -> None:
    left = memoryview(piece)
    while left:  # an unbuffered file may take a part
        left = left[sink.write(left) :]


def _pieces(response: http.client.HTTPResponse, transfer: Transfer) -> Any:
    """The body as it arrives. Raises _Trouble when it ends early or barely comes; Stopped."""
    length = response.headers.get("Content-Length", "")
    expected = int(length) if length.isascii() and length.isdigit() else None
    total = window = 0
    since = time.monotonic()
    while True:
        if transfer.stop.is_set():
            raise Stopped
        try:
            piece = response.read1(_CHUNK)
        except (OSError, http.client.HTTPException, ValueError) as failure:
            raise _failure(failure) from None
        if not piece:
            break
        total += len(piece)
        window += len(piece)
        yield piece
        now = time.monotonic()
        if now - since > _WINDOW_S:
            if window < _WINDOW_BYTES:
                raise _Trouble(f"only {window} bytes came in {now - since:.0f} seconds")
            since, window = now, 0
    if expected is not None and total < expected:
        raise _Trouble(f"the connection closed after {total} of {expected} bytes")


def _limited(status: int, headers: email.message.Message, text: str) -> str | None:
    """The line of a rate limit, with how it was recognised and when it ends; None for no limit."""
    if status not in (403, 429):
        return None
    if status == 429:
        sign = "HTTP 429"
    elif headers.get("x-ratelimit-remaining", "").strip() == "0":
        sign = "HTTP 403, x-ratelimit-remaining: 0"
    elif headers.get("retry-after") is not None:
        sign = "HTTP 403, retry-after header"
    elif "rate limit" in text.lower():
        sign = f"HTTP 403, {text}"
    else:
        return None
    return f"rate limited ({sign})" + _until(headers)


def _until(headers: email.message.Message) -> str:
    after = headers.get("retry-after", "").strip()
    if re.fullmatch(r"[0-9]{1,7}", after):
        return f"; try again in {int(after)} seconds"
    reset = headers.get("x-ratelimit-reset", "").strip()
    if re.fullmatch(r"[0-9]{1,11}", reset):
        moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(reset)))
        return f"; it resets at {moment}"
    return ""


def _failure(reason: object) -> Exception:
    """A connection that failed or broke: worth another try, unless the certificate is wrong."""
    if isinstance(reason, _Refused):
        return Unanswered(str(reason))
    if isinstance(reason, ssl.SSLCertVerificationError):
        return Unanswered(f"its certificate is not trusted: {reason.verify_message}")
    if isinstance(reason, TimeoutError):
        return _Trouble(f"no answer within {TIMEOUT_S:.0f} seconds")
    if isinstance(reason, socket.gaierror):
        return _Trouble(f"its name cannot be resolved: {reason.strerror}")
    if isinstance(reason, OSError):
        return _Trouble(f"it cannot be reached: {printable(reason.strerror or str(reason))}")
    if isinstance(reason, http.client.HTTPException):
        return _Trouble(f"it broke off its answer ({type(reason).__name__})")
    return _Trouble(printable(str(reason)))


class _Refused(Exception):
    """A redirect that is not followed."""


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects, leaving the token behind wherever the origin changes."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        fault = url_fault(newurl)
        if fault is None and req.full_url.startswith("https:") and newurl.startswith("http:"):
            fault = "it would leave https"
        if fault is not None:
            host = printable(urlsplit(newurl).netloc.rpartition("@")[2])
            raise urllib.error.URLError(_Refused(f"its redirect to {host} is refused: {fault}"))
        request = super().redirect_request(req, fp, code, msg, headers, newurl)
        if request is not None and _origin(newurl) != _origin(req.full_url):
            request.remove_header("Authorization")
        return request


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or {"http": 80, "https": 443}.get(parts.scheme)


@functools.cache
def _opener() -> urllib.request.OpenerDirector:
    """Http and https alone, through the operator's proxies, verified by the system's store.

    One for all: it keeps nothing of a request, and reading the system's store takes a while.
    """
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(context=ssl.create_default_context()),
        urllib.request.HTTPDefaultErrorHandler(),
        _Redirects(),
        urllib.request.HTTPErrorProcessor(),
    ):
        opener.add_handler(handler)
    return opener
