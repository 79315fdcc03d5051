"""spec/registry.md 2."""

import zipfile

import pytest

from murmur.store.archive import (
    Archive,
    BadArchive,
    Entry,
    NoPayload,
    archive_bytes,
    build_record,
    decompression_ceiling,
    select_component,
)

from .components import raw_zip

CEILING = 1 << 20


def test_the_same_entries_give_the_same_bytes() -> None:
    entries = [Entry("murmur.yaml", b"name: x\n"), Entry("bin/x", b"x" * 9999, executable=True)]
    assert archive_bytes(entries) == archive_bytes(list(entries))


def test_entries_are_deflated_in_order_and_a_native_binary_is_stored_755() -> None:
    import io

    data = archive_bytes(
        [Entry("b", b"b" * 100), Entry("bin/x", b"x", executable=True), build_record(3)]
    )
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        infos = packed.infolist()
    assert [info.filename for info in infos] == ["b", "bin/x", "murmur-build.json"]
    assert all(info.compress_type == zipfile.ZIP_DEFLATED for info in infos)
    assert [info.external_attr >> 16 & 0o777 for info in infos] == [0o644, 0o755, 0o644]
    assert Archive(data, CEILING).read("murmur-build.json") == b'{"built_at_level":3}\n'


def test_capsule_wasm_wins_and_otherwise_exactly_one_root_component_is_required() -> None:
    assert select_component(["z.wasm", "capsule.wasm"]) == "capsule.wasm"
    assert select_component(["lib/a.wasm", "only.wasm", "x.txt"]) == "only.wasm"
    with pytest.raises(NoPayload, match=r"missing root \.wasm"):
        select_component(["lib/a.wasm", "/b.wasm", "..\\c.wasm"])
    with pytest.raises(NoPayload, match=r"multiple root \.wasm files: a\.wasm, b\.wasm"):
        select_component(["b.wasm", "a.wasm"])


def test_unpacking_stops_at_the_ceiling() -> None:
    bomb = raw_zip(("capsule.wasm", b"\0" * 100_000))
    assert len(bomb) < 1000
    with pytest.raises(BadArchive, match="more than 99999 bytes"):
        Archive(bomb, 99_999).read("capsule.wasm")
    assert len(Archive(bomb, 100_000).read("capsule.wasm")) == 100_000


def test_a_size_that_lies_in_the_directory_does_not_lift_the_ceiling() -> None:
    bomb = bytearray(raw_zip(("a", b"\0" * 100_000)))
    size = (100_000).to_bytes(4, "little")
    at = bomb.rindex(size)
    bomb[at : at + 4] = (10).to_bytes(4, "little")
    with pytest.raises(BadArchive, match="two ways"):
        Archive(bytes(bomb), 50_000)


@pytest.mark.parametrize(
    ("value", "ceiling"),
    [
        ("", 524_288_000),
        ("12", 12),
        ("0", 0),
        ("-1", 524_288_000),
        ("1e3", 524_288_000),
        (" 5", 524_288_000),
        (str(1 << 64), 524_288_000),
        (str((1 << 64) - 1), (1 << 64) - 1),
    ],
)
def test_an_unset_or_unparsable_ceiling_means_the_default(value: str, ceiling: int) -> None:
    assert decompression_ceiling({"MURMUR_MAX_ARTIFACT_DECOMPRESSED_BYTES": value}) == ceiling


def test_more_than_ten_thousand_entries_are_refused() -> None:
    with pytest.raises(BadArchive, match="10000 entries"):
        Archive(raw_zip(*((str(i), b"") for i in range(10_001))), CEILING)


def test_a_damaged_entry_is_refused() -> None:
    data = bytearray(raw_zip(("a", bytes(range(256)) * 40)))
    data[60] ^= 0xFF
    with pytest.raises(BadArchive, match="damaged"):
        Archive(bytes(data), CEILING).read("a")


def test_text_must_be_utf_8() -> None:
    with pytest.raises(BadArchive, match="UTF-8"):
        Archive(raw_zip(("a", b"\xff\xfe")), CEILING).read_text("a")


@pytest.mark.parametrize(
    ("content", "level"),
    [
        (b'{"built_at_level":3}\n', 3),
        (b'{"built_at_level":7,"other":1}', 7),
        (b'{"built_at_level":-1}', None),
        (b'{"built_at_level":true}', None),
        (b'{"built_at_level":"3"}', None),
        (b"[]", None),
        (b"nonsense", None),
    ],
)
def test_a_malformed_build_record_is_no_label(content: bytes, level: int | None) -> None:
    assert Archive(raw_zip(("murmur-build.json", content)), CEILING).built_at_level() == level
