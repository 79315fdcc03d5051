"""The operator's HTTP proxy on the outward side, from the environment that `mur` was started in.

`HTTPS_PROXY` and `HTTP_PROXY` by the destination's scheme, `ALL_PROXY` for either, `NO_PROXY` for
what is reached directly; the lower-case spelling wins, and one that is set but empty switches it
off. https destinations go through a tunnel, so that a proxy learns a name and a port; http ones are
asked for by their whole address. What is on this machine is never asked of a proxy. The one
endpoint over plain http that may carry a key is there, so no proxy ever reads a key.
"""

import asyncio
import base64
import ipaddress
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote, urlsplit

import h11

from murmur.core.ip_addresses import IPAddress
from murmur.inference.gateway_messages import READ_BYTES, Headers, Streams, UpstreamFailed
from murmur.manifest.network import canonical_host, is_address

_PORTS: Final = {"http": 80, "https": 443}
_HEAD_BYTES: Final = 16 * 1024


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy and the variable that names it, which is all that messages say of it.

    `problem` is set where the variable's value names none that can be used. A password is in
    `authorization` alone, which nothing prints.
    """

    variable: str
    host: str = ""
    port: int = 0
    secure: bool = False
    authorization: bytes | None = field(default=None, repr=False)
    problem: str = ""

    @property
    def display(self) -> str:
        """How messages name it: its address may be a secret of the operator's network."""
        return f"the proxy of {self.variable}"

    @property
    def headers(self) -> Headers:
        """What it wants of a request: the operator's name there, when the variable has one."""
        value = self.authorization
        return [] if value is None else [(b"proxy-authorization", value)]


@dataclass(frozen=True, slots=True)
class Direct:
    """One entry of NO_PROXY: a name with all below it, an address, or a network of addresses."""

    name: str = ""
    network: ipaddress.IPv4Network | ipaddress.IPv6Network | None = None
    port: int | None = None

    def covers(self, host: str, port: int) -> bool:
        """Whether this destination is reached directly."""
        if self.port is not None and self.port != port:
            return False
        if self.network is not None:
            return is_address(host) and ipaddress.ip_address(host) in self.network
        return self.name == "*" or host == self.name or host.endswith(f".{self.name}")


@dataclass(frozen=True, slots=True)
class Proxies:
    """What the environment says; without anything said, everything is reached directly."""

    by_scheme: Mapping[str, Proxy] = field(default_factory=dict)
    direct: tuple[Direct, ...] = ()

    def of(self, scheme: str, host: str, port: int) -> Proxy | None:
        """The proxy to go through. Raises UpstreamFailed for one that cannot be used."""
        proxy = self.by_scheme.get(scheme)
        if proxy is None or _names_this_machine(host):
            return None
        if any(each.covers(host, port) for each in self.direct):
            return None
        if proxy.problem:
            raise UpstreamFailed(f"{proxy.variable} {proxy.problem}")
        return proxy


def read_proxies(environ: Mapping[str, str]) -> Proxies:
    """The proxies of an environment, read once."""
    upper = {
        "http_proxy": environ.get("HTTP_PROXY"),
        "https_proxy": environ.get("HTTPS_PROXY"),
        "all_proxy": environ.get("ALL_PROXY"),
        "no_proxy": environ.get("NO_PROXY"),
    }
    said = {name: environ.get(name, value) for name, value in upper.items()}
    found: dict[str, Proxy] = {}
    for scheme in _PORTS:
        own = f"{scheme}_proxy"
        name = own if said[own] is not None else "all_proxy"
        value = (said[name] or "").strip()
        if value:
            found[scheme] = _proxy(name if name in environ else name.upper(), value)
    entries = [entry.strip() for entry in (said["no_proxy"] or "").split(",")]
    return Proxies(found, tuple(_direct(entry) for entry in entries if entry))


