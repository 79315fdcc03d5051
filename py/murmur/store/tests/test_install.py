"""`mur publish` and `mur install` as a library. spec/registry.md 8, 12."""

from pathlib import Path

import pytest

from murmur.core.config import Source
from murmur.core.diagnostics import MurmurError
from murmur.store.fetching import Fetcher
from murmur.store.install import Target, from_file, from_stores, newest_local, store_all
from murmur.store.literals import find_literals
from murmur.store.lock import Lock, Pin, read_lock, write_lock
from murmur.store.names import FullName
from murmur.store.platforms import host_platform
from murmur.store.publish import default_archive, publish
from murmur.store.ready import owner_check
from murmur.store.references import File, Newest, Pinned, Reference, Release, parse_reference
from murmur.store.sources import Sources, repository_scope, unserved
from murmur.store.stores import Store, project_store

from .components import elf, everything_below, manifest, native_zip, payload, raw_zip, wasm_zip

HOST = host_platform()


@pytest.fixture
def machine(tmp_path: Path) -> Store:
    return Store(tmp_path / "home" / "artifacts", "global")


@pytest.fixture
def project(tmp_path: Path) -> Target:
    folder = tmp_path / "project"
    folder.mkdir()
    return Target(project_store(folder), folder)


def file(tmp_path: Path, data: bytes, name: str = "x.mur.zip") -> str:
    path = tmp_path / name
    path.write_bytes(data)
    return str(path)


@pytest.fixture
def nobody(machine: Store) -> Fetcher:
    """No source is configured."""
    return Fetcher(lambda: Sources((), {}), machine, owner_check(None))


def refused(code: str, what: object, *arguments: object, **options: object) -> MurmurError:
    assert callable(what)
    with pytest.raises(MurmurError) as refusal:
        what(*arguments, **options)
    assert refusal.value.code == code, refusal.value
    return refusal.value


# --- publish -----------------------------------------------------------------------------------


def test_publishing_files_it_as_local_under_its_own_name(tmp_path: Path, machine: Store) -> None:
    published = publish(file(tmp_path, wasm_zip()), machine, "linux-x86_64")
    assert published.artifact.reference == "local/my-tool@0.1.0"
    assert (published.artifact.tag, published.detected) == (None, None)


def test_a_native_artifact_is_tagged_with_the_flag_or_this_host(
    tmp_path: Path, machine: Store
) -> None:
    path = file(tmp_path, native_zip())
    published = publish(path, machine)
    assert published.artifact.tag == published.detected == HOST
    published = publish(path, machine, "plan9-mips")
    assert published.artifact.tag == "plan9-mips" and published.detected is None
    refused("E-REG-003", publish, path, machine, "plan9-mips")
    for bad in ("linux", "-x", "linux-", "../x-y"):
        refused("E-IO-003", publish, path, machine, bad)


@pytest.mark.parametrize("version", ["latest", "stable", "edge"])
def test_a_reserved_version_is_e_reg_004(tmp_path: Path, machine: Store, version: str) -> None:
    path = file(tmp_path, wasm_zip(version=version))
    assert version in refused("E-REG-004", publish, path, machine).message
    assert not machine.root.exists()


def test_publishing_twice_is_e_reg_003(tmp_path: Path, machine: Store) -> None:
    publish(file(tmp_path, wasm_zip()), machine)
    other = file(tmp_path, wasm_zip(padding=b"x"))
    assert "local/my-tool@0.1.0" in refused("E-REG-003", publish, other, machine).message


def test_what_is_no_archive_or_has_no_usable_name_is_refused(
    tmp_path: Path, machine: Store
) -> None:
    refused("E-IO-001", publish, str(tmp_path / "absent.mur.zip"), machine)
    refused("E-IO-003", publish, file(tmp_path, b"x"), machine)
    refused("E-IO-003", publish, file(tmp_path, raw_zip(("a", b"b"))), machine)
    refused("E-MAN-001", publish, file(tmp_path, raw_zip(("murmur.yaml", b"name: x\n"))), machine)
    scoped = raw_zip(("murmur.yaml", manifest(name="a/b")))
    refused("E-BLD-001", publish, file(tmp_path, scoped), machine)
    climbing = raw_zip(("murmur.yaml", manifest(version="..")))
    refused("E-IO-003", publish, file(tmp_path, climbing), machine)
    assert not machine.root.exists()


