"""`mur build` of a skill. spec/registry.md 6 and the CLI reference."""

from pathlib import Path

import pytest

from murmur.core.diagnostics import MurmurError
from murmur.store.archive import Archive
from murmur.store.build import Built
from murmur.store.skill import build_skill, infer_name, is_skill_folder
from murmur.store.skill_text import front_block, with_description

from .components import everything_below, raw_zip


@pytest.fixture
def skill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "out").mkdir()
    monkeypatch.chdir(tmp_path / "out")
    folder = tmp_path / "my-skill"
    folder.mkdir()
    (folder / "SKILL.md").write_text(
        "---\nname: pdf-helper\ndescription: Fills forms\nx: 1\n---\nText\n"
    )
    return folder


def packed(built: Built) -> Archive:
    return Archive(Path(built.path).read_bytes(), 1 << 30)


def refused(code: str, source: object, **options: str) -> str:
    with pytest.raises(MurmurError) as refusal:
        build_skill(str(source), **options)
    assert refusal.value.code == code, refusal.value
    assert everything_below(Path.cwd()) == {}
    return refusal.value.message


def test_the_front_block_names_and_describes_it(skill: Path) -> None:
    built = build_skill(str(skill))
    assert built.line == "Built artifact: ./pdf-helper-0.1.0.mur.zip (WIT level 3)"
    archive = packed(built)
    assert archive.read("murmur.yaml") == (
        b'name: pdf-helper\nversion: 0.1.0\nruntime: skill\ndescription: "Fills forms"\n'
    )
    assert archive.read("skill.md") == (skill / "SKILL.md").read_bytes()


def test_flags_come_before_the_front_block(skill: Path) -> None:
    built = build_skill(str(skill), name="other", version="1.2.0", summary='say "hi"')
    assert built.path == "./other-1.2.0.mur.zip"
    assert b'description: "say \\"hi\\""' in packed(built).read("murmur.yaml")


def test_every_regular_file_is_packed_at_its_relative_path(skill: Path) -> None:
    (skill / "assets" / "deep").mkdir(parents=True)
    (skill / "assets" / "deep" / "a.txt").write_text("a")
    (skill / ".git").mkdir()
    (skill / ".git" / "config").write_text("x")
    (skill / "assets" / ".DS_Store").write_text("x")
    (skill / "older.mur.zip").write_text("x")
    assert packed(build_skill(str(skill))).names == (
        "murmur.yaml",
        "skill.md",
        "assets/deep/a.txt",
        "murmur-build.json",
    )


def test_a_link_two_skill_files_and_a_build_record_are_refused(skill: Path) -> None:
    (skill / "a").mkdir()
    (skill / "a" / "link").symlink_to("/etc/passwd")
    assert "a/link" in refused("E-BLD-002", skill)
    (skill / "a" / "link").unlink()
    (skill / "skill.md").write_text("x")
    refused("E-BLD-002", skill)
    (skill / "skill.md").unlink()
    (skill / "murmur-build.json").write_text("{}")
    refused("E-BLD-002", skill)


def test_no_skill_file_is_e_io_001(tmp_path: Path, skill: Path) -> None:
    (skill / "SKILL.md").unlink()
    assert "SKILL.md not found" in refused("E-IO-001", skill)
    (tmp_path / "x.zip").write_bytes(raw_zip(("deep/SKILL.md", b"x")))
    refused("E-IO-001", tmp_path / "x.zip")
    refused("E-IO-001", tmp_path / "absent")


def test_only_root_entries_of_a_zip_are_packed(tmp_path: Path, skill: Path) -> None:
    archive = tmp_path / "external-skill.zip"
    archive.write_bytes(raw_zip(("Skill.MD", b"text"), ("b.txt", b"b"), ("deep/c.txt", b"c")))
    built = build_skill(str(archive))
    assert built.path == "./external-skill-0.1.0.mur.zip"
    assert packed(built).names == ("murmur.yaml", "skill.md", "b.txt", "murmur-build.json")


def test_an_existing_manifest_is_packed_unchanged(skill: Path) -> None:
    text = "# mine\nname: own\nversion: 2.0.0\nruntime: skill\ndescription: old # note\ntags: [x]\n"
    (skill / "murmur.yaml").write_text(text)
    built = build_skill(str(skill), version="9.9.9")
    assert built.path == "./own-2.0.0.mur.zip"
    assert packed(built).read("murmur.yaml").decode() == text
    built = build_skill(str(skill), summary="new one")
    assert packed(built).read("murmur.yaml").decode() == text.replace("old", '"new one"')


def test_a_manifest_of_another_role_or_malformed_is_refused(skill: Path) -> None:
    (skill / "murmur.yaml").write_text("name: own\nversion: 2.0.0\nruntime: tool\n")
    refused("E-MAN-003", skill)
    (skill / "murmur.yaml").write_text("name: [")
    refused("E-MAN-002", skill)


@pytest.mark.parametrize(
    ("manifest", "expected"),
    [
        ("name: a\n", 'name: a\ndescription: "x y"\n'),
        ("name: a", 'name: a\ndescription: "x y"\n'),
        ("description:\nname: a\n", 'description: "x y"\nname: a\n'),
        ("description: |\n  one\n  two\nname: a\n", 'description: "x y"\nname: a\n'),
        ("{name: a}\n", '{name: a, description: "x y"}\n'),
        ("{name: a, description: b}\n", '{name: a, description: "x y"}\n'),
    ],
)
def test_a_summary_edits_the_description_alone(manifest: str, expected: str) -> None:
    assert with_description(manifest, "x y") == expected


def test_a_block_that_is_no_yaml_is_read_line_by_line() -> None:
    text = "---\nname: 'a'\ndescription: Fill forms: use when …\n  name: nested\n---\n"
    assert front_block(text) == {"name": "a", "description": "Fill forms: use when …"}


@pytest.mark.parametrize("text", ["", "no block", "---\nname: a\n", "text\n---\nname: a\n---\n"])
def test_without_a_closed_block_at_the_top_there_is_none(text: str) -> None:
    assert front_block(text) == {}


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("/x/my-coding-skill/", "my-coding-skill"),
        ("My Skill.zip", "my_skill"),
        ("__A--b..c__.ZIP", "a--b_c"),
        ("ünder", "nder"),
    ],
)
def test_a_name_is_inferred_from_the_last_path_component(source: str, name: str) -> None:
    assert infer_name(source) == name


def test_an_inferred_name_that_keeps_an_underscore_is_e_bld_001(
    tmp_path: Path, skill: Path
) -> None:
    archive = tmp_path / "My Skill.zip"
    archive.write_bytes(raw_zip(("SKILL.md", b"text")))
    assert "my_skill" in refused("E-BLD-001", archive)


def test_a_folder_is_a_skill_without_a_manifest_and_with_a_skill_file(skill: Path) -> None:
    assert is_skill_folder(str(skill))
    (skill / "murmur.yaml").write_text("x")
    assert not is_skill_folder(str(skill))
    assert not is_skill_folder(str(skill / "absent"))
