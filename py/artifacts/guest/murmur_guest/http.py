"""Requests over `wasi:http`, with the response's body handed on as it arrives."""

from collections.abc import Iterator, Mapping
from urllib.parse import SplitResult, urlsplit

from componentize_py_types import Err, Ok
from wit_world.imports import outgoing_handler, types
from wit_world.imports.streams import InputStream, StreamError_Closed

from murmur_guest.exchange import DriverError, NoAnswer
from murmur_guest.provider import Response

READ_BYTES = 65536


def post(url: str, headers: Mapping[str, str], body: bytes) -> Response:
    """Send the request and wait for the response's head. Raises DriverError without one."""
    address = urlsplit(url)
    if address.scheme not in ("http", "https") or not address.netloc:
        raise DriverError("driver: MURMUR_INFERENCE_ENDPOINT is no http or https address")
    return _send(types.Method_Post(), address, headers, body)


def get(url: str, headers: Mapping[str, str]) -> Response:
    """The same for a GET of an http or https address. Raises NoAnswer; redirects are answers."""
    return _send(types.Method_Get(), urlsplit(url), headers, b"")


def _send(
    method: types.Method, address: SplitResult, headers: Mapping[str, str], body: bytes
) -> Response:
    fields = [(name, value.encode()) for name, value in headers.items()]
    fields.append(("content-length", str(len(body)).encode()))
    try:
        request = types.OutgoingRequest(types.Fields.from_list(fields))
        request.set_method(method)
        https = address.scheme == "https"
        request.set_scheme(types.Scheme_Https() if https else types.Scheme_Http())
        request.set_authority(address.netloc)
        query = f"?{address.query}" if address.query else ""
        request.set_path_with_query((address.path or "/") + query)
        outgoing = request.body()
        future = outgoing_handler.handle(request, None)
        _write(outgoing, body)
        return _response(future)
    except Err as problem:
        raise NoAnswer(_words(problem.value)) from None


def _write(outgoing: types.OutgoingBody, body: bytes) -> None:
    at = 0
    with outgoing.write() as stream:
        try:
            while at < len(body):
                room = stream.check_write()
                if room == 0:
                    with stream.subscribe() as writable:
                        writable.block()
                    continue
                stream.write(body[at : at + room])
                at += room
            stream.blocking_flush()
        except Err:
            return  # the server answered before it read all, or is gone: the response says which
    types.OutgoingBody.finish(outgoing, None)


def _response(future: types.FutureIncomingResponse) -> Response:
    with future.subscribe() as ready:
        ready.block()
    answer = future.get()
    if not isinstance(answer, Ok):
        raise NoAnswer("")
    if isinstance(answer.value, Err):
        raise answer.value
    response = answer.value.value
    with response.headers() as fields:
        headers = {name.lower(): value.decode("latin-1") for name, value in fields.entries()}
    return Response(response.status(), _read(response), headers)


def _read(response: types.IncomingResponse) -> Iterator[bytes]:
    with response, response.consume() as body, body.stream() as stream:
        yield from _pieces(stream)


def _pieces(stream: InputStream) -> Iterator[bytes]:
    while True:
        try:
            piece = stream.blocking_read(READ_BYTES)
        except Err as problem:
            if isinstance(problem.value, StreamError_Closed):
                return
            raise NoAnswer("", began=True) from None
        if piece:
            yield piece


def _words(code: object) -> str:
    """`ErrorCode_ConnectionRefused()` as "connection refused"."""
    name = type(code).__name__.partition("_")[2]
    words = "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name)
    detail = getattr(code, "value", None)
    said = f" ({detail})" if isinstance(detail, str) and detail else ""
    return (words.strip() or "unknown error") + said
