"""The program store. spec/registry.md 17."""

import hashlib
import json
import os
import stat
from pathlib import Path

import pytest

from murmur.manifest.programs import Download
from murmur.store.content import Content
from murmur.store.programs import BadProgram, ProgramStore

from .components import everything_below, raw_zip

SCRIPT = b"#!/bin/sh\necho jq\n"
ZIP = raw_zip(("jq/bin/jq", SCRIPT), ("jq/share/a.txt", b"text"), ("LICENSE", b"free"))


@pytest.fixture
def store(tmp_path: Path) -> ProgramStore:
    return ProgramStore(tmp_path / "programs")


def pinned(data: bytes, run: str | None) -> tuple[Download, Content]:
    sha256 = hashlib.sha256(data).hexdigest()
    return Download("linux-x86_64", "https://x.example/jq", sha256, run), Content.of(data)


def put(store: ProgramStore, data: bytes, run: str | None, name: str = "jq") -> Download:
    download, content = pinned(data, run)
    store.commit(store.stage(download, name, content))
    return download


def test_a_single_file_is_the_program(store: ProgramStore) -> None:
    download = put(store, SCRIPT, None)
    assert store.holds(download, "jq")
    assert os.readlink(store.program(download, "jq")) == "../files/jq"
    assert store.program(download, "jq").read_bytes() == SCRIPT
    record = json.loads((store.path / download.sha256 / "record.json").read_bytes())
    assert list(record) == [
        "url",
        "sha256",
        "platform",
        "run",
        "tree_sha256",
        "fetched_at",
        "files",
    ]
    line = f"jq\tx\t{hashlib.sha256(SCRIPT).hexdigest()}\n"
    assert record["tree_sha256"] == hashlib.sha256(line.encode()).hexdigest()
    assert (record["run"], record["files"]) == (None, ["jq"])


def test_an_archive_is_unpacked_and_its_run_linked_and_executable(store: ProgramStore) -> None:
    download = put(store, ZIP, "jq/bin/jq")
    assert store.holds(download, "jq")
    folder = store.path / download.sha256
    assert os.readlink(folder / "bin" / "jq") == "../files/jq/bin/jq"
    modes = {
        path.relative_to(store.path.parent).as_posix().replace(download.sha256, "S"): stat.S_IMODE(
            path.lstat().st_mode
        )
        for path in store.path.parent.rglob("*")
        if not path.is_symlink()
    }
    assert modes == {
        "programs": 0o700,
        "programs/S": 0o700,
        "programs/S/bin": 0o700,
        "programs/S/files": 0o700,
        "programs/S/files/jq": 0o700,
        "programs/S/files/jq/bin": 0o700,
        "programs/S/files/jq/bin/jq": 0o700,
        "programs/S/files/jq/share": 0o700,
        "programs/S/files/jq/share/a.txt": 0o600,
        "programs/S/files/LICENSE": 0o600,
        "programs/S/record.json": 0o600,
    }


@pytest.mark.parametrize(
    ("data", "run"),
    [
        (b"no archive", "jq"),
        (ZIP, "jq/bin/other"),
        (ZIP, "jq/bin"),
        (raw_zip(("../jq", SCRIPT), ("jq", SCRIPT)), "jq"),
        (raw_zip(("jq", b"/etc/passwd"), mode=0o120777), "jq"),
        (raw_zip(("jq", SCRIPT), ("jq/x", b"below a file")), "jq"),
        (ZIP[:-30], "jq/bin/jq"),
    ],
)
def test_what_cannot_be_unpacked_is_refused_with_nothing_kept(
    store: ProgramStore, data: bytes, run: str
) -> None:
    download, content = pinned(data, run)
    with pytest.raises(BadProgram):
        store.stage(download, "jq", content)
    assert everything_below(store.path) == {} and list(store.path.iterdir()) == []


