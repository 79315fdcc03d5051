"""One line per declared artifact. CLI reference, *mur doctor*, *Lock integrity*, *Warnings*."""

import pytest

from murmur.store.platforms import host_platform

from .project import AGENT, Project, elf, native, skill, wasm

HOST = host_platform()
MACHINES = {
    "linux-x86_64": (0x3E, 0xB7, "linux-aarch64"),
    "linux-aarch64": (0xB7, 0x3E, "linux-x86_64"),
}
DRIVER = "  - {name: local/drive, version: 0.1.0, runtime: driver}\n"
MODELS = "models: {m: {max_output_tokens: 10, context_window: 100}}\n"


def declare(project: Project, *entries: str) -> None:
    project.write(AGENT + "artifacts:\n" + DRIVER + "".join(f"  - {each}\n" for each in entries))
    project.put(wasm("drive", runtime="driver", more=MODELS))


def lock(project: Project, *entries: str) -> None:
    project.write("lock_version: 3\nartifacts:\n" + "".join(entries), "murmur.lock")


def pin(
    name: str, sha256: str, version: str = "0.1.0", more: str = "    origin: operator\n"
) -> str:
    return (
        f"  - name: {name}\n    resolved_version: {version}\n"
        f"    sha256: {{any: '{sha256}'}}\n{more}"
    )


def test_when_all_is_there_the_one_sentence_says_so(project: Project) -> None:
    declare(project, "{name: local/notes, version: 0.1.0, runtime: skill}")
    project.put(skill("notes"), globally=True)
    told = project.doctor()
    assert told.checklist == [
        "  ✓  local/drive@0.1.0   platform-independent",
        "  ✓  local/notes@0.1.0   platform-independent",
    ]
    assert told.lines[-1] == "All checks passed."
    assert (told.status, told.fixes) == (0, [])


def test_a_missing_artifact_is_named_with_how_to_get_it(project: Project) -> None:
    declare(project, "{name: murmur/tool-git, version: 0.6.0}")
    told = project.doctor()
    assert told.checklist[1] == f"  ✗  murmur/tool-git@0.6.0   {HOST}   — missing"
    assert told.tally == "1 check passed, 1 error found."
    assert (told.status, told.fixes) == (1, ["mur install murmur/tool-git@0.6.0"])
    assert told.lines[-3:] == [told.tally, "", "Fix: mur install murmur/tool-git@0.6.0"]


def test_a_local_source_is_never_looked_up(project: Project) -> None:
    declare(project, "{name: local/near, source: ./near.mur.zip, local_source: true}")
    assert project.doctor().checklist[1] == "  ✓  local/near@local    local source"


@pytest.mark.skipif(HOST not in MACHINES, reason="no ELF number for this host")
def test_a_native_tool_shows_the_platform_that_its_binary_was_built_for(project: Project) -> None:
    mine, other, name = MACHINES[HOST]
    declare(
        project,
        "{name: local/good, version: 0.1.0}",
        "{name: local/bad, version: 0.1.0}",
        "{name: local/script, version: 0.1.0}",
    )
    project.put(native("good", elf(mine)), HOST)
    project.put(native("bad", elf(other)), HOST)
    project.put(native("script", b"#!/bin/sh\n"), HOST)
    told = project.doctor()
    assert told.checklist[1:] == [
        f"  ✓  local/good@0.1.0     {HOST}",
        f"  ✗  local/bad@0.1.0      {HOST}   — native binary is built for {name}, this host is "
        f"{HOST}",
        "  ✓  local/script@0.1.0   platform unverified",
    ]
    assert told.fixes == [
        f"local/bad: native binary is built for {name} — reinstall local/bad@0.1.0 on this host"
    ]
    assert told.status == 1


def test_a_native_tool_without_a_recorded_platform_is_a_warning(project: Project) -> None:
    declare(project, "{name: local/tool-git, version: 0.1.0}")
    project.put(native("tool-git", b"#!/bin/sh\n"))
    told = project.doctor()
    assert told.checklist[1] == (
        f"  ⚠  local/tool-git@0.1.0   {HOST}   — native artifact with no recorded platform "
        "(warning[W-REG-001])"
    )
    assert told.tally == "2 checks passed, 0 errors found, 1 warning."
    assert (told.status, told.fixes) == (0, ["mur install local/tool-git@0.1.0"])


def test_an_artifact_of_another_interface_version_is_an_error(project: Project) -> None:
    declare(project, "{name: local/old, version: 0.1.0}")
    project.put(wasm("old", exports=("murmur:tool/run@0.1.0",), imports=("murmur:gone/x@1.0.0",)))
    told = project.doctor()
    assert told.checklist[1] == (
        "  ✗  local/old@0.1.0     — built against murmur:tool/run@0.1.0, this mur serves "
        "murmur:tool@0.2.0 (+1 more)"
    )
    assert told.fixes == [
        "local/old: pin a release built against murmur:tool@0.2.0 in murmur.yaml, then run mur "
        "install"
    ]
    assert told.status == 1


