"""The documentation says what the code says, and its links lead somewhere."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from murmur.manifest.parse import load_capsule
from tools.docs.pages import pages

ROOT = Path("pyproject.toml").resolve().parent
PAGES = sorted([*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"])
_YAML = re.compile(r"```yaml\n(.*?)```", re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")


@pytest.mark.parametrize("name", pages())
def test_a_reference_page_is_current(name: str) -> None:
    path = ROOT / name
    mend = "run `./bazelw run //tools/docs:generate`"
    assert path.exists(), mend
    assert path.read_text("utf-8") == pages()[name], mend


def test_what_the_manifest_page_shows_loads_without_a_warning() -> None:
    text = (ROOT / "docs" / "write-a-manifest.md").read_text("utf-8")
    _, smallest, *further = _YAML.findall(text)
    base = yaml.safe_load(smallest)
    assert further
    for block in ("{}", *further):
        shown = yaml.safe_load(block)
        both = {**base, **shown, "artifacts": base["artifacts"] + shown.get("artifacts", [])}
        assert load_capsule(json.dumps(both), "murmur.yaml").warnings == ()


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
