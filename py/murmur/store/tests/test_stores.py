"""spec/registry.md 9."""

import json
import os
from pathlib import Path

import pytest

from murmur.core.diagnostics import MurmurError
from murmur.store import placing
from murmur.store.content import Content
from murmur.store.names import FullName
from murmur.store.platforms import PLATFORMS
from murmur.store.stores import Store, resolve, resolve_all

from .components import elf, everything_below, native_zip, payload, wasm_zip

NAME = FullName("ana/my-tool")
HOST = "linux-x86_64"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "artifacts", "global")


def test_one_version_is_three_files_in_its_own_directory(store: Store) -> None:
    stored = store.put(NAME, payload(wasm_zip()), None, owner_id=7)
    stem = "ana/my-tool/0.1.0/my-tool-0.1.0"
    files = everything_below(store.root)
    assert sorted(files) == [f"{stem}.meta.json", f"{stem}.mur.zip", f"{stem}.sha256"]
    assert files[f"{stem}.sha256"].decode().strip() == stored.open().sha256
    assert json.loads(files[f"{stem}.meta.json"]) == {
        "meta": {
            "name": "ana/my-tool",
            "version": "0.1.0",
            "runtime": "wasm",
            "artifact_runtime": "tool",
            "platforms": [],
            "description": None,
            "tags": [],
            "wit_contracts": {"exports": ["murmur:tool/run@0.2.0"], "imports": []},
            "owner_id": 7,
        }
    }
    record = stored.record()
    assert record is not None and record.owner_id == 7 and record.contracts is not None


def test_a_tagged_payload_comes_before_the_untagged_one(store: Store) -> None:
    name = FullName("ana/my-native")
    store.put(name, payload(native_zip()), None)
    untagged = store.find(name, "0.1.0", HOST)
    assert untagged is not None and untagged.tag is None
    warned = untagged.platform_warning(untagged.open())
    assert warned is not None and warned.code == "W-REG-001"
    assert warned.details == ("Fix: mur install ana/my-native@0.1.0",)
    store.put(name, payload(native_zip(binary=elf(0x3E))), HOST)
    tagged = store.find(name, "0.1.0", HOST)
    assert tagged is not None and tagged.tag == HOST
    assert tagged.path.name == "my-native-0.1.0-linux-x86_64.mur.zip"
    assert tagged.platform_warning(tagged.open()) is None
    other = store.find(name, "0.1.0", "darwin-aarch64")
    assert other is not None and other.tag is None


def test_an_untagged_wasm_payload_is_no_finding(store: Store) -> None:
    stored = store.put(NAME, payload(wasm_zip()), None)
    assert stored.platform_warning(stored.open()) is None


@pytest.mark.parametrize("suffix", [".sha256", ".mur.zip"])
def test_a_zip_without_its_hash_or_the_reverse_is_not_found(store: Store, suffix: str) -> None:
    stored = store.put(NAME, payload(wasm_zip()), None)
    stored.path.with_name("my-tool-0.1.0" + suffix).unlink()
    assert store.find(NAME, "0.1.0", HOST) is None
    assert store.versions(NAME) == ()


def test_an_empty_hash_is_an_error(store: Store) -> None:
    stored = store.put(NAME, payload(wasm_zip()), None)
    stored.path.with_name("my-tool-0.1.0.sha256").write_text(" \n")
    with pytest.raises(MurmurError) as refusal:
        stored.open()
    assert refusal.value.code == "E-IO-003" and "empty" in refusal.value.message


def test_readers_trim_whitespace_around_the_hash(store: Store) -> None:
    stored = store.put(NAME, payload(wasm_zip()), None)
    path = stored.path.with_name("my-tool-0.1.0.sha256")
    path.write_text(f"  {path.read_text()}\n\n")
    assert stored.open().sha256 == stored.recorded_sha256()


def test_bytes_that_do_not_hash_to_the_record_are_e_reg_002(store: Store) -> None:
    stored = store.put(NAME, payload(wasm_zip()), None)
    stored.path.write_bytes(wasm_zip(padding=b"changed"))
    with pytest.raises(MurmurError) as refusal:
        stored.open()
    assert refusal.value.code == "E-REG-002" and "ana/my-tool@0.1.0" in refusal.value.message


def test_a_missing_or_malformed_record_is_as_if_there_were_none(store: Store) -> None:
    stored = store.put(NAME, payload(wasm_zip()), None)
    meta = stored.path.with_name("my-tool-0.1.0.meta.json")
    for content in ("{}", "[]", '{"meta": {"name": 1}}', "x" * 50):
        meta.write_text(content)
        assert stored.record() is None
    meta.unlink()
    assert stored.record() is None and stored.open().manifest.name == "my-tool"


