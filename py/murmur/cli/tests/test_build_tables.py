"""`mur build` and `mur publish` as programs, row by row of the CLI reference's tables."""

import json
import os
import zipfile
from pathlib import Path

import pytest

from murmur.cli.tests.box import Box
from murmur.store.archive import Entry, archive_bytes
from murmur.store.platforms import host_platform
from murmur.store.tests.components import component, manifest, native_zip, wasm_zip

LEVEL_3 = " (WIT level 3)"


class Source(Box):
    """A box in which folders are filled and built."""

    def fill(self, folder: str, **files: str | bytes) -> Path:
        """Files by name, `__` for a dot and `___` for a slash."""
        target = self.cwd / folder
        for name, data in files.items():
            path = target / name.replace("___", "/").replace("__", ".")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return target

    def tool(self, folder: str = "tool", exports: tuple[str, ...] = (), **more: str) -> Path:
        text = manifest("my-tool", "0.1.0", **more) + b"requires_files: [capsule.wasm]\n"
        return self.fill(folder, murmur__yaml=text, capsule__wasm=component(exports))

    def skill(self, folder: str = "my-skill", text: str = "text", **files: str | bytes) -> Path:
        return self.fill(folder, SKILL__md=text, **files)

    def names(self, archive: str) -> list[str]:
        with zipfile.ZipFile(self.cwd / archive) as packed:
            return packed.namelist()

    def entry(self, archive: str, name: str) -> str:
        with zipfile.ZipFile(self.cwd / archive) as packed:
            return packed.read(name).decode()

    def built(self, *arguments: str) -> str:
        """The path that a build which must succeed prints."""
        (line,) = self.ok("build", *arguments)
        assert line.startswith("Built artifact: ")
        return line.removeprefix("Built artifact: ").removesuffix(LEVEL_3)


@pytest.fixture
def box(tmp_path: Path) -> Source:
    return Source(tmp_path)


# --- modes ---------------------------------------------------------------------------------


def test_a_murmur_yaml_means_a_standard_build_even_beside_a_skill_md(box: Source) -> None:
    box.tool()
    box.fill("tool", SKILL__md="text")
    assert box.names(box.built("tool")) == ["murmur.yaml", "capsule.wasm", "murmur-build.json"]


@pytest.mark.parametrize("name", ["SKILL.md", "skill.md", "Skill.MD"])
def test_without_one_a_skill_md_in_any_casing_means_skill_packaging(box: Source, name: str) -> None:
    (box.cwd / "my-skill").mkdir()
    (box.cwd / "my-skill" / name).write_text("text")
    expected = ["murmur.yaml", "skill.md", "murmur-build.json"]
    assert sorted(box.names(box.built("my-skill"))) == sorted(expected)


def test_neither_is_e_io_001_and_skill_mode_asks_for_a_skill_md(box: Source) -> None:
    (box.cwd / "empty").mkdir()
    assert "murmur.yaml not found at empty/murmur.yaml" in box.refused("E-IO-001", "build", "empty")
    assert "SKILL.md" in box.refused("E-IO-001", "build", "--skill", "./empty")


# --- standard build ------------------------------------------------------------------------


def test_source_is_the_current_folder_by_default_and_output_beside_the_manifest(
    box: Source,
) -> None:
    box.tool(".")
    assert box.built() == "./my-tool-0.1.0.mur.zip"
    box.tool("deep/er")
    assert box.built("deep/er") == "deep/er/my-tool-0.1.0.mur.zip"


def test_output_is_a_folder_or_a_path_that_ends_in_mur_zip(box: Source) -> None:
    box.tool()
    (box.cwd / "out").mkdir()
    assert box.built("tool", "--output", "out") == "out/my-tool-0.1.0.mur.zip"
    assert box.built("tool", "--output", "x.mur.zip") == "x.mur.zip"
    assert ".mur.zip" in box.refused("E-IO-003", "build", "tool", "--output", "x.zip")


def test_it_packs_exactly_what_is_declared(box: Source) -> None:
    box.tool()
    box.fill("tool", src___main__rs="fn", README__md="x", target___x="x")
    assert box.names(box.built("tool")) == ["murmur.yaml", "capsule.wasm", "murmur-build.json"]