def test_what_is_staged_is_nothing_until_it_is_committed(store: ProgramStore) -> None:
    download, content = pinned(ZIP, "jq/bin/jq")
    staged = store.stage(download, "jq", content)
    assert not store.holds(download, "jq")
    store.discard(staged)
    assert list(store.path.iterdir()) == []
    store.discard(staged)


@pytest.mark.parametrize(
    "harm",
    [
        lambda folder: (folder / "files" / "jq" / "bin" / "jq").write_bytes(b"evil"),
        lambda folder: (folder / "files" / "jq" / "bin" / "jq").chmod(0o600),
        lambda folder: (folder / "files" / "new").write_bytes(b"more"),
        lambda folder: (folder / "files" / "LICENSE").unlink(),
        lambda folder: (folder / "record.json").write_text("{}"),
        lambda folder: (folder / "record.json").write_text("[" * 100_000),
        lambda folder: (folder / "bin" / "jq").unlink(),
        lambda folder: [(folder / "bin" / "jq").unlink(), (folder / "bin" / "jq").symlink_to("/x")],
        lambda folder: [
            (folder / "files" / "LICENSE").unlink(),
            (folder / "files" / "LICENSE").symlink_to("/etc/passwd"),
        ],
    ],
)
def test_a_copy_that_was_changed_is_not_held_and_is_replaced(
    store: ProgramStore, harm: object
) -> None:
    download = put(store, ZIP, "jq/bin/jq")
    before = everything_below(store.path / download.sha256 / "files")
    assert callable(harm)
    harm(store.path / download.sha256)
    assert not store.holds(download, "jq")
    put(store, ZIP, "jq/bin/jq")
    assert store.holds(download, "jq")
    assert everything_below(store.path / download.sha256 / "files") == before
    assert [path.name for path in store.path.iterdir()] == [download.sha256]


def test_one_download_may_go_by_several_names(store: ProgramStore) -> None:
    download = put(store, SCRIPT, None)
    assert not store.holds(download, "jq2")
    put(store, SCRIPT, None, "jq2")
    assert store.holds(download, "jq") and store.holds(download, "jq2")


def test_another_platforms_pin_of_the_same_bytes_is_not_held(store: ProgramStore) -> None:
    download = put(store, SCRIPT, None)
    other = Download("linux-aarch64", download.url, download.sha256, None)
    assert not store.holds(other, "jq")


def test_what_a_killed_install_left_is_swept_a_day_later(store: ProgramStore) -> None:
    put(store, SCRIPT, None)
    for name in (".partial-old", ".partial-new"):
        (store.path / name / "files").mkdir(parents=True)
    os.utime(store.path / ".partial-old", (1, 1))
    put(store, SCRIPT, None)
    assert not (store.path / ".partial-old").exists() and (store.path / ".partial-new").exists()


def test_a_launch_takes_a_copy_by_its_record_without_hashing_it(store: ProgramStore) -> None:
    download = put(store, ZIP, "jq/bin/jq")
    assert store.ready(download, "jq") == store.program(download, "jq")
    (store.path / download.sha256 / "files" / "jq" / "share" / "a.txt").write_bytes(b"changed")
    assert store.ready(download, "jq") is not None
    assert store.ready(download, "other") is None
    other, _ = pinned(SCRIPT, None)
    assert store.ready(other, "jq") is None


@pytest.mark.parametrize("target", ["/bin/sh", "../../../sh", "../files/../../x", "../files/no"])
def test_a_link_that_leads_elsewhere_is_no_copy(store: ProgramStore, target: str) -> None:
    download = put(store, SCRIPT, None)
    link = store.program(download, "jq")
    link.unlink()
    link.symlink_to(target)
    assert store.ready(download, "jq") is None


def test_a_copy_that_cannot_be_executed_or_whose_record_is_gone_is_none(
    store: ProgramStore,
) -> None:
    download = put(store, SCRIPT, None)
    program = store.program(download, "jq")
    program.chmod(0o600)
    assert store.ready(download, "jq") is None
    program.chmod(0o700)
    (store.path / download.sha256 / "record.json").write_text("{}")
    assert store.ready(download, "jq") is None
