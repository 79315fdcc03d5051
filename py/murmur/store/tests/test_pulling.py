"""What a running capsule may install: the order of `manage.pull`'s checks. spec/registry.md 18."""

from pathlib import Path

import pytest

from murmur.manifest.grants import InstallGrant
from murmur.store.lock import Lock, Pin, lock_path, read_lock, write_lock
from murmur.store.names import FullName
from murmur.store.platforms import host_platform
from murmur.store.pulling import (
    NotGranted,
    Origins,
    Pull,
    check_pull,
    decide,
    pin_pull,
    unpin,
)
from murmur.store.sources import Sources
from murmur.store.stores import Store

from .components import manifest, native_zip, payload, raw_zip, wasm_zip

SESSION = "ses_0190a1b2c3d4"
EVERYTHING = InstallGrant(skill=("*",), tool=("*",))


@pytest.fixture
def machine(tmp_path: Path) -> Store:
    return Store(tmp_path / "home" / "artifacts", "global")


@pytest.fixture
def origins(tmp_path: Path, machine: Store) -> Origins:
    project = Store(tmp_path / "project" / ".murmur" / "artifacts", "project")
    (tmp_path / "project").mkdir()
    return Origins((project, machine), lambda: Sources((), {}), host_platform(), {})


def put(store: Store, name: str, data: bytes, tag: str | None = None) -> None:
    store.put(FullName(name), payload(data), tag)


def skill_zip(name: str = "style") -> bytes:
    return raw_zip(
        ("murmur.yaml", manifest(name, runtime="skill")),
        ("skill.md", b"Write plainly."),
    )


def refused(
    origins: Origins,
    name: str,
    version: str = "0.1.0",
    *,
    grant: InstallGrant | None = EVERYTHING,
    lock: Lock | None = None,
) -> str:
    with pytest.raises(NotGranted) as refusal:
        decide(grant, name, version, origins, lock, ("submit-plan",))
    assert str(refusal.value).startswith("not-granted: ")
    return str(refusal.value)


def pulled(origins: Origins, name: str, grant: InstallGrant = EVERYTHING) -> Pull:
    return decide(grant, name, "0.1.0", origins, None, ())


def test_without_any_grant_nothing_is_pulled(origins: Origins) -> None:
    assert "no capabilities.install" in refused(origins, "ana/tool", grant=None)
    assert "no capabilities.install" in refused(origins, "../x", grant=InstallGrant())


@pytest.mark.parametrize(
    "name", ["tool", "./x.mur.zip", "github:ana/repo@v1", "ana/../x", "Ana/x", ""]
)
def test_what_is_no_full_artifact_name_is_refused(origins: Origins, name: str) -> None:
    assert "no full artifact name" in refused(origins, name)


@pytest.mark.parametrize("version", ["", "..", "a/b", "1\0"])
def test_a_version_is_one_path_segment(origins: Origins, version: str) -> None:
    assert "path segment" in refused(origins, "ana/tool", version)


def test_no_store_is_read_until_an_entry_matches(origins: Origins, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "artifacts").write_text("no folder, so reading it would fail")
    grant = InstallGrant(tool=("ana/review-*",))
    assert "no capabilities.install entry matches ana/tool" in refused(
        origins, "ana/tool", grant=grant
    )


def test_a_tool_is_pulled_from_the_project_store_first(origins: Origins, machine: Store) -> None:
    put(machine, "ana/my-tool", wasm_zip(padding=b"machine"))
    put(origins.stores[0], "ana/my-tool", wasm_zip(padding=b"project"))
    found = pulled(origins, "ana/my-tool")
    assert (found.tier, found.payload.sha256) == (
        "tool",
        payload(wasm_zip(padding=b"project")).sha256,
    )


def test_an_entry_matches_its_own_kind_alone(origins: Origins, machine: Store) -> None:
    put(machine, "ana/my-tool", wasm_zip())
    text = refused(origins, "ana/my-tool", grant=InstallGrant(skill=("*",)))
    assert "is a tool" in text and "install.tool" in text


@pytest.mark.parametrize("runtime", ["driver", "hook"])
def test_drivers_and_hooks_are_never_pulled(origins: Origins, machine: Store, runtime: str) -> None:
    put(machine, "ana/my-tool", wasm_zip(runtime=runtime))
    assert f"is a {runtime}" in refused(origins, "ana/my-tool")


def test_a_skill_is_pulled_by_an_entry_for_skills(origins: Origins, machine: Store) -> None:
    put(machine, "ana/style", skill_zip())
    grant = InstallGrant(skill=("ana/*",))
    assert pulled(origins, "ana/style", grant).tier == "skill"
    assert "is a skill" in refused(origins, "ana/style", grant=InstallGrant(tool=("ana/*",)))