def test_without_a_path_it_is_the_archive_of_the_manifest_here(tmp_path: Path) -> None:
    refused("E-IO-001", default_archive, str(tmp_path))
    (tmp_path / "murmur.yaml").write_bytes(manifest())
    assert default_archive(str(tmp_path)) == str(tmp_path / "my-tool-0.1.0.mur.zip")


# --- references --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        ("a/b@1.0.0", Pinned(FullName("a/b"), "1.0.0")),
        ("a/b", Newest(FullName("a/b"))),
        ("github:Owner/repo@v1", Release("Owner", "repo", "v1")),
        ("./b", File("./b")),
        ("../b", File("../b")),
        ("/b", File("/b")),
        ("dir/b.mur.zip", File("dir/b.mur.zip")),
    ],
)
def test_the_reference_forms(text: str, reference: Reference) -> None:
    assert parse_reference(text) == reference


@pytest.mark.parametrize(
    "text", ["b", "b@1.0.0", "a/b/c@1", "A/b@1", "a/b@", "a/b@..", "b.mur.zip", "github:x", ""]
)
def test_anything_else_is_e_reg_007(text: str) -> None:
    assert "<scope>/<name>" in refused("E-REG-007", parse_reference, text).hint


# --- install -----------------------------------------------------------------------------------


def test_a_file_is_installed_as_local_and_pinned_by_the_operator(
    tmp_path: Path, project: Target
) -> None:
    ready = from_file(file(tmp_path, wasm_zip()))
    installed = store_all([ready], project)
    assert installed.payloads[0].reference == "local/my-tool@0.1.0"
    assert project.project is not None
    assert read_lock(project.project / "murmur.lock") == Lock(
        (Pin(FullName("local/my-tool"), "0.1.0", any=ready.payload.sha256),)
    )
    assert project.store.find(FullName("local/my-tool"), "0.1.0", HOST)


def test_the_global_store_has_no_lock(tmp_path: Path, machine: Store) -> None:
    store_all([from_file(file(tmp_path, wasm_zip()))], Target(machine, None))
    assert not list(tmp_path.rglob("murmur.lock"))


@pytest.mark.parametrize(
    ("name", "binary", "tag"),
    [
        ("x-1-darwin-aarch64.mur.zip", elf(0x3E), "darwin-aarch64"),
        ("x.mur.zip", elf(0xB7), "linux-aarch64"),
        ("x.mur.zip", b"#!/bin/sh\n", None),
    ],
)
def test_a_native_file_is_filed_under_its_names_tag_or_what_its_binary_says(
    tmp_path: Path, project: Target, name: str, binary: bytes, tag: str | None
) -> None:
    ready = from_file(file(tmp_path, native_zip(binary=binary), name))
    assert ready.tag == tag
    store_all([ready], project)
    assert project.project is not None
    lock = read_lock(project.project / "murmur.lock")
    assert lock is not None and lock.pins[0].platforms == {tag or HOST: ready.payload.sha256}


def test_from_the_global_store_it_is_verified_and_copied_with_its_owner_id(
    machine: Store, project: Target, nobody: Fetcher
) -> None:
    name = FullName("ana/my-tool")
    machine.put(name, payload(wasm_zip()), None, owner_id=42)
    ready = from_stores([Pinned(name, "0.1.0")], [machine], project, nobody)
    store_all(ready, project)
    found = project.store.find(name, "0.1.0", HOST)
    assert found is not None
    record = found.record()
    assert record is not None and record.owner_id == 42
    assert project.project is not None
    lock = read_lock(project.project / "murmur.lock")
    assert lock is not None and lock.pins[0].owner_id == 42