@pytest.mark.parametrize("packaging", ["implementation: native", "execution: static"])
def test_native_and_static_artifacts_may_be_a_manifest_alone_and_fit_every_level(
    box: Source, packaging: str
) -> None:
    box.fill("bare", murmur__yaml=f"name: bare\nversion: 0.1.0\nruntime: tool\n{packaging}\n")
    path = box.built("bare")
    assert box.names(path) == ["murmur.yaml", "murmur-build.json"]
    assert box.entry(path, "murmur-build.json") == '{"built_at_level":3}\n'


def test_a_wasm_artifact_without_a_component_is_e_bld_003_and_nothing_is_written(
    box: Source,
) -> None:
    box.fill("bare", murmur__yaml=manifest("bare"))
    box.refused("E-BLD-003", "build", "bare")
    assert [path.name for path in (box.cwd / "bare").iterdir()] == ["murmur.yaml"]


@pytest.mark.parametrize(
    ("interface", "ending", "level"),
    [
        ("murmur:tool/run@0.2.0", " (WIT level 3)", 3),
        ("murmur:tool/run@0.1.0", " (WIT level 2)", 2),
        ("murmur:driver/process@0.3.0", " (WIT level 1)", 1),
        ("murmur:tool/run@9.9.9", " (fits no WIT level this mur knows)", None),
    ],
)
def test_the_last_line_ends_with_the_level_that_is_recorded(
    box: Source, interface: str, ending: str, level: int | None
) -> None:
    box.tool(exports=(interface,))
    path = "tool/my-tool-0.1.0.mur.zip"
    assert box.ok("build", "tool") == [f"Built artifact: {path}{ending}"]
    assert ("murmur-build.json" in box.names(path)) == (level is not None)
    if level is not None:
        assert json.loads(box.entry(path, "murmur-build.json")) == {"built_at_level": level}


def test_lints_and_literal_secrets_are_warnings_on_standard_error(box: Source) -> None:
    box.fill(
        "tool",
        murmur__yaml=manifest("my-tool", api_key="sk-ant-123456789")
        + b"requires_files: [murmur.yaml, capsule.wasm, other.wasm, Cargo.toml]\n",
        capsule__wasm=component(),
        other__wasm=component(),
        Cargo__toml="x",
    )
    done = box.run("build", "tool")
    assert done.returncode == 0 and len(done.stdout.splitlines()) == 1
    for code in ("W-BLD-001", "W-BLD-002", "W-BLD-003", "W-SEC-004"):
        assert f"warning[{code}]: " in done.stderr, code
    assert "123456789" not in done.stderr


@pytest.mark.parametrize(
    ("code", "name", "files"),
    [
        ("E-BLD-001", "ana/x", "capsule.wasm"),
        ("E-BLD-001", "X", "capsule.wasm"),
        ("E-BLD-002", "x", "../capsule.wasm"),
        ("E-BLD-002", "x", "capsule.wasm, link.wasm"),
        ("E-BLD-002", "x", "capsule.wasm, murmur-build.json"),
        ("E-BLD-002", "x", "capsule.wasm, a.md, A.md"),
        ("E-BLD-003", "x", "a.wasm, b.wasm"),
        ("E-IO-003", "x", "gone.wasm"),
    ],
)
def test_each_build_error_writes_nothing(box: Source, code: str, name: str, files: str) -> None:
    folder = box.fill(
        "tool",
        murmur__yaml=f"name: {name}\nversion: 0.1.0\nruntime: tool\nrequires_files: [{files}]\n",
        capsule__wasm=component(),
        a__wasm=component(),
        b__wasm=component(),
        a__md="1",
        A__md="2",
    )
    (folder / "murmur-build.json").write_text("{}")
    (folder / "link.wasm").symlink_to("capsule.wasm")
    box.refused(code, "build", "tool")
    assert not list(box.cwd.rglob("*.mur.zip")) and not list(box.cwd.rglob("*.tmp"))


# --- skill packaging -----------------------------------------------------------------------

FRONT = "---\nname: pdf-helper\ndescription: Fills forms.\nother: x\n---\ntext\n"


