"""The one way out for guests: every request that a gate allows comes here and is decided here.

The listener lies inside the guests' network namespace and is served by the runtime, so this is
where the allow-list, the only name resolution, the address check, the dial, TLS and the provider's
key meet. design/decisions.md 10, spec/artifacts.md 12.2. Served on the runtime's event loop; routes
are registered and observed from any thread.

What goes on the wire is written anew from a parsed request: a guest decides method, path,
end-to-end fields and body, and nothing about framing, host or credential. Responses stream, 3xx
included; nothing is followed.
"""

import asyncio
import socket
import ssl
import threading
from collections.abc import Coroutine
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any, Final

import h11

from murmur.core.resolver import Resolver, system_resolver
from murmur.inference.gateway_dial import Dialer, Outward, connect, dial, system_trust
from murmur.inference.gateway_heads import (
    FRAMING,
    request_head,
    response_head,
    retry_after,
    signed_head,
)
from murmur.inference.gateway_messages import (
    BadRequest,
    GuestConnection,
    GuestGone,
    Timeouts,
    UpstreamConnection,
    UpstreamFailed,
    end_to_end,
)
from murmur.inference.gateway_proxy import Proxies
from murmur.inference.gateway_routes import (
    CredentialUnavailable,
    Denied,
    Destination,
    FailureKind,
    GatewayTarget,
    Observation,
    Route,
    decide,
    parse_target,
)
from murmur.inference.secret import Secret

_MOST_CONNECTIONS: Final = 256
_MOST_PER_ROUTE: Final = 128
MOST_BUFFERED_BYTES: Final = 64 << 20


@dataclass(slots=True)
class _Served:
    """A registered route with what is going on under it."""

    route: Route
    observation: Observation = field(default_factory=Observation)
    exchanges: set["asyncio.Task[None]"] = field(default_factory=set)

    def observe(self, **changes: Any) -> None:
        self.observation = replace(self.observation, **changes)


class Gateway:
    """Serves `listener`. `register` hands out nothing: the caller chose the token (`new_token`)."""

    def __init__(
        self,
        listener: socket.socket,
        *,
        resolver: Resolver | None = None,
        trust: ssl.SSLContext | None = None,
        dialer: Dialer = dial,
        timeouts: Timeouts | None = None,
        proxies: Proxies | None = None,
    ) -> None:
        self._listener = listener
        self._trust = trust
        self._timeouts = timeouts or Timeouts()
        self._outward = Outward(
            resolver=resolver or system_resolver(),
            dialer=dialer,
            trust=self._tls,
            timeouts=self._timeouts,
            proxies=proxies or Proxies(),
        )
        self._lock = threading.Lock()
        self._routes: dict[bytes, _Served] = {}
        self._connections: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self.address = _display(listener)
        """The listener's `host:port`, as gates address it."""

    async def start(self) -> None:
        """Begins to serve on the running loop."""
        self._loop = asyncio.get_running_loop()
        self._listener.setblocking(False)
        self._server = await asyncio.start_server(self._serve, sock=self._listener, backlog=128)

    async def close(self) -> None:
        """Stops serving and drops every exchange. Afterwards no connection of it is left."""
        if self._server is not None:
            self._server.close()
        for task in list(self._connections):
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        with self._lock:
            self._routes.clear()

    def register(self, token: str, route: Route) -> None:
        """Opens `route` under `token`. Raises ValueError when the token is taken or too short."""
        if len(token) < 32:
            raise ValueError("a token has at least 32 characters")
        with self._lock:
            if _key(token) in self._routes:
                raise ValueError("the token is taken")
            self._routes[_key(token)] = _Served(route)

    def unregister(self, token: str) -> None:
        """Closes the route; whatever still runs under it is dropped. Unknown tokens are ignored."""
        with self._lock:
            served = self._routes.pop(_key(token), None)
        if served is not None and self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(_drop, served)

    def observation(self, token: str) -> Observation:
        """What was seen of the route so far. Raises KeyError for an unknown token."""
        with self._lock:
            return self._routes[_key(token)].observation

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is None or len(self._connections) >= _MOST_CONNECTIONS:
            writer.transport.abort()
            return
        self._connections.add(task)
        guest = GuestConnection(reader, writer, self._timeouts)
        try:
            await self._answer(guest, task)
            await guest.close()
        except (GuestGone, TimeoutError):
            guest.abort()
        except asyncio.CancelledError:
            guest.abort()
        finally:
            self._connections.discard(task)
            if not writer.is_closing():
                guest.abort()

    async def _answer(self, guest: GuestConnection, task: "asyncio.Task[None]") -> None:
        served: _Served | None = None
        failure: FailureKind
        try:
            request = await guest.request()
            address = parse_target(request.target)
            with self._lock:
                served = self._routes.get(_key(address.token))
            if served is None:
                raise Denied(403, "no such route")
            if len(served.exchanges) >= _MOST_PER_ROUTE:
                raise Denied(503, "too many requests of this artifact at once")
            served.exchanges.add(task)
            destination = decide(served.route, address)
            served.observe(
                requests=served.observation.requests + 1,
                status=None,
                failure=None,
                detail="",
                retry_after=None,
            )
            if destination.target is None:
                await self._stream(guest, request, served, destination)
            else:
                await self._keyed(guest, request, served, destination, destination.target)
        except Denied as denied:
            _note(served, "refused", denied.reason)
            await guest.refuse(denied.status, "denied", denied.reason)
        except BadRequest as bad:
            _note(served, "refused", bad.reason)
            await guest.refuse(bad.status, "bad-request", bad.reason)
        except CredentialUnavailable as missing:
            _note(served, "credential", str(missing))
            await guest.refuse(503, "credential", str(missing))
        except UpstreamFailed as failed:
            failure = "timeout" if failed.timed_out else "connection"
            _note(served, failure, failed.reason)
            await guest.refuse(504 if failed.timed_out else 502, failure, failed.reason)
        finally:
            if served is not None:
                served.exchanges.discard(task)

    def _tls(self) -> ssl.SSLContext:
        # Loading the system's store takes 20 ms and more; a session without https never pays it.
        if self._trust is None:
            self._trust = system_trust()
        return self._trust

    async def _stream(
        self,
        guest: GuestConnection,
        request: h11.Request,
        served: _Served,
        destination: Destination,
    ) -> None:
        """An allow-listed request: nothing is held, both bodies stream at once."""
        head = request_head(request, destination)
        has_body = any(name in FRAMING for name, _ in request.headers)
        if not has_body:
            # Taken in now, so that a guest that goes away is noticed while the connection is made.
            await guest.whole_body(0)
        upload = _Upload(guest, has_body)

        async def carry() -> None:
            upstream = await connect(destination, self._outward)
            try:
                await upstream.send_head(request.method, destination.path, head)
                upload.begin(upstream)
                await _relay(guest, upstream, await upstream.response(), served)
            finally:
                upstream.close()

        await _race(carry(), upload.run())

    async def _keyed(
        self,
        guest: GuestConnection,
        request: h11.Request,
        served: _Served,
        destination: Destination,
        target: GatewayTarget,
    ) -> None:
        """A gateway request: its body is held so that a rotated key can carry it once more."""
        body = await guest.whole_body(MOST_BUFFERED_BYTES)
        head = request_head(request, destination, body_length=len(body))

        async def attempt(key: Secret | None) -> tuple[UpstreamConnection, h11.Response]:
            upstream = await connect(destination, self._outward)
            try:
                signed = signed_head(head, target, key)
                await upstream.send_head(request.method, destination.path, signed)
                if body:
                    await upstream.send(body)
                await upstream.finish()
                return upstream, await upstream.response()
            except BaseException:
                upstream.close()
                raise

        async def carry() -> None:
            key = target.key.current() if target.key else None
            upstream, response = await attempt(key)
            try:
                rejected = False
                if target.key is not None and response.status_code == 401:
                    fresh = target.key.reread()
                    retried = fresh != key
                    if retried:
                        upstream.close()
                        upstream, response = await attempt(fresh)
                    rejected = response.status_code == 401
                    if rejected:
                        target.key.rejected(retried=retried)
                served.observe(credential_rejected=rejected)
                await _relay(guest, upstream, response, served)
            finally:
                upstream.close()

        await _race(carry(), guest.gone())