def test_tampered_bytes_in_the_global_store_are_e_reg_002_and_nothing_is_written(
    machine: Store, project: Target, nobody: Fetcher
) -> None:
    name = FullName("local/my-tool")
    stored = machine.put(name, payload(wasm_zip()), None)
    stored.path.write_bytes(wasm_zip(padding=b"x"))
    refused("E-REG-002", from_stores, [Pinned(name, "0.1.0")], [machine], project, nobody)
    assert project.project is not None and everything_below(project.project) == {}


def test_a_version_that_does_not_fit_refuses_the_whole_install(
    tmp_path: Path, machine: Store, project: Target, nobody: Fetcher
) -> None:
    good, stale = FullName("local/good"), FullName("local/stale")
    machine.put(good, payload(wasm_zip("good")), None)
    machine.put(stale, payload(wasm_zip("stale", exports=("murmur:tool/run@0.1.0",))), None)
    wanted = [Pinned(good, "0.1.0"), Pinned(FullName("a/absent"), "1.0.0"), Pinned(stale, "0.1.0")]
    refusal = refused("E-WIT-LEVEL-001", from_stores, wanted, [machine], project, nobody)
    for fact in ("local/stale@0.1.0", "murmur:tool/run@0.1.0", "murmur:tool@0.2.0"):
        assert fact in refusal.message
    path = file(tmp_path, wasm_zip(imports=("murmur:nothing/x@1.0.0",)))
    assert "no version of murmur:nothing" in refused("E-WIT-LEVEL-001", from_file, path).message
    assert project.project is not None and everything_below(project.project) == {}


def test_the_same_version_with_other_bytes_is_e_reg_005_before_anything_is_written(
    tmp_path: Path, project: Target
) -> None:
    assert project.project is not None
    lock = project.project / "murmur.lock"
    write_lock(lock, Lock((Pin(FullName("local/my-tool"), "0.1.0", any="a" * 64),)))
    before = everything_below(project.project)
    ready = from_file(file(tmp_path, wasm_zip()))
    refusal = refused("E-REG-005", store_all, [ready], project)
    assert "a" * 64 in refusal.message and ready.payload.sha256 in refusal.message
    assert everything_below(project.project) == before


def test_a_lock_that_cannot_be_read_refuses_before_anything_is_written(
    tmp_path: Path, project: Target
) -> None:
    assert project.project is not None
    (project.project / "murmur.lock").write_text("lock_version: 2\n")
    refused("E-RUN-003", store_all, [from_file(file(tmp_path, wasm_zip()))], project)
    assert list(everything_below(project.project)) == ["murmur.lock"]


def test_an_entry_that_a_session_pulled_is_adopted(tmp_path: Path, project: Target) -> None:
    assert project.project is not None
    ready = from_file(file(tmp_path, wasm_zip()))
    pin = Pin(ready.name, "0.1.0", any=ready.payload.sha256, origin="runtime", session="ses_1")
    write_lock(project.project / "murmur.lock", Lock((pin,)))
    assert [p.session for p in store_all([ready], project).adopted] == ["ses_1"]


def test_an_artifact_already_in_the_project_is_not_taken_again_but_pinned(
    machine: Store, project: Target, nobody: Fetcher
) -> None:
    name = FullName("local/my-tool")
    machine.put(name, payload(wasm_zip(padding=b"newer")), None)
    ours = payload(wasm_zip())
    project.store.put(name, ours, None)
    ready = from_stores([Pinned(name, "0.1.0")], [project.store, machine], project, nobody)
    assert ready[0].present and ready[0].payload.sha256 == ours.sha256
    store_all(ready, project)
    assert project.project is not None
    lock = read_lock(project.project / "murmur.lock")
    assert lock is not None and lock.pins[0].any == ours.sha256


def test_the_newest_local_version_is_the_newest_that_fits(machine: Store) -> None:
    name = FullName("local/my-tool")
    refused("E-REG-001", newest_local, name, machine)
    for version, interface in (("0.1.0", "0.2.0"), ("0.2.0", "0.2.0"), ("0.3.0", "0.1.0")):
        stored = wasm_zip(version=version, exports=(f"murmur:tool/run@{interface}",))
        machine.put(name, payload(stored), None)
    assert newest_local(name, machine) == Pinned(name, "0.2.0")


