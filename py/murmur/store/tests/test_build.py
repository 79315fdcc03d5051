"""`mur build`, standard. spec/registry.md 4, 5 and 7; spec/diagnostics.md 4.1 and 5.1."""

from pathlib import Path

import pytest

from murmur.core.diagnostics import MurmurError
from murmur.store.archive import Archive
from murmur.store.build import Built, build

from .components import component, everything_below, manifest


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    folder.mkdir()
    (folder / "murmur.yaml").write_bytes(manifest() + b"requires_files: [capsule.wasm]\n")
    (folder / "capsule.wasm").write_bytes(component(("murmur:tool/run@0.2.0",)))
    return folder


def declare(source: Path, *entries: str, **fields: str) -> None:
    listed = "".join(f"  - '{entry}'\n" for entry in entries)
    text = manifest(**fields).decode() + ("requires_files:\n" + listed if entries else "")
    (source / "murmur.yaml").write_text(text)


def packed(built: Built) -> Archive:
    return Archive(Path(built.path).read_bytes(), 1 << 30)


def refused(source: Path, code: str, *facts: str, output: str | None = None) -> None:
    before = everything_below(source)
    with pytest.raises(MurmurError) as refusal:
        build(str(source), output)
    assert refusal.value.code == code, refusal.value
    for fact in facts:
        assert fact in refusal.value.message
    assert refusal.value.exit_status == 1
    assert everything_below(source) == before


def test_it_packs_the_manifest_byte_for_byte_and_exactly_what_is_declared(source: Path) -> None:
    (source / "README.md").write_text("not packed")
    built = build(str(source))
    assert built.path == f"{source}/my-tool-0.1.0.mur.zip"
    archive = packed(built)
    assert archive.names == ("murmur.yaml", "capsule.wasm", "murmur-build.json")
    assert archive.read("murmur.yaml") == (source / "murmur.yaml").read_bytes()
    assert built.line == f"Built artifact: {source}/my-tool-0.1.0.mur.zip (WIT level 3)"
    assert archive.built_at_level() == 3 and built.warnings == ()


def test_two_builds_are_byte_identical(source: Path) -> None:
    first = Path(build(str(source)).path).read_bytes()
    second = Path(build(str(source), str(source / "again.mur.zip")).path).read_bytes()
    assert first == second


def test_a_payload_that_fits_no_level_gets_no_build_record(source: Path) -> None:
    (source / "capsule.wasm").write_bytes(component(("murmur:hook/lifecycle@0.1.0",)))
    built = build(str(source))
    assert built.line.endswith("(fits no WIT level this mur knows)")
    assert not packed(built).has("murmur-build.json")


def test_the_level_is_the_newest_that_the_component_fits(source: Path) -> None:
    (source / "capsule.wasm").write_bytes(component(("murmur:tool/run@0.1.0",)))
    assert build(str(source)).level == 2


def test_a_static_artifact_may_be_a_manifest_alone(source: Path) -> None:
    declare(source, execution="static", runtime="capsule")
    assert packed(build(str(source))).names == ("murmur.yaml", "murmur-build.json")


def test_a_native_binary_is_packed_executable(source: Path, tmp_path: Path) -> None:
    import zipfile

    (source / "bin").mkdir()
    (source / "bin" / "my-tool").write_text("#!/bin/sh\n")
    declare(source, "bin/my-tool", implementation="native")
    with zipfile.ZipFile(build(str(source)).path) as archive:
        assert archive.getinfo("bin/my-tool").external_attr >> 16 & 0o777 == 0o755


def test_the_output_is_a_path_or_a_folder(source: Path, tmp_path: Path) -> None:
    assert build(str(source), str(tmp_path)).path == f"{tmp_path}/my-tool-0.1.0.mur.zip"
    named = str(tmp_path / "other.mur.zip")
    assert build(str(source), named).path == named
    refused(source, "E-IO-003", "other.zip", ".mur.zip", output=str(tmp_path / "other.zip"))


def test_no_manifest_is_e_io_001(source: Path) -> None:
    (source / "murmur.yaml").unlink()
    refused(source, "E-IO-001", f"murmur.yaml not found at {source}/murmur.yaml")


@pytest.mark.parametrize("name", ["a/b", "Tool", "a_b", "-a"])
def test_a_name_that_is_not_bare_is_e_bld_001(source: Path, name: str) -> None:
    declare(source, "capsule.wasm", name=name)
    refused(source, "E-BLD-001", name)


@pytest.mark.parametrize("entry", ["/etc/passwd", "../x", "a/../../x", "..\\x", "C:x", "\\x", "."])
def test_an_entry_that_may_leave_the_folder_is_e_bld_002(source: Path, entry: str) -> None:
    declare(source, entry)
    refused(source, "E-BLD-002", entry.replace("\\", "\\\\"))


