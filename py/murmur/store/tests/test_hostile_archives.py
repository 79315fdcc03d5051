"""Every hostile archive is refused with its reason, in little memory. spec/registry.md 2."""

import os
import struct
import subprocess
import sys
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import murmur
from murmur.core.diagnostics import MurmurError
from murmur.store.archive import Archive, BadArchive, Entry, archive_bytes
from murmur.store.build import build
from murmur.store.content import ALL_IN_MEMORY, IN_MEMORY, Content, NotAFile, hold, hold_file
from murmur.store.payload import open_payload

from .hostile import MANIFEST, UTF8, End, Member, deflated, honest, write

CEILING = 1 << 20
PLAIN = Member(b"murmur.yaml", MANIFEST)
SKILL = Member(b"skill.md", b"text")
HONEST = honest(SKILL)
ZIP64 = struct.pack("<2H2Q", 1, 16, 5, 5)


def flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]


HOSTILE: dict[str, tuple[bytes, str]] = {
    # names that lead elsewhere
    "climbs": (honest(Member(b"../evil", b"x")), r"climbs out"),
    "climbs-inside": (honest(Member(b"a/../../evil", b"x")), r"climbs out"),
    "climbs-with-backslashes": (honest(Member(b"..\\evil", b"x")), r"backslash"),
    "absolute": (honest(Member(b"/etc/passwd", b"x")), r"absolute"),
    "absolute-twice": (honest(Member(b"//host/share", b"x")), r"absolute"),
    "drive": (honest(Member(b"C:evil", b"x")), r"drive"),
    "drive-slash": (honest(Member(b"c:/evil", b"x")), r"drive"),
    "unc": (honest(Member(b"\\\\host\\share", b"x")), r"backslash"),
    "alternate-stream": (honest(Member(b"skill.md:hidden", b"x")), r"colon"),
    "dot-segment": (honest(Member(b"a/./b", b"x")), r"segment '\.'"),
    "empty-segment": (honest(Member(b"a//b", b"x")), r"segment ''"),
    "empty-name": (honest(Member(b"", b"x")), r"name is empty"),
    "nul-in-name": (honest(Member(b"skill.md\0.exe", b"x")), r"U\+0000"),
    "newline-in-name": (honest(Member(b"a\nb", b"x")), r"U\+000A"),
    "escape-in-name": (honest(Member(b"\x1b[2Ja", b"x")), r"U\+001B"),
    "right-to-left": (honest(Member("a\u202egnp.exe".encode(), b"x", flags=UTF8)), r"U\+202E"),
    "zero-width": (honest(Member("a\u200b".encode(), b"x", flags=UTF8)), r"U\+200B"),
    "long-name": (honest(Member(b"a/" * 600 + b"a", b"x")), r"longer than 1024"),
    "long-segment": (honest(Member(b"a" * 256, b"x")), r"more than 255"),
    "device-con": (honest(Member(b"con", b"x")), r"that of a device"),
    "device-nul-txt": (honest(Member(b"docs/NUL.txt", b"x")), r"that of a device"),
    "device-com1": (honest(Member(b"Com1", b"x")), r"that of a device"),
    "trailing-dot": (honest(Member(b"skill.md.", b"x")), r"some systems drop"),
    "trailing-space": (honest(Member(b"skill.md ", b"x")), r"some systems drop"),
    "no-encoding-told": (honest(Member("é".encode(), b"x")), r"encoding that it does not tell"),
    "not-utf-8": (honest(Member(b"\xff\xfe", b"x", flags=UTF8)), r"not UTF-8"),
    "second-name": (
        honest(Member(b"a", b"x", extra=struct.pack("<2H", 0x7075, 6) + b"\x01\0\0\0\0b")),
        r"second name",
    ),
    # names that are one somewhere
    "manifest-twice": (honest(PLAIN), r"'murmur\.yaml' twice"),
    "file-twice": (honest(SKILL, SKILL), r"'skill\.md' twice"),
    "two-cases": (honest(Member(b"A.txt"), Member(b"a.txt")), r"in two cases"),
    "manifest-in-capitals": (honest(Member(b"MURMUR.YAML", b"x")), r"in two cases"),
    "two-forms": (
        honest(
            Member("é".encode(), b"1", flags=UTF8), Member("e\u0301".encode(), b"2", flags=UTF8)
        ),
        r"two Unicode forms",
    ),
    "case-and-form": (
        honest(
            Member("É".encode(), b"1", flags=UTF8), Member("e\u0301".encode(), b"2", flags=UTF8)
        ),
        r"two cases and Unicode forms",
    ),
    "sharp-s": (
        honest(Member("straße".encode(), b"1", flags=UTF8), Member(b"STRASSE", b"2")),
        r"in two cases",
    ),
    "file-and-folder": (honest(Member(b"a", b"x"), Member(b"a/b", b"x")), r"file and as a folder"),
    "file-and-folder-entry": (
        honest(Member(b"A", b"x"), Member(b"a/", mode=0o40755, method=0)),
        r"file and as a folder",
    ),
    # what is no file
    "link": (honest(Member(b"skill.md", b"/etc/passwd", mode=0o120777)), r"symbolic link"),
    "link-from-darwin": (
        honest(Member(b"skill.md", b"/etc/passwd", mode=0o120777, system=19)),
        r"symbolic link",
    ),
    "character-device": (honest(Member(b"null", mode=0o20666)), r"a device, a pipe"),
    "block-device": (honest(Member(b"sda", mode=0o60666)), r"a device, a pipe"),
    "pipe": (honest(Member(b"pipe", mode=0o10666)), r"a device, a pipe"),
    "socket": (honest(Member(b"socket", mode=0o140666)), r"a device, a pipe"),
    "folder-with-content": (
        honest(Member(b"a/", b"hidden", mode=0o40755, method=0)),
        r"folder with content",
    ),
    "folder-called-a-file": (honest(Member(b"a", mode=0o40755)), r"or the reverse"),
    # sizes
    "bomb": (honest(Member(b"capsule.wasm", b"\0" * (CEILING + 1))), r"more than 1048576 bytes"),
    "bomb-that-lies": (
        honest(Member(b"capsule.wasm", packed=deflated(b"\0" * CEILING * 20), size=5, crc=0)),
        r"more than it states",
    ),
    "shorter-than-told": (
        honest(Member(b"capsule.wasm", b"x" * 9, size=10)),
        r"less than it states",
    ),
    "two-sizes": (honest(Member(b"capsule.wasm", b"abc", local_size=2)), r"in two ways"),
    "stored-in-two-sizes": (honest(Member(b"a", b"abc", method=0, size=9)), r"in two sizes"),
    "checksum": (honest(Member(b"capsule.wasm", b"abc", crc=1)), r"checksum"),
    "deflate-cut-off": (
        honest(Member(b"capsule.wasm", b"abc" * 99, packed=deflated(b"abc" * 99)[:-3])),
        r"damaged",
    ),
    "deflate-with-a-tail": (
        honest(Member(b"capsule.wasm", b"abc", packed=deflated(b"abc") + b"tail")),
        r"bytes behind its end",
    ),
    "deflate-broken": (
        honest(Member(b"capsule.wasm", b"abc", packed=b"\xff\xff\xff")),
        r"damaged",
    ),
    "too-many-entries": (
        write([Member(b"%d" % number, method=0) for number in range(10_001)]),
        r"at most 10000 entries",
    ),
    "too-many-entries-told": (write([PLAIN], End(count=65535)), r"at most 10000 entries"),
    "directory-too-large": (
        write([Member(b"%d" % number, extra=b"\0" * 65535) for number in range(65)]),
        r"directory is larger",
    ),
    # encryption, methods, zip64, parts
    "encrypted": (honest(Member(b"a", b"x", flags=0x1)), r"encrypted"),
    "strongly-encrypted": (honest(Member(b"a", b"x", flags=0x41)), r"encrypted"),
    "masked-headers": (honest(Member(b"a", b"x", flags=0x2000)), r"encrypted"),
    "patch": (honest(Member(b"a", b"x", flags=0x20)), r"patch"),
    "method-bzip2": (honest(Member(b"a", b"x", method=12)), r"method 12"),
    "method-aes": (honest(Member(b"a", b"x", method=99)), r"method 99"),
    "zip64-sizes": (
        honest(Member(b"a", b"x", size=0xFFFFFFFF, local_size=0xFFFFFFFF)),
        r"zip64",
    ),
    "zip64-extra": (honest(Member(b"a", b"x", extra=ZIP64)), r"zip64"),
    "zip64-offset": (honest(Member(b"a", b"x", offset=0xFFFFFFFF)), r"zip64"),
    "zip64-locator": (
        write([PLAIN], End(before=struct.pack("<4sLQL", b"PK\x06\x07", 0, 0, 1))),
        r"zip64",
    ),
    "another-disk": (write([PLAIN], End(disk=1)), r"in several"),
    "entry-on-another-disk": (honest(Member(b"a", b"x", disk=1)), r"in several"),
    "counts-differ": (write([PLAIN, SKILL], End(here=1)), r"in several"),
    # two stories
    "local-name": (honest(Member(b"skill.md", b"x", local_name=b"other.md")), r"another name"),
    "local-method": (honest(Member(b"a", b"x", local_method=0)), r"in two ways"),
    "local-encrypted": (honest(Member(b"a", b"x", local_flags=1)), r"in two ways"),
    "overlap": (
        write([PLAIN, Member(b"murmur.yaml2", offset=0, local_name=b"murmur.yaml")]),
        r"another name",
    ),
    "offset-nowhere": (honest(Member(b"a", b"x", offset=7)), r"not where the directory says"),
    "offset-behind": (honest(Member(b"a", b"x", offset=1 << 30)), r"not where the directory"),
    "reaches-into-directory": (
        honest(Member(b"a", b"x" * 9, method=0, size=99, packed_size=99)),
        r"reaches into the directory",
    ),
    "hidden-between": (honest(Member(b"a", b"x", before=b"PK\x03\x04hidden")), r"hidden bytes"),
    "hidden-before-directory": (write([PLAIN], behind=b"hidden"), r"hidden bytes"),
    "extra-cut-off": (honest(Member(b"a", b"x", extra=b"\x99\x99\xff\xff")), r"extra field"),
    "fewer-counted": (write([PLAIN, SKILL], End(count=1)), r"more than the entries"),
    "more-counted": (write([PLAIN], End(count=2)), r"directory is damaged"),
    # files cut or joined
    "empty": (b"", r"not a zip archive"),
    "text": (b"name: x\n" * 99, r"not a zip archive"),
    "cut-at-the-end": (HONEST[:-1], r"cut off"),
    "cut-in-the-directory": (HONEST[:-40], r"cut off"),
    "cut-in-the-middle": (HONEST[: len(HONEST) // 2], r"cut off"),
    "cut-at-the-front": (HONEST[9:], r"concatenated or cut"),
    "bytes-in-front": (b"#!/bin/sh\n" + HONEST, r"concatenated"),
    "bytes-behind": (HONEST + b"\0", r"after the end"),
    "two-archives": (HONEST + honest(Member(b"a", b"x")), r"concatenated"),
    "archive-in-the-comment": (
        write([PLAIN], End(comment=HONEST)),
        r"concatenated|hidden|another|not where",
    ),
    "comment-too-short": (write([PLAIN], End(comment_length=9)), r"after the end"),
    "directory-elsewhere": (write([PLAIN], End(start=0)), r"before its first entry"),
    "signature-broken": (flipped(HONEST, HONEST.index(b"PK\x01\x02")), r"directory is damaged"),
    "entry-signature-broken": (flipped(HONEST, 0), r"not where the directory says"),
    # a manifest that is none
    "no-manifest": (write([SKILL]), r"no murmur\.yaml"),
    "manifest-in-a-folder": (write([Member(b"a/murmur.yaml", MANIFEST)]), r"no murmur\.yaml"),
    "large-manifest": (write([Member(b"murmur.yaml", b"#" * CEILING * 2)]), r"more than 1048576"),
}


def use(data: bytes) -> None:
    """What a launch does with an archive: opens it, reads its manifest and its payloads."""
    payload = open_payload(data, "hostile", {"MURMUR_MAX_ARTIFACT_DECOMPRESSED_BYTES": "1048576"})
    for name in payload.archive.names:
        for _ in payload.archive.stream(name):
            pass


def test_the_corpus_is_large_and_its_archives_are_all_different() -> None:
    assert len(HOSTILE) >= 40
    assert len({data for data, _ in HOSTILE.values()}) == len(HOSTILE)


def test_the_honest_archive_that_the_others_are_made_from_is_read() -> None:
    use(HONEST)
    archive = Archive(HONEST, CEILING)
    assert archive.names == ("murmur.yaml", "skill.md") and archive.read("skill.md") == b"text"


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_archive_is_refused_with_its_reason(name: str) -> None:
    data, reason = HOSTILE[name]
    with pytest.raises((MurmurError, BadArchive), match=reason) as refused:
        use(data)
    if isinstance(refused.value, MurmurError):
        assert refused.value.diagnostic.code == "E-IO-003"


def test_folders_sizes_behind_the_data_and_comments_are_no_reason_to_refuse() -> None:
    late = Member(b"skill.md", b"text", flags=0x8, after=b"PK\x07\x08" + b"\0" * 12)
    data = write(
        [PLAIN, Member(b"docs/", mode=0o40755, method=0), Member(b"docs/a.md", b"a"), late],
        End(comment=b"made by hand"),
    )
    use(data)


def test_every_archive_that_python_writes_is_read() -> None:
    data = archive_bytes([Entry("murmur.yaml", MANIFEST), Entry("bücher/ä.md", b"x" * 9999)])
    use(data)


def test_every_single_flipped_byte_is_refused_or_changes_nothing_that_is_read() -> None:
    wanted = {"murmur.yaml": MANIFEST, "skill.md": b"text"}
    for at in range(len(HONEST)):
        try:
            archive = Archive(flipped(HONEST, at), CEILING)
            read = {name: archive.read(name) for name in archive.names}
        except BadArchive:
            continue
        assert read == wanted, at


def test_every_prefix_is_refused() -> None:
    for length in range(len(HONEST)):
        with pytest.raises(BadArchive):
            Archive(HONEST[:length], CEILING)


def test_a_large_archive_is_held_outside_memory_and_read_a_piece_at_a_time(tmp_path: Path) -> None:
    size = 48 << 20
    path = tmp_path / "large.zip"
    path.write_bytes(write([PLAIN, Member(b"capsule.wasm", os.urandom(1 << 16) * 768, method=0)]))
    assert path.stat().st_size > size
    tracemalloc.start()
    try:
        content = hold_file(path)
        payload = open_payload(content, "large", {})
        assert sum(map(len, payload.archive.stream("capsule.wasm"))) == size
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert content.size == path.stat().st_size and peak < IN_MEMORY * 3


def test_what_was_held_is_what_is_read_whatever_happens_to_the_file(tmp_path: Path) -> None:
    path = tmp_path / "x"
    for size in (10, IN_MEMORY + 10):
        path.write_bytes(b"a" * size)
        content = hold_file(path)
        path.write_bytes(b"b" * size)
        assert b"".join(content.chunks()) == b"a" * size
        assert content.sha256 == Content.of(b"a" * size).sha256


def test_many_small_archives_are_not_all_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"x" * (4 << 20))
    for _ in range(2):  # what is dropped makes room again
        tracemalloc.start()
        try:
            held = [hold_file(path) for _ in range(20)]
            size, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert size <= ALL_IN_MEMORY + (1 << 20)
        assert {content.sha256 for content in held} == {Content.of(path.read_bytes()).sha256}
        assert {content.read(content.size - 1, 9) for content in held} == {b"x"}
        held.clear()


def test_content_that_fails_on_the_way_is_not_held() -> None:
    def pieces() -> Iterator[bytes]:
        yield b"x" * (IN_MEMORY + 1)
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        hold(pieces())


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_a_pipe_or_a_folder_is_no_archive_and_is_not_waited_for(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    make(tmp_path / "x.mur.zip")
    with pytest.raises((NotAFile, IsADirectoryError)):
        hold_file(tmp_path / "x.mur.zip")


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/self/status")
def test_refusing_the_whole_corpus_takes_less_than_64_mib(tmp_path: Path) -> None:
    """In a process of its own, whose peak the kernel tells."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    for number, (data, _) in enumerate(HOSTILE.values()):
        (folder / f"{number}.mur.zip").write_bytes(data)
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    bomb = b"".join(packer.compress(b"\0" * (1 << 20)) for _ in range(400)) + packer.flush()
    (folder / "bomb.mur.zip").write_bytes(
        write([PLAIN, Member(b"capsule.wasm", packed=bomb, crc=1, size=400 << 20)])
    )
    script = """
import pathlib, sys
from murmur.store.archive import Archive, BadArchive
from murmur.store.content import hold_file
refused = 0
for path in sorted(pathlib.Path(sys.argv[1]).iterdir()):
    try:
        archive = Archive(hold_file(path), 524288000)
        archive.read("murmur.yaml", 1 << 20)
        for name in archive.names:
            for _ in archive.stream(name, 1 << 20 if path.name != "bomb.mur.zip" else None):
                pass
    except BadArchive:
        refused += 1
status = pathlib.Path("/proc/self/status").read_text()
print(refused, next(l.split()[1] for l in status.splitlines() if l.startswith("VmHWM")))
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(folder)],
        env={**os.environ, "PYTHONPATH": str(Path(murmur.__file__ or "").parents[1])},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    refused, kilobytes = map(int, done.stdout.split())
    assert refused == len(HOSTILE) + 1
    assert kilobytes < 64 * 1024


@pytest.mark.parametrize(
    "names", [("a.txt", "A.txt"), ("nul.txt",), ("ä.md", "a\u0308.md"), ("a ",), ("a:b",)]
)
def test_what_would_be_refused_is_not_built(tmp_path: Path, names: tuple[str, ...]) -> None:
    for name in names:
        (tmp_path / name).write_text(name)
    listed = "".join(f"  - {name!r}\n" for name in names)
    (tmp_path / "murmur.yaml").write_bytes(MANIFEST + f"requires_files:\n{listed}".encode())
    with pytest.raises(MurmurError) as refused:
        build(str(tmp_path))
    assert refused.value.diagnostic.code == "E-BLD-002"
    assert not list(tmp_path.glob("*.mur.zip"))
