"""The JSON-RPC 2.0 envelope and the `A2A-Version` header. spec/door.md 6."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from murmur.door import errors

RequestId = str | int | None

_SERVED_VERSION: Final = re.compile(r"1\.0(\.[0-9]+)?")


@dataclass(frozen=True, slots=True)
class RpcRequest:
    """A valid request; `params` is still whatever was sent, None when absent."""

    id: str | int
    method: str
    params: object


class EnvelopeError(Exception):
    """A body that is no request; `id` is echoed when it was valid itself."""

    def __init__(self, request_id: RequestId, error: errors.RpcError) -> None:
        super().__init__(error.message)
        self.id = request_id
        self.error = error


def read_request(body: bytes) -> RpcRequest:
    """The request in `body`. Raises EnvelopeError with -32700 or -32600."""
    try:
        value = json.loads(body.decode("utf-8", "replace"), parse_constant=_no_constant)
        # A lone surrogate is accepted by the parser and would break every later encoding.
        if b"\\u" in body:
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except (ValueError, RecursionError):
        raise EnvelopeError(None, errors.invalid_json()) from None
    if not isinstance(value, dict):
        raise EnvelopeError(None, errors.invalid_request())
    request_id = value.get("id")
    if isinstance(request_id, bool) or not isinstance(request_id, str | int):
        raise EnvelopeError(None, errors.invalid_request())
    method = value.get("method")
    if value.get("jsonrpc") != "2.0" or not isinstance(method, str):
        raise EnvelopeError(request_id, errors.invalid_request())
    return RpcRequest(request_id, method, value.get("params", {}))


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def check_version(header_lines: Sequence[str]) -> None:
    """Raises the -32009 error unless exactly one header line names a served version."""
    requested = ", ".join(header_lines)
    if len(header_lines) != 1 or not _SERVED_VERSION.fullmatch(requested.strip(" \t")):
        raise errors.version_not_supported(requested)


def params_object(request: RpcRequest) -> dict[str, Any]:
    """The request's params. Raises the -32602 error when they are not an object."""
    if not isinstance(request.params, dict):
        raise errors.invalid_params("params must be an object")
    return request.params


def encode(value: object) -> bytes:
    """Compact JSON on one line.

    Line ends of Unicode are written as escapes: clients split an event stream at them.
    """
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    for character in "\x85\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text.encode("utf-8", "replace")


def result_body(request_id: RequestId, result: object) -> bytes:
    return encode({"jsonrpc": "2.0", "id": request_id, "result": result})


def error_body(request_id: RequestId, error: errors.RpcError) -> bytes:
    return encode({"jsonrpc": "2.0", "id": request_id, "error": error.body()})
