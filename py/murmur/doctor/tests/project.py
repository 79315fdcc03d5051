"""A project and its two stores, made byte by byte, and doctor run over them."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path

import pytest

from murmur.doctor.diagnose import diagnose
from murmur.store.archive import Entry, archive_bytes
from murmur.store.names import FullName
from murmur.store.payload import Payload, open_payload
from murmur.store.stores import Store

AGENT = "name: solo\nversion: 0.0.1\ninference: {model: m, driver: {artifact: local/drive}}\n"
_PREAMBLE = b"\0asm\x0d\0\1\0"


def _named(name: str) -> bytes:
    raw = name.encode()
    assert len(raw) < 128
    return b"\0" + bytes([len(raw)]) + raw


def _section(number: int, body: bytes) -> bytes:
    assert len(body) < 128
    return bytes([number, len(body)]) + body


def component(exports: tuple[str, ...] = (), imports: tuple[str, ...] = ()) -> bytes:
    """A component that names these interfaces; nothing in it runs."""
    out = _PREAMBLE
    for name in imports:
        out += _section(10, b"\1" + _named(name) + b"\x05\0")
    for name in exports:
        out += _section(11, b"\1" + _named(name) + b"\x05\0\0")
    return out


def wasm(
    name: str,
    *,
    version: str = "0.1.0",
    runtime: str = "tool",
    exports: tuple[str, ...] = ("murmur:tool/run@0.2.0",),
    imports: tuple[str, ...] = (),
    level: int | None = None,
    more: str = "",
) -> Payload:
    entries = [
        Entry(
            "murmur.yaml",
            f"name: {name}\nversion: {version}\nruntime: {runtime}\n{more}".encode(),
        ),
        Entry("capsule.wasm", component(exports, imports)),
    ]
    if level is not None:
        entries.append(Entry("murmur-build.json", f'{{"built_at_level":{level}}}\n'.encode()))
    return open_payload(archive_bytes(entries), name, {})


def native(name: str, binary: bytes) -> Payload:
    manifest = f"name: {name}\nversion: 0.1.0\nruntime: tool\nimplementation: native\n"
    entries = [
        Entry("murmur.yaml", manifest.encode()),
        Entry(f"bin/{name}", binary, executable=True),
    ]
    return open_payload(archive_bytes(entries), name, {})


def skill(name: str) -> Payload:
    manifest = f"name: {name}\nversion: 0.1.0\nruntime: skill\nexecution: static\n"
    entries = [Entry("murmur.yaml", manifest.encode()), Entry("skill.md", b"# A skill\n")]
    return open_payload(archive_bytes(entries), name, {})


def elf(machine: int) -> bytes:
    head = bytearray(64)
    head[:6] = b"\x7fELF\2\1"
    head[18:20] = machine.to_bytes(2, "little")
    return bytes(head)


@dataclasses.dataclass(frozen=True, slots=True)
class Told:
    """What doctor said and how it ended."""

    status: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    @property
    def checklist(self) -> list[str]:
        """The lines from `Checking` on, to the next empty one."""
        start = next(i for i, line in enumerate(self.lines) if line.startswith("Checking "))
        end = self.lines.index("", start)
        return self.lines[start + 1 : end]

    def block(self, title: str) -> list[str]:
        """A block without its title line."""
        start = next(i for i, line in enumerate(self.lines) if line.startswith(title))
        end = self.lines.index("", start)
        return self.lines[start + 1 : end]

    @property
    def tally(self) -> str:
        return next(
            line for line in self.lines if line == "All checks passed." or " passed, " in line
        )

    @property
    def fixes(self) -> list[str]:
        return [line.removeprefix("Fix: ") for line in self.lines if line.startswith("Fix: ")]


class Project:
    """A home, a project folder, and the two stores."""

    def __init__(self, folder: Path, captured: "pytest.CaptureFixture[str]") -> None:
        self.home = folder / "home"
        self.home.mkdir()
        self.folder = folder / "project"
        self.folder.mkdir()
        self.mine = Store(self.folder / ".murmur" / "artifacts", "project")
        self.machine = Store(self.home / ".murmur" / "artifacts", "global")
        self._captured = captured

    def write(self, text: str, name: str = "murmur.yaml") -> None:
        (self.folder / name).write_text(text)

    def put(
        self,
        payload: Payload,
        tag: str | None = None,
        *,
        scope: str = "local",
        globally: bool = False,
    ) -> str:
        """Stores a payload; its sha256."""
        store = self.machine if globally else self.mine
        name = FullName.of(scope, payload.manifest.name)
        store.put(name, payload, tag)
        return payload.sha256

    def doctor(
        self,
        *,
        bind: str = "127.0.0.1",
        environ: Mapping[str, str] | None = None,
        start: Path | None = None,
    ) -> Told:
        self._captured.readouterr()
        variables = {"PATH": "/usr/bin:/bin", "HOME": str(self.home), **(environ or {})}
        status = diagnose(start or self.folder, bind, variables)
        said = self._captured.readouterr()
        return Told(status, said.out, said.err)
