"""The documentation says what the code says, and its links lead somewhere."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from murmur.core.home import Home
from murmur.manifest.harness_needs import parse_harness_needs
from murmur.manifest.parse import load_capsule
from murmur.session.harness.needs import harness_grants
from tools.docs.pages import pages

ROOT = Path("pyproject.toml").resolve().parent
PAGES = sorted(
    [
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "py" / "artifacts").rglob("README.md"),
        *(ROOT / "examples").rglob("README.md"),
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
    ]
)
_YAML = re.compile(r"```yaml\n(.*?)```", re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")


GENERATED = pages(ROOT)


@pytest.mark.parametrize("name", GENERATED)
def test_a_generated_page_is_current(name: str) -> None:
    path = ROOT / name
    mend = "run `./bazelw run //tools/docs:generate`"
    assert path.exists(), mend
    assert path.read_text("utf-8") == GENERATED[name], mend


@pytest.mark.parametrize(
    ("name", "before"),
    [
        ("docs/write-a-manifest.md", 1),
        ("py/artifacts/skill-create-manifest/skill.md", 0),
    ],
)
def test_the_manifests_that_a_page_shows_load_without_a_warning(name: str, before: int) -> None:
    """After some other blocks, the first is whole and each further one is added to it."""
    smallest, *further = _YAML.findall((ROOT / name).read_text("utf-8"))[before:]
    base = yaml.safe_load(smallest)
    assert further
    for block in ("{}", *further):
        shown = yaml.safe_load(block)
        both = {**base, **shown, "artifacts": base["artifacts"] + shown.get("artifacts", [])}
        assert load_capsule(json.dumps(both), "murmur.yaml").warnings == ()


def test_the_table_of_artifacts_lists_what_the_build_makes() -> None:
    made = re.findall(r'"//py/artifacts/([\w-]+)",', (ROOT / "BUILD.bazel").read_text("utf-8"))
    page = (ROOT / "docs" / "reference" / "artifacts.md").read_text("utf-8")
    assert sorted(re.findall(r"^\| \[`([\w-]+)`\]", page, re.MULTILINE)) == sorted(made)


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    found = set()
    for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE):
        kept = (c for c in heading.lower() if c.isalnum() or c in "-_ ")
        found.add("".join(kept).strip().replace(" ", "-"))
    return found


def links() -> Iterator[tuple[Path, str]]:
    for page in PAGES:
        for target in _LINK.findall(page.read_text("utf-8")):
            if not target.startswith(("http://", "https://")):
                yield page, target


def test_there_are_links() -> None:
    assert len(list(links())) > 20


@pytest.mark.parametrize(("page", "target"), list(links()), ids=str)
def test_a_link_leads_to_a_file_and_a_heading(page: Path, target: str) -> None:
    name, _, anchor = target.partition("#")
    file = page if not name else (page.parent / name).resolve()
    assert file.exists(), target
    if anchor:
        assert anchor in anchors(file.read_text("utf-8")), target


CLAUDE_CODE, CODEX = "driver-claude-code", "driver-codex"


def needs_of(driver: str) -> object:
    text = (ROOT / "py" / "artifacts" / driver / "murmur.yaml").read_text("utf-8")
    return yaml.safe_load(text)["harness_needs"]


@pytest.mark.parametrize(
    ("name", "driver"),
    [
        ("docs/run-a-harness.md", CLAUDE_CODE),
        (f"py/artifacts/{CLAUDE_CODE}/README.md", CLAUDE_CODE),
        (f"py/artifacts/{CODEX}/README.md", CODEX),
    ],
)
def test_the_capsule_that_a_page_shows_allows_what_its_harness_needs(
    name: str, driver: str
) -> None:
    shown = yaml.safe_load(_YAML.findall((ROOT / name).read_text("utf-8"))[0])
    text = json.dumps({"name": "shown", "version": "0.1.0", **shown})
    needs = parse_harness_needs(needs_of(driver))
    assert needs is not None and needs.paths and needs.hosts
    found = harness_grants(load_capsule(text, "murmur.yaml").capsule, needs, Home(ROOT / ".murmur"))
    assert found.missing == ()


def test_the_needs_that_the_page_on_harnesses_shows_are_the_drivers() -> None:
    shown = _YAML.findall((ROOT / "docs" / "run-a-harness.md").read_text("utf-8"))[1]
    assert yaml.safe_load(shown)["harness_needs"] == needs_of(CLAUDE_CODE)
