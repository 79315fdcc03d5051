"""A web server over TLS with an authority of its own, in front of which names mean nothing.

It serves files, a package index for pip, a registry for npm and repositories for git.
"""

import contextlib
import datetime
import hashlib
import http.server
import io
import json
import os
import ssl
import subprocess
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

BIG = 8 << 20


@dataclass(frozen=True, slots=True)
class Web:
    """`authority` is the certificate that clients must trust, `root` what is served."""

    port: int
    authority: Path
    root: Path


def make_certificates(folder: Path, *names: str) -> tuple[Path, Path]:
    """(authority, key and certificate of a server of these names), as PEM files."""
    now = datetime.datetime.now(datetime.UTC)
    issuer_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "murmur test authority")])

    def certificate(
        subject: x509.Name, public: Any, extension: x509.ExtensionType, ca: bool
    ) -> Any:
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer)
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=2))
            .add_extension(extension, critical=ca)
            .sign(issuer_key, hashes.SHA256())
        )

    own = certificate(issuer, issuer_key.public_key(), x509.BasicConstraints(True, None), True)
    leaf = certificate(
        x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0])]),
        key.public_key(),
        x509.SubjectAlternativeName([x509.DNSName(name) for name in names]),
        False,
    )
    authority, server = folder / "authority.pem", folder / "server.pem"
    pem = serialization.Encoding.PEM
    authority.write_bytes(own.public_bytes(pem))
    private = key.private_bytes(
        pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    server.write_bytes(private + leaf.public_bytes(pem))
    return authority, server


class _Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, *args: Any, root: Path, **kwargs: Any) -> None:
        self._root = root
        super().__init__(*args, directory=str(root), **kwargs)

    def do_GET(self) -> None:
        if self.path.startswith("/git/"):
            self._git(b"")
        else:
            super().do_GET()

    def do_POST(self) -> None:
        self._git(self._body())

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def _git(self, body: bytes) -> None:
        """git's own server program, as CGI."""
        path, _, query = self.path.removeprefix("/git").partition("?")
        answer = subprocess.run(
            ["git", "http-backend"],
            input=body,
            capture_output=True,
            check=True,
            env={
                "PATH": os.environ["PATH"],
                "GIT_PROJECT_ROOT": str(self._root / "git"),
                "GIT_HTTP_EXPORT_ALL": "1",
                "REQUEST_METHOD": self.command,
                "PATH_INFO": path,
                "QUERY_STRING": query,
                "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            },
        ).stdout
        head, _, rest = answer.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().splitlines())
        self.send_response(int(fields.pop("Status", "200").split()[0]))
        for name, value in fields.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(rest)))
        self.end_headers()
        self.wfile.write(rest)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextlib.contextmanager
def web(folder: Path, *names: str) -> Iterator[Web]:
    """Serves a new site in `folder`, over TLS by these names."""
    authority, certificate = make_certificates(folder, *names)
    root = folder / "site"
    root.mkdir()
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)

    def handler(*args: Any, **kwargs: Any) -> _Handler:
        return _Handler(*args, root=root, **kwargs)

    class Server(http.server.ThreadingHTTPServer):
        daemon_threads = True

        def finish_request(self, request: Any, client_address: Any) -> None:
            # The handshake in the connection's own thread: one that stalls holds up nobody.
            with contextlib.suppress(OSError):
                super().finish_request(
                    context.wrap_socket(request, server_side=True), client_address
                )

    with Server(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield Web(server.server_address[1], authority, root)
        finally:
            server.shutdown()
            thread.join()


def publish_files(site: Web) -> str:
    """A file of 8 MiB at /big; its hash."""
    data = os.urandom(1 << 20) * (BIG >> 20)
    (site.root / "big").write_bytes(data)
    return hashlib.sha256(data).hexdigest()


def publish_wheel(site: Web) -> None:
    """A package `murmurtestpkg` on a simple index at /simple/."""
    name = "murmurtestpkg-1.0-py3-none-any.whl"
    packed = io.BytesIO()
    info = "murmurtestpkg-1.0.dist-info"
    with zipfile.ZipFile(packed, "w") as wheel:
        wheel.writestr("murmurtestpkg/__init__.py", "ANSWER = 42\n")
        wheel.writestr(
            f"{info}/METADATA", "Metadata-Version: 2.1\nName: murmurtestpkg\nVersion: 1.0\n"
        )
        wheel.writestr(
            f"{info}/WHEEL",
            "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        wheel.writestr(f"{info}/RECORD", "")
    page = site.root / "simple" / "murmurtestpkg" / "index.html"
    page.parent.mkdir(parents=True)
    digest = hashlib.sha256(packed.getvalue()).hexdigest()
    page.write_text(f'<!DOCTYPE html><a href="{name}#sha256={digest}">{name}</a>')
    (page.parent / name).write_bytes(packed.getvalue())


def publish_node_package(site: Web, base: str) -> None:
    """A package `murmurtestpkg` as a registry at `base` describes it."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for path, text in (
            ("package/package.json", '{"name": "murmurtestpkg", "version": "1.0.0"}'),
            ("package/index.js", "module.exports = 42;\n"),
        ):
            member = tarfile.TarInfo(path)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    (site.root / "murmurtestpkg.tgz").write_bytes(packed.getvalue())
    dist = {
        "tarball": f"{base}/murmurtestpkg.tgz",
        "shasum": hashlib.sha1(packed.getvalue()).hexdigest(),
    }
    version = {"name": "murmurtestpkg", "version": "1.0.0", "dist": dist}
    document = {
        "name": "murmurtestpkg",
        "dist-tags": {"latest": "1.0.0"},
        "versions": {"1.0.0": version},
    }
    (site.root / "murmurtestpkg").write_text(json.dumps(document))


def publish_repository(site: Web) -> str:
    """A repository of 200 files at /git/repo.git; its commit."""
    work = site.root / "work"
    work.mkdir()
    for number in range(200):
        path = work / f"folder{number % 7}" / f"file{number}"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"{number}\n" * 50)

    def git(*arguments: str) -> str:
        who = ("-c", "user.name=t", "-c", "user.email=t@example.com")
        done = subprocess.run(
            ["git", *who, "-C", str(work), *arguments], check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    git("init", "--quiet", "--initial-branch=main")
    git("add", ".")
    git("commit", "--quiet", "-m", "one")
    git("clone", "--quiet", "--bare", ".", str(site.root / "git" / "repo.git"))
    return git("rev-parse", "HEAD")
