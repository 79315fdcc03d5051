"""`murmur.lock`. spec/registry.md 11."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmur.core.diagnostics import MurmurError
from murmur.store.checks import Declared, check_bytes, check_origin, check_pins, conflict
from murmur.store.lock import (
    Lock,
    Pin,
    parse_lock,
    pin_payloads,
    read_lock,
    render_lock,
    write_lock,
)
from murmur.store.names import FullName

from .components import everything_below

HOST = "linux-x86_64"
TOOL = FullName("ana/csv-tool")
A, B = "a" * 64, "b" * 64

EXAMPLE = f"""lock_version: 3
artifacts:
  - name: ana/csv-tool
    resolved_version: 1.4.0
    sha256:
      any: {A}
    owner_id: 424242
    origin: operator
  - name: ana/fast-grep
    resolved_version: 0.2.0
    sha256:
      platforms:
        linux-x86_64: {B}
    owner_id: 424242
    origin: runtime
    session: ses_0190
"""


def refused(text: str) -> str:
    with pytest.raises(MurmurError) as refusal:
        parse_lock(text, Path("murmur.lock"))
    assert refusal.value.code == "E-RUN-003" and "mur install" in refusal.value.hint
    return refusal.value.message


def test_the_example_reads_and_writes_back_byte_for_byte() -> None:
    lock = parse_lock(EXAMPLE, Path("murmur.lock"))
    assert lock.pins == (
        Pin(TOOL, "1.4.0", any=A, owner_id=424242),
        Pin(
            FullName("ana/fast-grep"),
            "0.2.0",
            platforms={HOST: B},
            owner_id=424242,
            origin="runtime",
            session="ses_0190",
        ),
    )
    assert render_lock(lock) == EXAMPLE


def test_an_empty_lock_is_valid() -> None:
    assert render_lock(Lock()) == "lock_version: 3\nartifacts: []\n"
    assert parse_lock(render_lock(Lock()), Path("x")) == Lock()


@pytest.mark.parametrize("version", ["1", "2", "4", "'3'", "true", "3.0"])
def test_any_other_lock_version_is_refused_and_never_migrated(version: str) -> None:
    assert "lock_version" in refused(f"lock_version: {version}\nartifacts: []\n")
    assert "lock_version" in refused("artifacts: []\n")


@pytest.mark.parametrize(
    "change",
    [
        ("name: ana/csv-tool", "name: csv-tool"),
        ("resolved_version: 1.4.0", "resolved_version: ''"),
        ("resolved_version: 1.4.0", "resolved_version: 1.4"),
        (f"any: {A}", "any: ''"),
        (f"any: {A}", f"any: {A}\n      platforms: {{linux-x86_64: {A}}}"),
        (f"any: {A}", "other: x"),
        (f"linux-x86_64: {B}", "{}"),
        ("origin: operator", "origin: somebody"),
        ("origin: operator", "origin: operator\n    session: ses_1"),
        ("session: ses_0190", "session: '  '"),
        ("    session: ses_0190\n", ""),
        ("owner_id: 424242", "owner_id: -1"),
        ("owner_id: 424242", "owner_id: '5'"),
        ("name: ana/fast-grep", "name: ana/csv-tool"),
        ("artifacts:", "others:"),
    ],
)
def test_an_entry_that_breaks_a_rule_is_refused(change: tuple[str, str]) -> None:
    text = EXAMPLE.replace(*change, 1)
    assert text != EXAMPLE
    refused(text)


@pytest.mark.parametrize("text", ["", "[]", "lock_version: [", "{" * 500, "a: &a [*a]"])
def test_what_is_no_mapping_is_refused(text: str) -> None:
    refused(text)


def test_an_absent_origin_reads_as_operator() -> None:
    text = EXAMPLE.replace("    origin: operator\n", "")
    assert parse_lock(text, Path("x")).pins[0].origin == "operator"


@given(st.text(min_size=1), st.text(min_size=1))
def test_every_version_and_hash_survives_writing_and_reading(version: str, sha256: str) -> None:
    lock = Lock((Pin(TOOL, version, any=sha256),))
    try:
        render_lock(lock).encode()
    except UnicodeEncodeError:
        return
    assert parse_lock(render_lock(lock), Path("x")) == lock


@pytest.mark.parametrize("version", ["1.10", "1e5", "0x1f", "true", "null", "2026-01-01", "1:30"])
def test_a_version_that_yaml_takes_for_something_else_is_quoted(version: str) -> None:
    import yaml

    text = render_lock(Lock((Pin(TOOL, version, any=A),)))
    assert yaml.safe_load(text)["artifacts"][0]["resolved_version"] == version


def test_platform_hashes_of_one_version_merge_and_others_survive() -> None:
    lock, _ = Lock().merge(Pin(TOOL, "1.0.0", platforms={"darwin-aarch64": A}))
    lock, _ = lock.merge(Pin(TOOL, "1.0.0", platforms={HOST: B}))
    assert lock.pins[0].platforms == {"darwin-aarch64": A, HOST: B}
    lock, _ = lock.merge(Pin(TOOL, "1.1.0", platforms={HOST: A}))
    assert lock.pins[0].platforms == {HOST: A}
    lock, _ = lock.merge(Pin(TOOL, "1.1.0", any=B))
    assert lock.pins[0].platforms == {} and lock.pins[0].any == B


def test_an_operator_pin_adopts_a_runtime_entry_and_a_runtime_pin_never_demotes() -> None:
    runtime = Pin(TOOL, "1.0.0", any=A, origin="runtime", session="ses_1")
    lock, adopted = Lock().merge(runtime)
    assert adopted is None
    lock, adopted = lock.merge(Pin(TOOL, "1.0.0", any=A, origin="runtime", session="ses_2"))
    assert adopted is None and lock.pins[0].session == "ses_1"
    lock, adopted = lock.merge(Pin(TOOL, "1.0.0", any=A))
    assert adopted is not None and adopted.session == "ses_1"
    assert (lock.pins[0].origin, lock.pins[0].session) == ("operator", None)
    lock, adopted = lock.merge(runtime)
    assert adopted is None and lock.pins[0].origin == "operator"


def test_removing_an_entry_leaves_the_order_of_the_others() -> None:
    names = [FullName(f"a/{letter}") for letter in "cab"]
    lock = Lock(tuple(Pin(name, "1.0.0", any=A) for name in names))
    assert [pin.name for pin in lock.without(names[1]).pins] == [names[0], names[2]]


def test_writing_replaces_the_file_whole_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "murmur.lock"
    write_lock(path, Lock((Pin(TOOL, "1.0.0", any=A),)))
    assert read_lock(path) == Lock((Pin(TOOL, "1.0.0", any=A),))
    with pytest.raises(MurmurError):
        write_lock(path, Lock((Pin(TOOL, "", any=A),)))
    assert list(everything_below(tmp_path)) == ["murmur.lock"]
    assert read_lock(path) == Lock((Pin(TOOL, "1.0.0", any=A),))
    assert read_lock(tmp_path / "absent") is None


def test_pins_are_merged_and_written_once(tmp_path: Path) -> None:
    path = tmp_path / "murmur.lock"
    write_lock(path, Lock((Pin(TOOL, "1.0.0", any=A, origin="runtime", session="ses_1"),)))
    lock, adopted = pin_payloads([Pin(TOOL, "1.0.0", any=A)], path)
    assert [pin.session for pin in adopted] == ["ses_1"] and read_lock(path) == lock
    before = path.stat().st_ino
    pin_payloads([Pin(TOOL, "1.0.0", any=A)], path)
    assert path.stat().st_ino == before


def test_two_installs_at_once_lose_no_pin(tmp_path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    path = tmp_path / "murmur.lock"
    pins = [Pin(FullName(f"a/t{number}"), "1.0.0", any=A) for number in range(12)]
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda pin: pin_payloads([pin], path), pins))
    lock = read_lock(path)
    assert lock is not None and {pin.name for pin in lock.pins} == {pin.name for pin in pins}


# --- the checks of `mur run` -------------------------------------------------------------------


def checked(lock: Lock, *declared: Declared) -> str:
    with pytest.raises(MurmurError) as refusal:
        check_pins(lock, declared, HOST)
    assert refusal.value.code == "E-RUN-003"
    return refusal.value.message


def test_without_a_lock_nothing_is_checked() -> None:
    declared = Declared(TOOL, "1.0.0", role="hook")
    check_pins(None, [declared], HOST)
    check_origin(None, declared)
    check_bytes(None, declared, A, HOST)


def test_a_missing_entry_another_version_and_a_missing_host_hash_are_e_run_003() -> None:
    declared = Declared(TOOL, "1.0.0")
    assert "ana/csv-tool@1.0.0" in checked(Lock(), declared)
    message = checked(Lock((Pin(TOOL, "1.1.0", any=A),)), declared)
    assert "1.1.0" in message and "1.0.0" in message
    pin = Pin(TOOL, "1.0.0", any=None, platforms={"darwin-aarch64": A})
    message = checked(Lock((pin,)), declared)
    assert "darwin-aarch64" in message and HOST in message
    check_pins(Lock((Pin(TOOL, "1.0.0", any=A),)), [declared], HOST)


def test_other_bytes_than_the_pinned_ones_are_e_reg_002() -> None:
    lock = Lock((Pin(TOOL, "1.0.0", any=A),))
    check_bytes(lock, Declared(TOOL, "1.0.0"), A, HOST)
    with pytest.raises(MurmurError) as refusal:
        check_bytes(lock, Declared(TOOL, "1.0.0"), B, HOST)
    assert refusal.value.code == "E-REG-002" and "ana/csv-tool@1.0.0" in refusal.value.message


@pytest.mark.parametrize(
    ("declared", "role"),
    [
        (Declared(TOOL, "1.0.0", role="hook"), "hook"),
        (Declared(TOOL, "1.0.0", role="driver", has_gateway=True), "driver"),
        (Declared(TOOL, "1.0.0", has_gateway=True, is_system_prompt=True), "gateway"),
        (Declared(TOOL, "1.0.0", role="skill", is_system_prompt=True), "system_prompt"),
        (Declared(TOOL, "1.0.0"), None),
        (Declared(TOOL, "1.0.0", role="skill"), None),
    ],
)
def test_a_runtime_pin_is_accepted_only_for_a_plain_tool_or_skill(
    declared: Declared, role: str | None
) -> None:
    lock = Lock((Pin(TOOL, "1.0.0", any=A, origin="runtime", session="ses_1"),))
    if role is None:
        check_origin(lock, declared)
        return
    with pytest.raises(MurmurError) as refusal:
        check_origin(lock, declared)
    assert refusal.value.code == "E-RUN-043"
    assert all(fact in refusal.value.message for fact in ("ana/csv-tool@1.0.0", "ses_1", role))


def test_a_different_version_re_pins_and_other_bytes_of_the_same_one_conflict() -> None:
    pin = Pin(TOOL, "1.0.0", any=A, owner_id=1)
    assert conflict(pin, Pin(TOOL, "1.1.0", any=B)) is None
    assert conflict(pin, Pin(TOOL, "1.0.0", any=A)) is None
    assert A in str(conflict(pin, Pin(TOOL, "1.0.0", any=B)))
    assert "owner 1" in str(conflict(pin, Pin(TOOL, "1.1.0", any=B, owner_id=2)))
    native = Pin(TOOL, "1.0.0", platforms={HOST: A})
    assert conflict(native, Pin(TOOL, "1.0.0", platforms={"darwin-aarch64": B})) is None
    assert HOST in str(conflict(native, Pin(TOOL, "1.0.0", platforms={HOST: B})))


def test_what_a_killed_writer_left_beside_it_is_swept_away(tmp_path: Path) -> None:
    left = tmp_path / ".murmur.lock.0123456789abcdef.tmp"
    left.write_text("lock_version: 3\n")
    fresh = tmp_path / ".murmur.lock.fedcba9876543210.tmp"
    fresh.write_text("another writer's")
    os.utime(left, (0, 0))
    write_lock(tmp_path / "murmur.lock", Lock())
    assert list(everything_below(tmp_path)) == [fresh.name, "murmur.lock"]
