"""Asking a Tempo for the traces of capsule sessions. spec/observability.md 13."""

import http.client
import json
import re
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from murmur.core.diagnostics import MurmurError, error

WINDOWS: Final = "30m, 1h, 6h, 24h, 7d"
NO_TRACES: Final = (
    "no capsule.session span in this window; Tempo flushes its write-ahead log after 60 to 90 s, "
    "and must keep blocks as vParquet3 (vParquet4 on Tempo 3)"
)
_TIMEOUT_SECONDS: Final = 10
_LIMIT: Final = 500
_LARGEST_ANSWER: Final = 256 << 20
_UNITS: Final = {"m": 60, "h": 3600, "d": 86400}


@dataclass(frozen=True, slots=True)
class Tempo:
    """The query API of one Tempo; `base` has no slash at its end."""

    base: str

    def ready(self) -> None:
        """Raises E-TOP-001 when it does not answer that it is ready."""
        try:
            self._get("/ready")
        except _Failed as failed:
            raise error("E-TOP-001", what=self.base, reason=failed.reason) from None

    def version(self) -> str | None:
        """What it says of itself; None when it says nothing."""
        try:
            value = json.loads(self._get("/status/buildinfo"))
        except (_Failed, ValueError):
            return None
        found = value.get("version") if isinstance(value, dict) else None
        return found if isinstance(found, str) else None

    def search(self, start: int, end: int) -> list[str]:
        """The ids of traces with a capsule session between two moments, in Unix seconds.

        Raises E-TOP-002 when the search fails, E-TOP-003 when its answer cannot be read.
        """
        query = urllib.parse.urlencode(
            {"q": '{ name = "capsule.session" }', "limit": _LIMIT, "start": start, "end": end}
        )
        value = self._json(f"/api/search?{query}")
        traces = value.get("traces")
        if traces is None:
            return []
        ids = [t.get("traceID") if isinstance(t, dict) else None for t in traces]
        if not all(isinstance(each, str) for each in ids):
            raise self._unreadable("/api/search", "a trace has no traceID")
        return [str(each) for each in ids]

    def trace(self, trace_id: str) -> Mapping[str, Any]:
        """One trace. Raises E-TOP-002 or E-TOP-003 as `search`."""
        return self._json(f"/api/traces/{urllib.parse.quote(trace_id, safe='')}")

    def _json(self, path: str) -> Mapping[str, Any]:
        try:
            text = self._get(path)
        except _Failed as failed:
            request = f"GET {self.base}{path.partition('?')[0]}"
            raise error("E-TOP-002", request=request, reason=failed.reason) from None
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            raise self._unreadable(path, "it is not JSON") from None
        if not isinstance(value, dict):
            raise self._unreadable(path, "it is no JSON object")
        return value

    def _unreadable(self, path: str, reason: str) -> MurmurError:
        request = f"GET {self.base}{path.partition('?')[0]}"
        return error("E-TOP-003", request=request, reason=reason)

    def _get(self, path: str) -> bytes:
        request = urllib.request.Request(self.base + path, headers={"Accept": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS) as answer:
                data: bytes = answer.read(_LARGEST_ANSWER + 1)
        except urllib.error.HTTPError as failure:
            raise _Failed(f"HTTP {failure.code}") from None
        except urllib.error.URLError as failure:
            raise _Failed(str(failure.reason)) from None
        except (OSError, http.client.HTTPException, ValueError) as failure:
            raise _Failed(str(failure) or type(failure).__name__) from None
        if len(data) > _LARGEST_ANSWER:
            raise _Failed(f"the answer is larger than {_LARGEST_ANSWER} bytes")
        return data


class _Failed(Exception):
    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def tempo(endpoint: str) -> Tempo:
    """The Tempo at an endpoint. Raises E-TOP-001 for one that is no http(s) URL."""
    base = endpoint.rstrip("/")
    if not base.startswith(("http://", "https://")):
        reason = "an endpoint is a URL such as http://localhost:3200"
        raise error("E-TOP-001", what=f"--otel-endpoint {endpoint}", reason=reason)
    return Tempo(base)


def window_seconds(window: str) -> int:
    """The seconds in `<n>m`, `<n>h` or `<n>d`. Raises E-TOP-001 for anything else."""
    match = re.fullmatch(r"([0-9]{1,7})([mhd])", window)
    if match is None or int(match.group(1)) == 0:
        reason = f"a window is a whole number and m, h or d: {WINDOWS}"
        raise error("E-TOP-001", what=f"--window {window}", reason=reason)
    return int(match.group(1)) * _UNITS[match.group(2)]


def fetch(
    source: Tempo, start: int, end: int, warn: Callable[[str], object]
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Each trace of the window with its id; one that cannot be fetched is warned of and left out.

    Raises E-TOP-002 or E-TOP-003 for the search.
    """
    for trace_id in source.search(start, end):
        try:
            yield trace_id, source.trace(trace_id)
        except MurmurError as failure:
            warn(failure.diagnostic.message)