def test_a_package_that_is_not_served_at_all_is_said_so(project: Project) -> None:
    declare(project, "{name: local/odd, version: 0.1.0}")
    project.put(wasm("odd", exports=("murmur:gone/x@1.0.0",)))
    assert "this mur serves no version of murmur:gone" in project.doctor().checklist[1]


def test_the_lock_is_checked_in_four_ways(project: Project) -> None:
    names = ("gone", "moved", "elsewhere", "changed")
    declare(project, *(f"{{name: local/{name}, version: 0.1.0}}" for name in names))
    held = {name: project.put(wasm(name)) for name in names}
    driver = wasm("drive", runtime="driver", more=MODELS).sha256
    elsewhere = "darwin-aarch64" if HOST != "darwin-aarch64" else "linux-x86_64"
    lock(
        project,
        pin("local/drive", driver),
        pin("local/moved", held["moved"], "0.2.0"),
        "  - name: local/elsewhere\n    resolved_version: 0.1.0\n"
        f"    sha256: {{platforms: {{{elsewhere}: '{'a' * 64}'}}}}\n    origin: operator\n",
        pin("local/changed", "d" * 64),
    )
    told = project.doctor()
    assert told.checklist[1:] == [
        f"  ✗  local/gone@0.1.0        {HOST}   — murmur.lock missing artifact entry for "
        "'local/gone'",
        f"  ✗  local/moved@0.1.0       {HOST}   — murmur.lock version mismatch for 'local/moved': "
        "manifest requested 0.1.0, lock pinned 0.2.0",
        f"  ✗  local/elsewhere@0.1.0   {HOST}   — murmur.lock has no sha256 for 'local/elsewhere' "
        f"on {HOST}: it pins {elsewhere}",
        f"  ✗  local/changed@0.1.0     {HOST}   — artifact integrity check failed for "
        "local/changed@0.1.0",
        f"        expected sha256 (murmur.lock): {'d' * 64}",
        f"        actual sha256 (on disk):       {held['changed']}",
    ]
    assert told.tally == "1 check passed, 4 errors found."
    assert told.fixes[-1] == (
        "local/changed: artifact on disk does not match murmur.lock — re-publish or delete the lock"
    )
    assert told.status == 1


def test_a_lock_problem_is_shown_alone(project: Project) -> None:
    declare(project, "{name: local/old, version: 0.1.0}")
    project.put(wasm("old", exports=("murmur:tool/run@0.1.0",)))
    lock(project, pin("local/drive", wasm("drive", runtime="driver", more=MODELS).sha256))
    told = project.doctor()
    assert "missing artifact entry" in told.checklist[1]
    assert "built against" not in "\n".join(told.checklist)


def test_pins_that_a_session_pulled_are_told_apart(project: Project) -> None:
    declare(
        project,
        "{name: ana/demo-skill, version: 0.1.0, runtime: skill}",
        "{name: ana/demo-tool, version: 0.1.0, gateway: {endpoint: 'https://x.example', "
        "keyless: true}}",
    )
    pulled = "    origin: runtime\n    session: ses_0190a1b2c3d4\n"
    lock(
        project,
        pin("local/drive", wasm("drive", runtime="driver", more=MODELS).sha256),
        pin("ana/demo-skill", project.put(skill("demo-skill"), scope="ana"), more=pulled),
        pin("ana/demo-tool", project.put(wasm("demo-tool"), scope="ana"), more=pulled),
        pin("ana/other-tool", "e" * 64, "2.0.0", pulled),
    )
    told = project.doctor()
    assert told.checklist[1:] == [
        "  ⚠  ana/demo-skill@0.1.0   — pulled at runtime by session ses_0190a1b2c3d4",
        "  ✗  ana/demo-tool@0.1.0    — murmur.lock pins 'ana/demo-tool' from a runtime pull by "
        "session ses_0190a1b2c3d4; murmur.yaml declares it with gateway:",
        "  ·  ana/other-tool@2.0.0   pulled at runtime by session ses_0190a1b2c3d4 — not declared "
        "in murmur.yaml, so mur run does not stage it",
    ]
    assert told.tally == "2 checks passed, 1 error found, 1 warning."
    assert told.fixes == [
        "mur install ana/demo-tool@0.1.0",
        "mur install ana/demo-skill@0.1.0",
    ]


def test_a_payload_that_does_not_hash_to_its_record_is_an_error(project: Project) -> None:
    declare(project, "{name: local/t, version: 0.1.0}")
    project.put(wasm("t"))
    path = next(project.mine.root.rglob("t-0.1.0.mur.zip"))
    path.write_bytes(path.read_bytes() + b"x")
    told = project.doctor()
    assert told.checklist[1].startswith(f"  ✗  local/t@0.1.0       {HOST}   — ")
    assert told.status == 1


def test_the_project_store_comes_before_the_global_one(project: Project) -> None:
    declare(project, "{name: local/t, version: 0.1.0}")
    project.put(wasm("t"))
    project.put(wasm("t", exports=("murmur:tool/run@0.1.0",)), globally=True)
    assert "✓" in project.doctor().checklist[1]
