"""The guest's side of the gateway in tests: raw sockets, and names and dials of our own."""

import asyncio
import contextlib
import ipaddress
import socket
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from murmur.core.ip_addresses import IPAddress
from murmur.core.resolver import NameUnknown
from murmur.inference.gateway import Gateway
from murmur.inference.gateway_dial import Dialer, dial
from murmur.inference.gateway_messages import Timeouts
from murmur.inference.gateway_proxy import Proxies
from murmur.inference.gateway_routes import GatewayTarget, Route, new_token
from murmur.inference.secret import Secret
from murmur.manifest.endpoint import parse_endpoint
from murmur.manifest.network import parse_rules


@dataclass(slots=True)
class Names:
    """A Resolver that answers from a list, one entry a look-up, the last one for ever."""

    table: dict[str, list[str]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    async def addresses(self, name: str) -> tuple[IPAddress, ...]:
        self.asked.append(name)
        if name == "localhost":
            return (ipaddress.ip_address("127.0.0.1"),)
        if not self.table.get(name):
            raise NameUnknown("no such name")
        answers = self.table[name]
        text = answers.pop(0) if len(answers) > 1 else answers[0]
        return tuple(ipaddress.ip_address(part) for part in text.split())


@dataclass(slots=True)
class Dials:
    """A Dialer that notes the address and connects to loopback instead, at the given port."""

    port: int
    seen: list[str] = field(default_factory=list)

    async def __call__(
        self, address: IPAddress, port: int, trust: ssl.SSLContext | None, name: str
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        self.seen.append(f"{address}:{port}")
        return await dial(ipaddress.ip_address("127.0.0.1"), self.port, trust, name)


@dataclass(slots=True)
class Keys:
    """A KeySource of the tests: `stored` is what a re-read finds."""

    held: str = field(repr=False)
    stored: str = field(default="", repr=False)
    rejections: list[bool] = field(default_factory=list)

    def current(self) -> Secret:
        return Secret(self.held)

    def reread(self) -> Secret:
        self.held = self.stored or self.held
        return Secret(self.held)

    def rejected(self, *, retried: bool) -> None:
        self.rejections.append(retried)


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    head: bytes
    body: bytes

    def fields(self, name: str) -> list[str]:
        lines = self.head.decode("latin-1").split("\r\n")[1:]
        pairs = [line.partition(":") for line in lines]
        return [value.strip() for key, _, value in pairs if key.lower() == name]


class Cut(Exception):
    """The gateway closed the connection before a whole response was there."""


@dataclass(slots=True)
class Guest:
    """One artifact: its token and the gateway it speaks to."""

    gateway: Gateway
    token: str

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        host, _, port = self.gateway.address.rpartition(":")
        return await asyncio.open_connection(host, int(port))

    def target(self, url: str) -> str:
        scheme, _, rest = url.partition("://")
        return f"/{self.token}/{scheme}/{rest}"

    async def raw(self, data: bytes) -> Answer:
        """Sends these bytes and reads one response. Raises Cut."""
        reader, writer = await self.connect()
        try:
            writer.write(data)
            await writer.drain()
            return await read_answer(reader)
        finally:
            writer.close()

    async def ask(
        self, url: str, *fields: str, method: str = "GET", body: bytes | None = None
    ) -> Answer:
        lines = [f"{method} {self.target(url)} HTTP/1.1", f"host: {self.gateway.address}", *fields]
        if body is not None:
            lines.append(f"content-length: {len(body)}")
        return await self.raw("\r\n".join([*lines, "", ""]).encode() + (body or b""))


async def read_answer(reader: asyncio.StreamReader) -> Answer:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        answer = Answer(int(head.split()[1]), head, b"")
        body = b""
        if length := answer.fields("content-length"):
            body = await reader.readexactly(int(length[0]))
        elif answer.fields("transfer-encoding"):
            while size := int(await reader.readuntil(b"\r\n"), 16):
                body += await reader.readexactly(size)
                await reader.readexactly(2)
            await reader.readuntil(b"\r\n")
        return Answer(answer.status, head, body)
    except (asyncio.IncompleteReadError, OSError):
        raise Cut from None


@contextlib.asynccontextmanager
async def running(
    names: Names | None = None,
    *,
    dialer: Dialer = dial,
    trust: ssl.SSLContext | None = None,
    timeouts: Timeouts | None = None,
    proxies: Proxies | None = None,
) -> AsyncIterator[Gateway]:
    gateway = Gateway(
        socket.create_server(("127.0.0.1", 0)),
        resolver=names or Names(),
        dialer=dialer,
        trust=trust,
        timeouts=timeouts,
        proxies=proxies,
    )
    await gateway.start()
    try:
        yield gateway
    finally:
        await gateway.close()


def admit(gateway: Gateway, *rules: str, target: GatewayTarget | None = None) -> Guest:
    token = new_token()
    gateway.register(token, Route("murmur/tool-x", parse_rules(rules), target))
    return Guest(gateway, token)


def keyed(endpoint: str, keys: Keys | None, header: str = "x-api-key") -> GatewayTarget:
    return GatewayTarget(parse_endpoint(endpoint), header, "{key}", keys)