def test_a_missing_entry_is_e_io_003_naming_the_first(source: Path) -> None:
    declare(source, "capsule.wasm", "first.txt", "second.txt")
    refused(source, "E-IO-003", "first.txt")


def test_a_symbolic_link_is_not_followed(source: Path) -> None:
    (source / "link.txt").symlink_to("capsule.wasm")
    declare(source, "capsule.wasm", "link.txt")
    refused(source, "E-BLD-002", "link.txt", "symbolic link")
    (source / "real").mkdir()
    (source / "real" / "x").write_text("x")
    (source / "folder").symlink_to("real")
    declare(source, "capsule.wasm", "folder/x")
    refused(source, "E-BLD-002", "folder/x", "symbolic link")


def test_two_entries_with_one_archive_name_collide(source: Path) -> None:
    (source / "a").mkdir()
    (source / "a" / "b").write_text("1")
    (source / "a\\b").write_text("2")
    declare(source, "capsule.wasm", "a/b", "a\\b")
    refused(source, "E-BLD-002", "a/b", "a\\\\b")


def test_an_entry_packing_as_the_build_record_is_refused(source: Path) -> None:
    (source / "murmur-build.json").write_text("{}")
    declare(source, "capsule.wasm", "./murmur-build.json")
    refused(source, "E-BLD-002", "murmur-build.json")


def test_a_wasm_artifact_needs_exactly_one_root_component(source: Path) -> None:
    declare(source)
    refused(source, "E-BLD-003", "missing root .wasm")
    for name in ("a.wasm", "b.wasm"):
        (source / name).write_bytes(component())
    declare(source, "b.wasm", "a.wasm")
    refused(source, "E-BLD-003", "a.wasm, b.wasm")


def test_one_file_declared_twice_and_the_output_itself_are_packed_once_and_never(
    source: Path,
) -> None:
    (source / "my-tool-0.1.0.mur.zip").write_text("an older build")
    declare(source, "capsule.wasm", "./capsule.wasm", "my-tool-0.1.0.mur.zip")
    assert packed(build(str(source))).names == ("murmur.yaml", "capsule.wasm", "murmur-build.json")


def test_redundant_and_misplaced_declarations_are_warned_about(source: Path) -> None:
    for name in ("idle.wasm", "Cargo.toml", "lib.rs", "fine.txt"):
        (source / name).write_bytes(component())
    (source / "target").mkdir()
    (source / "target" / "x").write_text("x")
    declare(
        source,
        "murmur.yaml",
        "capsule.wasm",
        "idle.wasm",
        "Cargo.toml",
        "lib.rs",
        "target/x",
        "fine.txt",
    )
    warnings = {w.code: w for w in build(str(source)).warnings}
    assert sorted(warnings) == ["W-BLD-001", "W-BLD-002", "W-BLD-003"]
    assert "murmur.yaml" in warnings["W-BLD-001"].message
    assert "idle.wasm" in warnings["W-BLD-002"].message
    assert "Cargo.toml, lib.rs, target/x" in warnings["W-BLD-003"].message
    assert all(w.url == "none" and w.hint for w in warnings.values())
    declare(source, "Cargo.toml", "lib.rs", execution="static")
    assert build(str(source)).warnings == ()


def test_literal_secrets_are_warned_about_by_field_never_by_value(source: Path) -> None:
    text = (source / "murmur.yaml").read_text()
    text += "x:\n  - {api_key: sk-ant-1, db_password: '${DB}', note: aaaaaaaaaaaa}\n"
    (source / "murmur.yaml").write_text(text + "Token: shorter\nsecret_b: 123456789a\n")
    warnings = build(str(source)).warnings
    assert [w.code for w in warnings] == ["W-SEC-004", "W-SEC-004"]
    assert "x.0.api_key" in warnings[0].message and "sk-a****" in warnings[0].message
    assert "secret_b" in warnings[1].message and "123456789a" not in warnings[1].message


def test_an_old_upstream_auth_is_built_as_it_is_with_w_man_001(source: Path) -> None:
    with (source / "murmur.yaml").open("a") as file:
        file.write('inference_auth: {header: x-api-key, value: "{key}"}\n')
    built = build(str(source))
    assert [w.code for w in built.warnings] == ["W-MAN-001"]
    assert packed(built).read("murmur.yaml") == (source / "murmur.yaml").read_bytes()


def test_a_manifest_that_begins_with_a_byte_order_mark_is_packed_as_it_is(source: Path) -> None:
    path = source / "murmur.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert packed(build(str(source))).read("murmur.yaml") == path.read_bytes()