async def open_tunnel(
    streams: Streams, proxy: Proxy, host: str, port: int, trust: ssl.SSLContext
) -> Streams:
    """TLS with `host` through a connection to the proxy.

    Raises UpstreamFailed for a proxy that does not open the way, OSError where TLS fails.
    """
    reader, writer = streams
    authority = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    http = h11.Connection(h11.CLIENT, max_incomplete_event_size=_HEAD_BYTES)
    fields = [(b"host", authority.encode("ascii")), *proxy.headers]
    asked = http.send(h11.Request(method=b"CONNECT", target=authority, headers=fields))
    writer.write(asked or b"")
    await writer.drain()
    try:
        while not isinstance(event := http.next_event(), h11.Response):
            if event is h11.NEED_DATA:
                data = await reader.read(READ_BYTES)
                if not data:
                    raise UpstreamFailed(f"{proxy.display} closed the connection")
                http.receive_data(data)
    except h11.RemoteProtocolError:
        raise UpstreamFailed(f"{proxy.display} answered no well-formed HTTP") from None
    if not 200 <= event.status_code < 300:
        raise UpstreamFailed(f"{proxy.display} answered {event.status_code} to CONNECT")
    if http.trailing_data[0]:
        raise UpstreamFailed(f"{proxy.display} spoke before the destination did")
    return await _secured(writer, host, trust)


async def _secured(writer: asyncio.StreamWriter, host: str, trust: ssl.SSLContext) -> Streams:
    """TLS on a connection, read by a reader of its own.

    What the old reader holds unread was sent in the clear, and `StreamWriter.start_tls` would hand
    it out as if it had come by TLS: with it a proxy could answer in the destination's name.
    """
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(READ_BYTES, loop)
    protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
    transport = await loop.start_tls(writer.transport, protocol, trust, server_hostname=host)
    if transport is None:
        raise ConnectionResetError("the connection was closed before TLS began")
    protocol.connection_made(transport)
    return reader, _Over(transport, protocol, reader, loop, writer)


class _Over(asyncio.StreamWriter):
    """A writer over another's connection, which that one would close when it is forgotten."""

    def __init__(
        self,
        transport: asyncio.Transport,
        protocol: asyncio.StreamReaderProtocol,
        reader: asyncio.StreamReader,
        loop: asyncio.AbstractEventLoop,
        beneath: asyncio.StreamWriter,
    ) -> None:
        super().__init__(transport, protocol, reader, loop)
        self.beneath = beneath


def _proxy(variable: str, value: str) -> Proxy:
    """A value as a URL, `http://` where it names no scheme; never quoted in what is said of it."""
    try:
        url = urlsplit(value if "://" in value else f"http://{value}")
        host, port = canonical_host(_bracketed(url.hostname or "")), url.port
    except ValueError:
        return Proxy(variable, problem="is no URL of a proxy")
    if url.scheme not in _PORTS:
        return Proxy(variable, problem="names a proxy that is spoken to by neither http nor https")
    if host is None:
        return Proxy(variable, problem="is no URL of a proxy")
    authorization = None
    if url.username is not None:
        words = (url.username, url.password or "")
        known = ":".join(unquote(word, errors="surrogateescape") for word in words)
        named = known.encode("utf-8", "surrogateescape")
        authorization = b"Basic " + base64.b64encode(named)
    return Proxy(variable, host, port or _PORTS[url.scheme], url.scheme == "https", authorization)


def _direct(entry: str) -> Direct:
    """`name`, `.name`, `*.name`, an address or a network, each with or without a port."""
    text = entry.lower()
    try:
        return Direct(network=ipaddress.ip_network(text.strip("[]"), strict=False))
    except ValueError:
        pass
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal():
        host, port = text, ""
    wanted = int(port) if port else None
    try:
        return Direct(network=ipaddress.ip_network(host.strip("[]")), port=wanted)
    except ValueError:
        name = host if host == "*" else host.removeprefix("*").removeprefix(".")
        return Direct(name, port=wanted)


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def is_this_machine(address: IPAddress) -> bool:
    """Whether an address is reached without leaving this machine, however it is written."""
    plain = getattr(address, "ipv4_mapped", None) or address
    return bool(plain.is_loopback or plain.is_unspecified)


def _names_this_machine(host: str) -> bool:
    if is_address(host):
        return is_this_machine(ipaddress.ip_address(host))
    return host == "localhost" or host.endswith(".localhost")
