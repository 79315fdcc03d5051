"""Skills read from a path at each launch. seeds/manifest-schema.md, *Local-source artifacts*."""

from pathlib import Path

import pytest

from murmur.core.diagnostics import MurmurError
from murmur.manifest.artifact import parse_artifact_manifest
from murmur.manifest.capsule import ArtifactEntry, Role
from murmur.session.artifacts import StagedArtifact, tool_of
from murmur.session.inventory import ToolKind
from murmur.session.local_source import read_local_skill


def entry(source: str, runtime: Role = "skill") -> ArtifactEntry:
    return ArtifactEntry("local/style", "local", runtime, source=source, local_source=True)


@pytest.mark.parametrize("name", ["skill.md", "SKILL.md", "Skill.md"])
@pytest.mark.parametrize("form", ["{}", "{}/skill"])
def test_a_folder_or_a_file_of_any_name_is_read(tmp_path: Path, name: str, form: str) -> None:
    folder = tmp_path / "skills"
    folder.mkdir()
    (folder / name).write_text("Be kind.\n")
    source = "skills" if form == "{}" else f"skills/{name}"
    skill = read_local_skill(entry(source), tmp_path)
    assert skill.text == "Be kind.\n"
    assert (skill.manifest.name, skill.manifest.version) == ("style", "local")
    manifest = parse_artifact_manifest(skill.packed)
    assert (manifest.name, manifest.runtime) == ("style", "skill")


def test_an_absolute_path_is_used_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("Be brief.")
    skill = read_local_skill(entry(str(tmp_path / "notes.txt")), tmp_path / "elsewhere")
    assert skill.text == "Be brief."


def test_the_description_is_the_front_block_s(tmp_path: Path) -> None:
    (tmp_path / "skill.md").write_text("---\nname: x\ndescription: How to write.\n---\nBe kind.\n")
    assert read_local_skill(entry("."), tmp_path).manifest.description == "How to write."


@pytest.mark.parametrize(
    ("source", "code", "fact"),
    [
        ("nowhere", "E-IO-001", "skill source path not found at"),
        ("empty", "E-IO-001", "skill.md not found at"),
        ("binary", "E-IO-003", "UTF-8"),
    ],
)
def test_a_source_that_gives_no_skill_is_refused(
    tmp_path: Path, source: str, code: str, fact: str
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "binary").write_bytes(b"\xff\xfe\xff")
    with pytest.raises(MurmurError) as refused:
        read_local_skill(entry(source), tmp_path)
    assert refused.value.code == code
    assert fact in refused.value.message and str(tmp_path / source) in refused.value.message


@pytest.mark.parametrize("runtime", ["driver", "hook"])
def test_a_text_plays_no_other_role(tmp_path: Path, runtime: Role) -> None:
    (tmp_path / "skill.md").write_text("Be kind.")
    with pytest.raises(MurmurError) as refused:
        read_local_skill(entry(".", runtime), tmp_path)
    assert refused.value.code == "E-RUN-001"


def test_a_tool_read_from_a_text_answers_as_a_skill_does(tmp_path: Path) -> None:
    (tmp_path / "skill.md").write_text("Be kind.")
    skill = read_local_skill(entry(".", "tool"), tmp_path)
    staged = StagedArtifact(
        entry(".", "tool"), skill.manifest, skill.sha256, skill.packed, skill=skill.text
    )
    tool = tool_of(staged)
    assert tool is not None and tool.kind is ToolKind.SKILL
    assert (tool.version, tool.description) == ("local", "Be kind.")
