"""Servers for the gateway's tests: they log every byte they get and answer what they are told."""

import asyncio
import contextlib
import datetime
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass(slots=True)
class Exchange:
    """One request as a server read it, with the stream to answer on."""

    head: bytes
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    def fields(self, name: str) -> list[str]:
        """The values of every header named `name`, in order."""
        values = []
        for line in self.head.decode("latin-1").split("\r\n")[1:]:
            field_name, _, value = line.partition(":")
            if field_name.lower() == name:
                values.append(value.strip())
        return values

    @property
    def line(self) -> str:
        return self.head.decode("latin-1").split("\r\n", 1)[0]

    async def body(self) -> bytes:
        """The request's body, by `content-length` or chunked."""
        if length := self.fields("content-length"):
            return await self.reader.readexactly(int(length[0]))
        held = b""
        if self.fields("transfer-encoding"):
            while size := int(await self.reader.readline(), 16):
                held += await self.reader.readexactly(size)
                await self.reader.readexactly(2)
            await self.reader.readline()
        return held


Handler = Callable[[Exchange], Awaitable[None]]


@dataclass(slots=True)
class Upstream:
    """A running server. `connections` counts accepted ones, `exchanges` the requests read."""

    handler: Handler
    port: int = 0
    connections: int = 0
    exchanges: list[Exchange] = field(default_factory=list)

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            exchange = Exchange(await reader.readuntil(b"\r\n\r\n"), reader, writer)
            self.exchanges.append(exchange)
            await self.handler(exchange)
            await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


@contextlib.asynccontextmanager
async def serving(handler: Handler, tls: ssl.SSLContext | None = None) -> AsyncIterator[Upstream]:
    upstream = Upstream(handler)
    server = await asyncio.start_server(upstream.accept, "127.0.0.1", 0, ssl=tls)
    upstream.port = server.sockets[0].getsockname()[1]
    try:
        yield upstream
    finally:
        server.close()


def answering(response: bytes) -> Handler:
    """Reads the body and answers these bytes."""

    async def handler(exchange: Exchange) -> None:
        await exchange.body()
        exchange.writer.write(response)

    return handler


def plain(body: bytes, status: str = "200 OK", *fields: str) -> bytes:
    """A response with a length."""
    lines = [f"HTTP/1.1 {status}", f"content-length: {len(body)}", *fields, "", ""]
    return "\r\n".join(lines).encode() + body


@dataclass(frozen=True, slots=True)
class Authority:
    """A certificate authority of the tests with one server certificate for `names`."""

    certificate: Path
    server: ssl.SSLContext

    def trust(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.certificate))


def make_authority(folder: Path, *names: str) -> Authority:
    """Keys and certificates made for this test run."""
    root_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test authority")])
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test server")])
    signs = x509.KeyUsage(False, False, False, False, False, True, False, False, False)
    root = (
        _certificate(issuer, issuer, root_key)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(signs, critical=True)
        .sign(root_key, hashes.SHA256())
    )
    alternatives = x509.SubjectAlternativeName([x509.DNSName(name) for name in names])
    server = (
        _certificate(subject, issuer, key)
        .add_extension(alternatives, critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(root_key.public_key()), False
        )
        .sign(root_key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    (folder / "root.pem").write_bytes(root.public_bytes(serialization.Encoding.PEM))
    (folder / "server.pem").write_bytes(server.public_bytes(serialization.Encoding.PEM) + private)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.pem")
    return Authority(folder / "root.pem", context)


def _certificate(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    day = datetime.timedelta(days=1)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - day)
        .not_valid_after(now + day)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False)
    )