def test_interfaces_come_from_the_record_and_without_one_from_the_payload(store: Store) -> None:
    stored = store.put(NAME, payload(wasm_zip()), None)
    opened = stored.open()
    assert stored.contracts(opened) == opened.contracts is not None
    meta = stored.path.with_name("my-tool-0.1.0.meta.json")
    meta.write_text(meta.read_text().replace("tool/run@0.2.0", "tool/run@0.9.9"))
    changed = stored.contracts(opened)
    assert changed is not None and changed.exports == ("murmur:tool/run@0.9.9",)
    meta.unlink()
    assert stored.contracts(opened) == opened.contracts


def test_publish_never_overwrites_and_install_does(store: Store) -> None:
    store.put(NAME, payload(wasm_zip()), None, overwrite=False)
    before = everything_below(store.root)
    other = payload(wasm_zip(padding=b"other"))
    with pytest.raises(MurmurError) as refusal:
        store.put(NAME, other, None, overwrite=False)
    assert refusal.value.code == "E-REG-003" and everything_below(store.root) == before
    assert store.put(NAME, other, None).open().sha256 == other.sha256


def test_storing_the_same_bytes_again_touches_nothing(store: Store) -> None:
    stored = store.put(NAME, payload(wasm_zip()), None)
    before = os.stat(stored.path).st_ino
    store.put(NAME, payload(wasm_zip()), None)
    assert os.stat(stored.path).st_ino == before


@pytest.mark.parametrize("failing", range(3))
@pytest.mark.parametrize("overwrite", [False, True])
def test_a_failed_write_leaves_everything_as_it_was(
    store: Store, monkeypatch: pytest.MonkeyPatch, failing: int, overwrite: bool
) -> None:
    if overwrite:
        store.put(NAME, payload(wasm_zip()), None)
    before = everything_below(store.root)
    write = placing._write_synced
    calls = iter(range(100))

    def flaky(path: Path, content: Content) -> None:
        if next(calls) == failing:
            raise OSError(28, "No space left on device")
        write(path, content)

    monkeypatch.setattr(placing, "_write_synced", flaky)
    with pytest.raises(MurmurError) as refusal:
        store.put(NAME, payload(wasm_zip(padding=b"new", description="other")), None)
    assert refusal.value.code == "E-IO-003"
    assert everything_below(store.root) == before


def test_payloads_for_other_platforms_stay_what_they_are_when_one_is_replaced(
    store: Store,
) -> None:
    name = FullName("ana/my-native")
    for tag in PLATFORMS:
        store.put(name, payload(native_zip()), tag)
    before = everything_below(store.root)
    stored = store.put(name, payload(native_zip(binary=b"#!/bin/sh\nexit\n")), PLATFORMS[0])
    after = everything_below(store.root)
    changed = {path for path in after if before.get(path) != after[path]}
    assert set(after) == set(before) and {Path(path).name for path in changed} == {
        stored.path.name,
        stored.path.name.removesuffix(".mur.zip") + ".sha256",
    }


def test_what_a_killed_writer_left_is_swept_away_by_the_next(store: Store) -> None:
    stored = store.put(NAME, payload(wasm_zip()), None)
    left = stored.path.parent.with_name(".0.1.0.0123456789abcdef.tmp")
    left.mkdir()
    (left / "half").write_text("half")
    assert store.versions(NAME) == ("0.1.0",)
    store.put(NAME, payload(wasm_zip(version="0.2.0")), None)
    assert not left.exists() and store.versions(NAME) == ("0.2.0", "0.1.0")


@pytest.mark.parametrize("odd", ["link", "folder"])
def test_a_version_directory_that_somebody_arranged_is_written_into_not_replaced(
    store: Store, tmp_path: Path, odd: str
) -> None:
    stored = store.put(NAME, payload(wasm_zip()), None)
    directory = stored.path.parent
    if odd == "link":
        directory.rename(tmp_path / "elsewhere")
        directory.symlink_to(tmp_path / "elsewhere")
    else:
        (directory / "notes").mkdir()
    new = payload(wasm_zip(padding=b"new"))
    store.put(NAME, new, None)
    found = store.find(NAME, "0.1.0", HOST)
    assert found is not None and found.open().sha256 == new.sha256
    assert directory.is_symlink() if odd == "link" else (directory / "notes").is_dir()
    assert not list(store.root.rglob("*.tmp"))