def test_the_front_block_names_it_and_the_current_folder_receives_it(box: Source) -> None:
    box.skill("Some Folder", FRONT)
    path = box.built("Some Folder")
    assert path == "./pdf-helper-0.1.0.mur.zip"
    assert box.entry(path, "murmur.yaml") == (
        'name: pdf-helper\nversion: 0.1.0\nruntime: skill\ndescription: "Fills forms."\n'
    )


def test_explicit_name_version_and_summary_come_before_the_front_block(box: Source) -> None:
    box.skill("my-skill", FRONT)
    flags = ("--version", "1.2.0", "--summary", "Other.")
    path = box.built("--skill", "wrapped-skill", *flags, "my-skill/")
    assert path == "./wrapped-skill-1.2.0.mur.zip"
    assert box.entry(path, "murmur.yaml").endswith("runtime: skill\ndescription: Other.\n")


def test_a_front_block_that_is_no_yaml_is_read_line_by_line(box: Source) -> None:
    text = "---\nname: 'pdf-helper'\ndescription: Fill forms: use when asked\n---\n"
    box.skill("my-skill", text)
    assert "Fill forms: use when asked" in box.entry(box.built("my-skill"), "murmur.yaml")


def test_the_name_is_inferred_from_the_folder_or_the_file(box: Source) -> None:
    box.skill("my-coding-skill")
    assert box.built("--skill", "my-coding-skill/") == "./my-coding-skill-0.1.0.mur.zip"
    (box.cwd / "external-skill.zip").write_bytes(archive_bytes([Entry("Skill.md", b"text")]))
    assert box.built("--skill", "external-skill.zip") == "./external-skill-0.1.0.mur.zip"
    (box.cwd / "My Skill.zip").write_bytes(archive_bytes([Entry("SKILL.md", b"text")]))
    assert "my_skill" in box.refused("E-BLD-001", "build", "--skill", "./My Skill.zip")


def test_a_value_with_a_slash_or_a_leading_dot_is_the_path_and_any_other_the_name(
    box: Source,
) -> None:
    box.skill(".", "text")
    box.skill("folder", "text")
    assert box.built("--skill", "folder") == "./folder-0.1.0.mur.zip"  # a name; the path is `.`
    assert "skill.md" in box.names("folder-0.1.0.mur.zip")
    assert box.built("--skill", "./folder") == "./folder-0.1.0.mur.zip"
    assert "ana/x" in box.refused("E-BLD-001", "build", "--skill", "ana/x")


def test_output_of_a_skill_is_a_folder_or_a_file(box: Source) -> None:
    box.skill()
    (box.cwd / "out").mkdir()
    assert box.built("my-skill", "--output", "out") == "out/my-skill-0.1.0.mur.zip"
    assert box.built("my-skill", "--output", "x.mur.zip") == "x.mur.zip"


def test_every_regular_file_is_packed_but_what_the_table_skips(box: Source) -> None:
    box.skill(
        "my-skill",
        "text",
        docs___deep___a__md="a",
        __git___config="x",
        docs___old__mur__zip="x",
    )
    (box.cwd / "my-skill" / ".DS_Store").write_text("x")
    path = box.built("my-skill", "--output", "my-skill/")
    assert path == "my-skill/my-skill-0.1.0.mur.zip"
    assert box.built("my-skill", "--output", "my-skill/") == path
    assert set(box.names(path)) == {
        "murmur.yaml",
        "skill.md",
        "docs/deep/a.md",
        "murmur-build.json",
    }


def test_a_root_murmur_yaml_is_the_manifest_unchanged_but_for_the_summary(box: Source) -> None:
    text = "# mine\nname: own\nversion: 3.0.0\nruntime: skill\ndescription: Old.\n"
    box.skill("my-skill", FRONT, murmur__yaml=text)
    path = box.built("--skill", "./my-skill")
    assert path == "./own-3.0.0.mur.zip" and box.entry(path, "murmur.yaml") == text
    box.built("--skill", "./my-skill", "--summary", "New.")
    assert box.entry(path, "murmur.yaml") == text.replace("Old.", "New.")


