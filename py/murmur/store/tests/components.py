"""Small components and archives for the tests, made byte by byte."""

import io
import zipfile
from pathlib import Path

from murmur.store.archive import Entry, archive_bytes
from murmur.store.payload import Payload, open_payload

PREAMBLE = b"\0asm\x0d\0\1\0"
CORE_MODULE = b"\0asm\1\0\0\0"


def leb(value: int) -> bytes:
    out = bytearray()
    while True:
        byte = value & 0x7F
        value >>= 7
        out.append(byte | (0x80 if value else 0))
        if not value:
            return bytes(out)


def section(number: int, body: bytes) -> bytes:
    return bytes([number]) + leb(len(body)) + body


def named(name: str, prefix: int = 0) -> bytes:
    raw = name.encode()
    return bytes([prefix]) + leb(len(raw)) + raw


def component(
    exports: tuple[str, ...] = (), imports: tuple[str, ...] = (), padding: bytes = b""
) -> bytes:
    """A component naming these interfaces (as instances); as real encoders do, in many sections."""
    out = PREAMBLE + section(0, named("producers")[1:] + padding)
    for name in imports:
        out += section(10, leb(1) + named(name) + b"\x05" + leb(300))
    out += section(1, CORE_MODULE)
    out += section(4, component_body())
    for name in exports:
        out += section(11, leb(1) + named(name) + b"\x05" + leb(2) + b"\0")
    return out


def component_body() -> bytes:
    """A nested component that imports something: it must not be looked into."""
    return PREAMBLE + section(10, leb(1) + named("murmur:nested/secret@9.9.9") + b"\x05\0")


def manifest(name: str = "my-tool", version: str = "0.1.0", **more: str) -> bytes:
    fields = {"name": name, "version": version, "runtime": "tool", **more}
    return "".join(f"{key}: {value}\n" for key, value in fields.items()).encode()


def wasm_zip(
    name: str = "my-tool",
    version: str = "0.1.0",
    *,
    exports: tuple[str, ...] = ("murmur:tool/run@0.2.0",),
    imports: tuple[str, ...] = (),
    padding: bytes = b"",
    **more: str,
) -> bytes:
    return archive_bytes(
        [
            Entry("murmur.yaml", manifest(name, version, **more)),
            Entry("capsule.wasm", component(exports, imports, padding)),
        ]
    )


def native_zip(
    name: str = "my-native", version: str = "0.1.0", binary: bytes = b"#!/bin/sh\n"
) -> bytes:
    return archive_bytes(
        [
            Entry("murmur.yaml", manifest(name, version, implementation="native")),
            Entry(f"bin/{name}", binary, executable=True),
        ]
    )


def payload(data: bytes) -> Payload:
    return open_payload(data, "test", {})


def raw_zip(*entries: tuple[str, bytes], mode: int = 0o100644) -> bytes:
    """A zip as any other tool would write it, in any shape."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in entries:
            info = zipfile.ZipInfo(name)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.create_system = 3
            info.external_attr = mode << 16
            packed.writestr(info, data)
    return target.getvalue()


def everything_below(folder: Path) -> dict[str, bytes]:
    """Each file below a folder, hidden ones too, with its content."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def elf(machine: int, *, wide: bool = True, big: bool = False) -> bytes:
    head = bytearray(64)
    head[:4] = b"\x7fELF"
    head[4] = 2 if wide else 1
    head[5] = 2 if big else 1
    head[18:20] = machine.to_bytes(2, "big" if big else "little")
    return bytes(head)