@pytest.mark.parametrize("failing", range(3))
def test_where_directories_cannot_be_exchanged_a_failed_write_leaves_all_as_it_was(
    store: Store, monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    store.put(NAME, payload(wasm_zip()), None)
    before = everything_below(store.root)
    replace = os.replace
    calls = iter(range(100))

    def flaky(source: Path, target: Path) -> None:
        if not str(source).endswith(".old.tmp") and next(calls) == failing:
            raise OSError(28, "No space left on device")
        replace(source, target)

    monkeypatch.setattr(os, "replace", flaky)
    monkeypatch.setattr(placing, "_exchange", lambda: placing._cannot_exchange)
    with pytest.raises(MurmurError) as refusal:
        store.put(NAME, payload(wasm_zip(padding=b"new", description="other")), None)
    assert refusal.value.code == "E-IO-003"
    assert everything_below(store.root) == before


def test_where_files_have_no_second_names_the_old_ones_come_back_too(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.put(NAME, payload(wasm_zip()), None)
    before = everything_below(store.root)

    def no_links(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    def full_at_the_end(directory: Path) -> None:
        if directory.name == "0.1.0":
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "link", no_links)
    monkeypatch.setattr(placing, "_exchange", lambda: placing._cannot_exchange)
    monkeypatch.setattr(placing, "_sync_directory", full_at_the_end)
    with pytest.raises(MurmurError):
        store.put(NAME, payload(wasm_zip(padding=b"new", description="other")), None)
    assert everything_below(store.root) == before


def test_writers_and_readers_at_once_never_see_a_mixture(store: Store) -> None:
    import threading

    payloads = [payload(wasm_zip(padding=bytes([65 + i]) * 5000)) for i in range(2)]
    hashes = {item.sha256 for item in payloads}
    store.put(NAME, payloads[0], None)
    done = threading.Event()

    def write() -> None:
        for round_ in range(60):
            store.put(NAME, payloads[round_ % 2], None)
        done.set()

    writer = threading.Thread(target=write)
    writer.start()
    seen = set()
    try:
        while not done.is_set():
            stored = store.find(NAME, "0.1.0", HOST)
            assert stored is not None
            seen.add(stored.open().sha256)
    finally:
        writer.join()
    assert seen <= hashes


def test_a_version_that_is_no_path_segment_never_becomes_a_path(store: Store) -> None:
    for version in ("..", "a/b", ""):
        with pytest.raises(MurmurError) as refusal:
            store.find(NAME, version, HOST)
        assert refusal.value.code == "E-IO-003"


def test_versions_are_listed_newest_first(store: Store) -> None:
    for version in ("0.2.0", "0.10.0", "0.10.0-rc.1"):
        store.put(NAME, payload(wasm_zip(version=version)), None)
    (store.root / "ana" / "my-tool" / "9.9.9").mkdir()
    assert store.versions(NAME) == ("0.10.0", "0.10.0-rc.1", "0.2.0")


def test_the_project_store_comes_before_the_global_one_at_exactly_that_version(
    tmp_path: Path, store: Store
) -> None:
    project = Store(tmp_path / "project", "project")
    store.put(NAME, payload(wasm_zip()), None)
    found = resolve(NAME, "0.1.0", [project, store], HOST)
    assert found is not None and found.store.label == "global"
    project.put(NAME, payload(wasm_zip()), None)
    found = resolve(NAME, "0.1.0", [project, store], HOST)
    assert found is not None and found.store.label == "project"
    assert resolve(NAME, "0.1.1", [project, store], HOST) is None


def test_all_missing_artifacts_are_named_at_once(store: Store) -> None:
    store.put(NAME, payload(wasm_zip()), None)
    wanted = [(FullName("a/x"), "1.0.0"), (NAME, "0.1.0"), (FullName("b/y"), "2.0.0")]
    with pytest.raises(MurmurError) as refusal:
        resolve_all(wanted, [store], HOST, "run `mur install`")
    assert refusal.value.code == "E-RUN-008"
    assert refusal.value.message.endswith("a/x@1.0.0, b/y@2.0.0")


def test_every_platform_of_a_version_is_listed(store: Store) -> None:
    name = FullName("ana/my-native")
    for tag in PLATFORMS:
        store.put(name, payload(native_zip()), tag)
    assert [found.tag for found in store.payloads(name, "0.1.0")] == list(PLATFORMS)
    found = store.find(name, "0.1.0", "darwin-aarch64")
    assert found is not None
    record = found.record()
    assert record is not None and record.platforms == (("darwin", "aarch64"),)