def test_from_a_zip_only_root_entries_are_packed(box: Source) -> None:
    entries = [Entry("SKILL.md", b"text"), Entry("a.md", b"a"), Entry("docs/b.md", b"b")]
    (box.cwd / "x.zip").write_bytes(archive_bytes(entries))
    names = box.names(box.built("--skill", "x.zip"))
    assert set(names) == {"murmur.yaml", "skill.md", "a.md", "murmur-build.json"}


def test_each_error_of_the_skill_table(box: Source) -> None:
    box.skill("linked")
    (box.cwd / "linked" / "docs").mkdir()
    (box.cwd / "linked" / "docs" / "link").symlink_to("/etc/passwd")
    box.refused("E-BLD-002", "build", "linked")
    box.skill("twice", "text", skill__md="text")
    box.refused("E-BLD-002", "build", "twice")
    box.skill("recorded", "text")
    (box.cwd / "recorded" / "murmur-build.json").write_text("{}")
    box.refused("E-BLD-002", "build", "recorded")
    box.skill("front", "---\nname: Not_A_Name\n---\n")
    assert "--skill <name>" in box.refused("E-BLD-001", "build", "front")
    box.skill("broken", "text", murmur__yaml="name: [")
    box.refused("E-MAN-002", "build", "--skill", "./broken")
    box.skill("role", "text", murmur__yaml="name: x\nversion: 1.0.0\nruntime: tool\n")
    box.refused("E-MAN-003", "build", "--skill", "./role")
    (box.cwd / "none.zip").write_bytes(archive_bytes([Entry("a.md", b"a")]))
    box.refused("E-IO-001", "build", "--skill", "none.zip")
    assert not list(box.cwd.rglob("*.mur.zip")) and not list(box.cwd.rglob("*.tmp"))


# --- mur publish ---------------------------------------------------------------------------


def test_publish_without_a_path_takes_the_archive_that_the_manifest_names(box: Source) -> None:
    assert "murmur.yaml" in box.refused("E-IO-001", "publish")
    box.tool(".")
    assert "my-tool-0.1.0.mur.zip" in box.refused("E-IO-001", "publish")
    box.built()
    assert box.ok("publish") == ["Published local/my-tool@0.1.0"]
    folder = box.home / ".murmur" / "artifacts" / "local" / "my-tool" / "0.1.0"
    assert sorted(os.listdir(folder)) == [
        "my-tool-0.1.0.meta.json",
        "my-tool-0.1.0.mur.zip",
        "my-tool-0.1.0.sha256",
    ]


def test_a_native_artifact_is_filed_under_the_host_or_the_platform_that_is_named(
    box: Source,
) -> None:
    (box.cwd / "n.mur.zip").write_bytes(native_zip())
    assert box.ok("publish", "n.mur.zip") == [
        f"Platform: {host_platform()} (auto-detected)",
        "Published local/my-native@0.1.0",
    ]
    assert box.ok("publish", "n.mur.zip", "--platform", "darwin-aarch64") == [
        "Published local/my-native@0.1.0"
    ]
    box.refused("E-REG-003", "publish", "n.mur.zip")
    platforms = f"darwin-aarch64, {host_platform()}"
    assert box.ok("list", "-g")[1].endswith(platforms)
    for wrong in ("linux", "-x86_64", "linux-"):
        assert wrong in box.refused("E-IO-003", "publish", "n.mur.zip", f"--platform={wrong}")


def test_a_wasm_artifact_is_published_without_a_platform_whatever_the_flag_says(
    box: Source,
) -> None:
    (box.cwd / "w.mur.zip").write_bytes(wasm_zip())
    line = ["Published local/my-tool@0.1.0"]
    assert box.ok("publish", "w.mur.zip", "--platform", "darwin-aarch64") == line
    assert box.ok("list", "-g")[1].split()[-1] == "—"


@pytest.mark.parametrize("version", ["latest", "stable", "edge"])
def test_a_reserved_version_is_refused(box: Source, version: str) -> None:
    (box.cwd / "w.mur.zip").write_bytes(wasm_zip(version=version))
    assert version in box.refused("E-REG-004", "publish", "w.mur.zip")
    assert not (box.home / ".murmur" / "artifacts").exists()