def test_a_native_tool_is_a_tool(origins: Origins, machine: Store) -> None:
    put(machine, "ana/my-native", native_zip(), host_platform())
    found = pulled(origins, "ana/my-native")
    assert found.pin(SESSION).platforms == {host_platform(): found.payload.sha256}


def test_a_name_of_the_runtimes_own_tools_is_refused(origins: Origins) -> None:
    assert "the runtime itself provides" in refused(origins, "ana/submit-plan")


def test_what_no_store_has_is_refused_without_asking_anybody(origins: Origins) -> None:
    assert "in no store" in refused(origins, "ana/tool")


def test_a_source_is_asked_for_a_grant_from_sources(origins: Origins) -> None:
    grant = InstallGrant(tool=("*",), sources=("stores", "sources"))
    assert "E-REG-001" in refused(origins, "ana/tool", grant=grant)


def test_changed_bytes_are_refused(origins: Origins, machine: Store) -> None:
    put(machine, "ana/my-tool", wasm_zip())
    (stored,) = machine.payloads(FullName("ana/my-tool"), "0.1.0")
    stored.path.write_bytes(wasm_zip(padding=b"other"))
    assert "E-REG-002" in refused(origins, "ana/my-tool")


def test_an_artifact_that_does_not_fit_is_refused(origins: Origins, machine: Store) -> None:
    put(machine, "ana/my-tool", wasm_zip(exports=("murmur:tool/run@9.9.9",)))
    assert "does not fit" in refused(origins, "ana/my-tool")


def test_an_archive_of_another_name_is_refused(origins: Origins, machine: Store) -> None:
    put(machine, "ana/my-tool", wasm_zip())
    folder = machine.root / "ana" / "my-tool"
    renamed = machine.root / "ana" / "your-tool"
    folder.rename(renamed)
    for file in (renamed / "0.1.0").iterdir():
        file.rename(file.with_name(file.name.replace("my-tool", "your-tool")))
    assert "says that it is my-tool" in refused(origins, "ana/your-tool")


# --- the lock ------------------------------------------------------------------------------


@pytest.fixture
def project(tmp_path: Path, origins: Origins) -> Path:
    return tmp_path / "project"


def test_a_pull_is_pinned_as_the_sessions(origins: Origins, machine: Store, project: Path) -> None:
    put(machine, "ana/my-tool", wasm_zip())
    pin = pin_pull(project, pulled(origins, "ana/my-tool"), SESSION)
    assert (pin.origin, pin.session) == ("runtime", SESSION)
    lock = read_lock(lock_path(project))
    assert lock is not None and lock.pins == (pin,)


def test_an_operators_pin_of_the_same_bytes_stays_the_operators(
    origins: Origins, machine: Store, project: Path
) -> None:
    put(machine, "ana/my-tool", wasm_zip())
    pull = pulled(origins, "ana/my-tool")
    held = Pin(pull.name, "0.1.0", any=pull.payload.sha256)
    write_lock(lock_path(project), Lock((held,)))
    assert pin_pull(project, pull, SESSION) == held


@pytest.mark.parametrize("held", [("0.2.0", "0" * 64), ("0.1.0", "1" * 64)])
def test_a_pin_of_another_version_or_of_other_bytes_refuses_the_pull(
    origins: Origins, machine: Store, project: Path, held: tuple[str, str]
) -> None:
    put(machine, "ana/my-tool", wasm_zip())
    pull = pulled(origins, "ana/my-tool")
    lock = Lock((Pin(pull.name, held[0], any=held[1]),))
    write_lock(lock_path(project), lock)
    before = lock_path(project).read_bytes()
    for refuse in (
        lambda: check_pull(lock, pull, SESSION),
        lambda: pin_pull(project, pull, SESSION),
    ):
        with pytest.raises(NotGranted, match=r"not-granted: ana/my-tool@0\.1\.0"):
            refuse()
    assert lock_path(project).read_bytes() == before


def test_removing_takes_pins_of_runtime_origin_alone(
    origins: Origins, machine: Store, project: Path
) -> None:
    put(machine, "ana/my-tool", wasm_zip())
    name = FullName("ana/my-tool")
    assert unpin(project, name, declared=False) is False
    pin_pull(project, pulled(origins, "ana/my-tool"), SESSION)
    with pytest.raises(NotGranted, match="declares"):
        unpin(project, name, declared=True)
    assert unpin(project, name, declared=False) is True
    assert read_lock(lock_path(project)) == Lock()
    write_lock(lock_path(project), Lock((Pin(name, "0.1.0", any="0" * 64),)))
    with pytest.raises(NotGranted, match="operator"):
        unpin(project, name, declared=False)