# --- sources -----------------------------------------------------------------------------------


def test_a_missing_local_artifact_is_refused_without_asking_a_source() -> None:
    refusal = unserved(FullName("local/x"), "1.0.0")
    assert refusal.code == "E-REG-001"
    assert refusal.message == (
        "artifact local/x@1.0.0 is not in the store, and no source serves the 'local' scope"
    )
    assert refusal.hint == (
        "a local/ artifact is installed from its .mur.zip file: mur install ./x-1.0.0.mur.zip"
    )


def served_by(scope: str, *repositories: str) -> str | None:
    entries = [Source(f"s{at}", repository) for at, repository in enumerate(repositories)]
    source = Sources(entries, {}).serving(scope)
    return source.repository if source is not None else None


def test_a_scope_is_served_by_the_source_of_its_owner() -> None:
    assert served_by("ana", "bo/x", "Ana/Tools") == "Ana/Tools"
    assert served_by("ana", "ana/a", "ana/b") == "ana/a"
    assert (
        served_by("murmur") == served_by("murmur", "murmur/x") == "murmur-nexus/default-artifacts"
    )
    assert served_by("local", "local/x") is None
    assert served_by("eve", "ana/x") is None
    assert Sources([Source("a", "ana/a"), Source("b", "Ana/b")], {}).shadowed() == [
        ("ana/a", "Ana/b")
    ]


def test_a_repositorys_scope_is_its_owner_and_murmur_is_one_repository_alone() -> None:
    assert repository_scope("Ana/Tools") == "ana"
    assert repository_scope("murmur-nexus/default-artifacts") == "murmur"
    assert repository_scope("murmur-nexus/other") == "murmur-nexus"
    for owner in ("murmur", "Local"):
        assert (
            "reserved" in refused("E-REG-006", repository_scope, f"{owner}/x").diagnostic.details[0]
        )


def test_a_scope_that_no_source_serves_is_e_reg_001() -> None:
    refusal = unserved(FullName("ana/x"), "1.0.0")
    assert refusal.code == "E-REG-001" and "'ana' scope" in refusal.message


@pytest.mark.parametrize(
    ("written", "environ", "token"),
    [
        ("${MINE}", {"MINE": "t1"}, "t1"),
        ("${MINE}", {}, None),
        ("${MINE}", {"GITHUB_TOKEN": "t2"}, "t2"),
        ("MINE", {"MINE": "t1", "GITHUB_TOKEN": "t2"}, "t1"),
        ("MINE", {"GITHUB_TOKEN": "t2"}, "MINE"),
        ("ghp-literal", {}, "ghp-literal"),
        ("", {"GITHUB_TOKEN": "t2"}, "t2"),
        (None, {"GITHUB_TOKEN": "t2"}, "t2"),
        (None, {}, None),
    ],
)
def test_a_token_is_the_sources_own_then_github_token(
    written: str | None, environ: dict[str, str], token: str | None
) -> None:
    sources = Sources([Source("a", "ana/a", written)], environ)
    assert sources.token("Ana/A") == token


def test_a_token_that_no_header_can_hold_is_refused_without_being_shown() -> None:
    sources = Sources([Source("a", "ana/a", "${T}")], {"T": "sec ret\nX: y"})
    refusal = refused("E-REG-006", sources.repository, "ana/a")
    assert "sec ret" not in str(refusal.diagnostic)


def test_a_value_is_a_literal_secret_by_its_key_and_its_looks() -> None:
    found = find_literals(
        {
            "API_KEY": "sk-1",
            "a": [{"my_token": "123456789", "token_b": "12345678"}],
            "secret": {"password": "${PASS}", "x": "sk-ant-aaaaaaaaa"},
            "passwords": ["longlonglong"],
            "token": 1234567890,
        }
    )
    assert [(item.path, item.masked) for item in found] == [
        ("API_KEY", "****"),
        ("a.0.my_token", "1234****"),
    ]