def _display(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _key(token: str) -> bytes:
    # Hashing makes the table's own comparisons useless to somebody who times them.
    return sha256(token.encode("utf-8", "surrogatepass")).digest()


def _drop(served: _Served) -> None:
    for task in list(served.exchanges):
        task.cancel()


def _note(served: _Served | None, failure: FailureKind, detail: str) -> None:
    if served is not None:
        served.observe(failure=failure, detail=detail)


class _Upload:
    """Passes a streamed request body on once there is a connection, then watches the guest."""

    def __init__(self, guest: GuestConnection, has_body: bool) -> None:
        self._guest = guest
        self._has_body = has_body
        self._upstream: asyncio.Future[UpstreamConnection] = (
            asyncio.get_running_loop().create_future()
        )

    def begin(self, upstream: UpstreamConnection) -> None:
        """The request's head is out on `upstream`."""
        self._upstream.set_result(upstream)

    async def run(self) -> None:
        """Returns when the guest is gone. Raises BadRequest or TimeoutError for a broken body.

        A server may answer before the body ends and stop reading. What still comes is then taken in
        and dropped, since the answer is to be relayed all the same.
        """
        if not self._has_body:
            finish = asyncio.create_task(self._finish())
            try:
                await self._guest.gone()
            finally:
                finish.cancel()
            return
        upstream = await self._upstream
        takes = True
        async for piece in self._guest.body():
            if takes:
                try:
                    await upstream.send(piece)
                except UpstreamFailed:
                    takes = False
        if takes:
            await self._finish()
        await self._guest.gone()

    async def _finish(self) -> None:
        try:
            await (await self._upstream).finish()
        except UpstreamFailed:
            pass


async def _race(work: Coroutine[Any, Any, None], watch: Coroutine[Any, Any, None]) -> None:
    """Runs `work`. Where `watch` ends first: drops it, raises what `watch` did, else GuestGone."""
    doing, watching = asyncio.create_task(work), asyncio.create_task(watch)
    try:
        await asyncio.wait({doing, watching}, return_when=asyncio.FIRST_COMPLETED)
        if doing.done():
            return doing.result()
        watching.result()
        raise GuestGone
    finally:
        doing.cancel()
        watching.cancel()
        await asyncio.gather(doing, watching, return_exceptions=True)


async def _relay(
    guest: GuestConnection, upstream: UpstreamConnection, response: h11.Response, served: _Served
) -> None:
    """Hands the response on as it comes. Its status is observed before the guest can act on it."""
    headers = list(response.headers)
    served.observe(status=response.status_code, retry_after=retry_after(headers))
    await guest.answer(response.status_code, response_head(response.status_code, headers))
    async for piece in upstream.body():
        if isinstance(piece, bytes):
            await guest.send(piece)
        else:
            await guest.finish(end_to_end(piece))
