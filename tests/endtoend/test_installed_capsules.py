"""`mur run --capsule`: an installed capsule, from its bytes alone. CLI reference, *mur run*."""

from pathlib import Path
from typing import Any

import pytest

from tests.endtoend.capsule import Place, read_trace, replay, write_manifest
from tests.endtoend.ground import Case, Done, Ground, check_refused

NAMED = ("--capsule", "local/packed", "--capsule-version", "0.2.0")


@pytest.fixture(scope="module")
def ground(place: Place, tmp_path_factory: pytest.TempPathFactory) -> Ground:
    """A folder without a project, and a capsule in the global store that was packed elsewhere."""
    source = tmp_path_factory.mktemp("packed")
    turns: list[dict[str, Any]] = [{"tool_calls": [{"name": "style", "input": {}}]}, {"text": "ok"}]
    manifest = replay(turns)
    driver, _ = manifest["artifacts"]
    manifest |= {
        "name": "packed",
        "version": "0.2.0",
        "execution": "static",
        "requires_files": ["prompt.md", "skills/Skill.md"],
        "artifacts": [driver, {"name": "local/style", "source": "skills/", "runtime": "skill"}],
        "trace": {"capture": "content"},
    }
    manifest["inference"]["system_prompt_file"] = "prompt.md"
    write_manifest(source, manifest)
    (source / "prompt.md").write_text("You are packed.")
    (source / "skills").mkdir()
    (source / "skills" / "Skill.md").write_text("Be brief.")
    for words in (("build", "."), ("publish", "packed-0.2.0.mur.zip")):
        done = place.mur(*words, cwd=source)
        assert done.returncode == 0, done.stderr
    (source / "prompt.md").write_text("Nobody reads this any more.")
    return Ground(place, tmp_path_factory.mktemp("nowhere"))


def records(ground: Ground, workdir: Path) -> Path:
    group = ground.place.home / ".murmur" / "records" / workdir.relative_to("/")
    return max(each for each in group.iterdir() if each.name.startswith("ses_"))


def test_its_manifest_and_the_files_it_names_are_the_package_s(ground: Ground) -> None:
    done = ground.run(*NAMED, "--verbose")
    assert done.returncode == 0, done.stderr
    assert "manifest: local/packed@0.2.0!/murmur.yaml" in done.stdout
    found = records(ground, ground.folder / "workdir")
    bodies = [path.read_text() for path in (found / "blobs").iterdir()]
    assert any("You are packed." in body for body in bodies)
    assert "skill_call" in [line["event_type"] for line in read_trace(found)]
    assert [each.name for each in ground.folder.iterdir()] == ["workdir"]


def test_what_a_folder_holds_is_not_looked_at(ground: Ground) -> None:
    work = ground.folder / "own"
    work.mkdir()
    (work / "murmur.yaml").write_text("nonsense: [")
    (work / "murmur.lock").write_text("nonsense")
    done = ground.run(*NAMED, "--workdir", str(work))
    assert done.returncode == 0, done.stderr
    assert (work / "murmur.lock").read_text() == "nonsense"
    assert read_trace(records(ground, work))[-1]["exit_status"] == "ok"


@pytest.mark.parametrize(
    ("arguments", "code", "facts"),
    [
        (("--capsule", "packed", "--capsule-version", "0.2.0"), "E-REG-007", ("packed",)),
        (
            ("--capsule", "local/packed", "--capsule-version", "9.9.9"),
            "E-RUN-008",
            ("local/packed@9.9.9", "mur install"),
        ),
    ],
)
def test_a_capsule_that_is_not_installed_is_refused(
    ground: Ground, arguments: tuple[str, ...], code: str, facts: tuple[str, ...]
) -> None:
    def run(at: Ground) -> Done:
        return at.run(*arguments)

    check_refused(Case(code, run, facts), run(ground))


@pytest.mark.parametrize(
    "arguments",
    [
        ("--capsule", "local/packed"),
        ("--capsule-version", "0.2.0"),
        (*NAMED, "--manifest", "murmur.yaml"),
    ],
)
def test_flags_that_name_no_capsule_or_two_are_usage_errors(
    ground: Ground, arguments: tuple[str, ...]
) -> None:
    done = ground.run(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
