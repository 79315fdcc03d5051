"""`mur install` fetches the programs that a project's tools pin, over TLS. spec/registry.md 17."""

import datetime
import hashlib
import ipaddress
import shutil
import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from murmur.manifest.programs import Download
from murmur.store.archive import Entry, archive_bytes
from murmur.store.platforms import host_platform
from murmur.store.programs import ProgramStore

from .archives import component
from .box import Box

PROGRAM = b"#!/bin/sh\necho made-program\n"
PACKED = archive_bytes([Entry("made/bin/made-program", PROGRAM), Entry("made/LICENSE", b"free")])
RUN = "made/bin/made-program"


class Files:
    """A TLS server of some files, and the certificate that proves it."""

    def __init__(self, folder: Path) -> None:
        self.files: dict[str, bytes] = {}
        self.asked: list[dict[str, str]] = []
        self.certificate = folder / "certificate.pem"
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "files")])
        now = datetime.datetime.now(datetime.UTC)
        address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
        made = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(x509.SubjectAlternativeName([address]), critical=False)
            .sign(key, hashes.SHA256())
        )
        pem = made.public_bytes(serialization.Encoding.PEM)
        self.certificate.write_bytes(pem)
        private = folder / "key.pem"
        private.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        files = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, format: str, *args: object) -> None: ...

            def do_GET(self) -> None:
                files.asked.append({k.lower(): v for k, v in self.headers.items()})
                data = files.files.get(self.path)
                self.send_response(200 if data is not None else 404)
                self.send_header("Content-Length", str(len(data or b"")))
                self.end_headers()
                self.wfile.write(data or b"")

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, private)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        self.url = f"https://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def files(tmp_path: Path, box: Box) -> Iterator[Files]:
    served = Files(tmp_path)
    box.environment["SSL_CERT_FILE"] = str(served.certificate)
    box.environment["GITHUB_TOKEN"] = "t0ken"
    yield served
    served.close()


def tool(box: Box, download: Download, program: str = "made-program") -> str:
    """The file of a tool that pins a download."""
    run = f", run: {download.run}" if download.run else ""
    sha256 = download.sha256
    entry = f"platform: {download.platform}, url: '{download.url}', sha256: '{sha256}'{run}"
    manifest = "name: made-tool\nversion: 1.0.0\nruntime: tool\n"
    manifest += f"programs: {{{program}: {{download: [{{{entry}}}]}}}}\n"
    entries = [Entry("murmur.yaml", manifest.encode()), Entry("capsule.wasm", component())]
    (box.cwd / "made-tool.mur.zip").write_bytes(archive_bytes(entries))
    (box.cwd / "murmur.lock").unlink(missing_ok=True)
    return "./made-tool.mur.zip"


def pin(
    files: Files, data: bytes = PACKED, run: str | None = RUN, path: str = "/x.zip"
) -> Download:
    files.files[path] = data
    return Download(host_platform(), files.url + path, hashlib.sha256(data).hexdigest(), run)


def allow(box: Box, *binaries: str) -> None:
    text = "name: capsule\nversion: 0.1.0\nruntime: capsule\n"
    text += f"capabilities:\n  shell: {{allow: [{', '.join(binaries)}]}}\n"
    (box.cwd / "murmur.yaml").write_text(text)


def installed(box: Box, *arguments: str) -> list[str]:
    done = box.run("install", *arguments, timeout=120)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout.splitlines()


INSTALLED = "Installed local/made-tool@1.0.0 (project store)"
STORED = f"Stored made-program, a program of local/made-tool@1.0.0 ({host_platform()})"


def test_a_pinned_program_that_the_capsule_allows_is_fetched_once_without_a_token(
    box: Box, files: Files
) -> None:
    download = pin(files)
    allow(box, "made-program")
    assert installed(box, tool(box, download)) == [INSTALLED, STORED]
    store = ProgramStore(box.home / ".murmur" / "programs")
    assert store.holds(download, "made-program")
    assert store.program(download, "made-program").read_bytes() == PROGRAM
    assert installed(box, tool(box, download)) == [INSTALLED]
    assert len(files.asked) == 1 and "authorization" not in files.asked[0]
    # A copy that was changed is fetched again.
    store.program(download, "made-program").write_bytes(b"evil")
    assert installed(box, tool(box, download)) == [INSTALLED, STORED]
    assert store.holds(download, "made-program")


def test_what_the_capsule_does_not_allow_or_the_host_has_is_not_fetched(
    box: Box, files: Files
) -> None:
    download = pin(files)
    allow(box, "cat")
    assert STORED not in installed(box, tool(box, download))
    assert STORED not in installed(box, tool(box, download, "cat"))
    other = "linux-aarch64" if host_platform() != "linux-aarch64" else "linux-x86_64"
    allow(box, "made-program")
    elsewhere = Download(other, download.url, download.sha256, RUN)
    assert installed(box, tool(box, elsewhere)) == [INSTALLED]
    assert installed(box, "--no-precompile", tool(box, download)) == [INSTALLED]
    assert installed(box, "-g", tool(box, download)) == [INSTALLED.replace("project", "global")]
    assert files.asked == [] and not (box.home / ".murmur" / "programs").exists()


def test_a_download_that_is_not_the_pinned_one_refuses_the_install_and_keeps_nothing(
    box: Box, files: Files
) -> None:
    allow(box, "made-program")
    sound = pin(files)
    gone = Download(host_platform(), files.url + "/gone.zip", sound.sha256, RUN)
    other = Download(host_platform(), sound.url, "0" * 64, RUN)
    closed = Download(host_platform(), "https://127.0.0.1:1/x.zip", sound.sha256, RUN)
    empty = Download(host_platform(), sound.url, sound.sha256, "made/bin/absent")
    for download, code, fact in (
        (gone, "E-REG-001", "/gone.zip"),
        (other, "E-REG-002", "0" * 64),
        (closed, "E-REG-006", "127.0.0.1:1: it cannot be reached"),
        (empty, "E-IO-003", "made/bin/absent"),
    ):
        done = box.run("install", tool(box, download))
        assert done.returncode == 1 and done.stdout == ""
        assert done.stderr.startswith(f"error[{code}]: ") and fact in done.stderr
        assert not (box.cwd / ".murmur").exists() and not (box.cwd / "murmur.lock").exists()
        programs = box.home / ".murmur" / "programs"
        assert not programs.exists() or list(programs.iterdir()) == []


def test_a_certificate_that_nobody_vouches_for_is_refused(box: Box, files: Files) -> None:
    allow(box, "made-program")
    del box.environment["SSL_CERT_FILE"]
    done = box.run("install", tool(box, pin(files)))
    assert done.returncode == 1 and "its certificate is not trusted" in done.stderr
    assert files.asked == []


def test_a_download_without_run_is_the_program_itself(box: Box, files: Files) -> None:
    download = pin(files, PROGRAM, None, "/made-program?raw=1")
    allow(box, "made-program")
    assert installed(box, tool(box, download)) == [INSTALLED, STORED]
    found = ProgramStore(box.home / ".murmur" / "programs").program(download, "made-program")
    assert shutil.which(str(found)) is not None and found.read_bytes() == PROGRAM
