"""docs/reference/artifacts.md, from the folders of py/artifacts.

What an artifact may import is its world's; what it is granted, the first example on its own page
gives its entry; what it does is the first sentence there.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from murmur.manifest.artifact import ArtifactManifest, parse_artifact_manifest
from tools.docs.markdown import MADE, page, table

_FOLDER: Final = "py/artifacts"
_INTRODUCTION: Final = f"""{MADE}

The artifacts that `./bazelw build //:artifacts` makes. A component reaches what it imports, as far
as the capsule grants it, its folder, which needs no import, and nothing else. A native tool is a
program, contained as the capsule's commands are. A skill is a text.

[Write an artifact](../artifacts.md) says how to make one of your own."""
_KINDS: Final = {
    "driver": "Drivers",
    "tool": "Tools",
    "hook": "Hooks",
    "skill": "Skills",
}
_WORLD: Final = re.compile(r"^world ([\w-]+) \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_ITEM: Final = re.compile(r"^  (import|include) (\S+);", re.MULTILINE)
_DECLARED_WORLD: Final = re.compile(r'^    world = "([\w-]+)",$', re.MULTILINE)
_YAML: Final = re.compile(r"^```yaml\n(.*?)^```", re.MULTILINE | re.DOTALL)
_SENTENCE: Final = re.compile(r"^# \S+\n\n(.+?)(?:[.:](?=\s)|\n\n)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Artifact:
    """One folder: what it packs and what it says of itself."""

    manifest: ArtifactManifest
    does: str
    imports: str
    granted: str


def artifacts_page(root: Path) -> str:
    """Every default artifact of the checkout at `root`, by kind.

    Raises LookupError for a page without a first sentence and a world that nothing defines.
    """
    worlds = dict(_worlds(root))
    found = [
        _artifact(path.parent, worlds) for path in sorted(root.glob(f"{_FOLDER}/*/murmur.yaml"))
    ]
    parts = []
    for kind, title in _KINDS.items():
        columns = 2 if kind == "skill" else 4
        head = ("Name", "What it does", "Imports", "Its entry grants")[:columns]
        rows = [
            (_link(each.manifest.name), each.does, each.imports, each.granted)[:columns]
            for each in found
            if each.manifest.runtime == kind
        ]
        parts.append([f"## {title}", "", *table(head, rows)])
    return page("Artifacts", _INTRODUCTION, *parts)


def _link(name: str) -> str:
    return f"[`{name}`](../../{_FOLDER}/{name}/README.md)"


def _artifact(folder: Path, worlds: Mapping[str, str]) -> Artifact:
    manifest = parse_artifact_manifest((folder / "murmur.yaml").read_bytes())
    text = (folder / "README.md").read_text("utf-8")
    sentence = _SENTENCE.match(text)
    if sentence is None:
        raise LookupError(f"{folder.name}/README.md: no sentence under its title")
    return Artifact(
        manifest,
        f"{sentence[1]}.",
        _imports(folder, manifest, worlds),
        _granted(manifest.name, text),
    )


def _imports(folder: Path, manifest: ArtifactManifest, worlds: Mapping[str, str]) -> str:
    if manifest.runtime == "skill":
        return ""
    if manifest.implementation == "native":
        return "a native program"
    declared = _DECLARED_WORLD.search((folder / "BUILD.bazel").read_text("utf-8"))
    if declared is None:
        raise LookupError(f"{folder.name}/BUILD.bazel: no world")
    names = _closure(declared[1], worlds)
    return ", ".join(f"`{name}`" for name in sorted(set(names))) or "nothing"


def _worlds(root: Path) -> Iterator[tuple[str, str]]:
    """Each world's text: ours by name, those of a package by full name without a version."""
    for path in [*sorted(root.glob("wit/*/*.wit")), root / _FOLDER / "wit" / "worlds.wit"]:
        text = path.read_text("utf-8")
        package = re.match(r"package (murmur:[\w-]+)@", text)
        for name, body in _WORLD.findall(text):
            yield (f"{package[1]}/{name}" if package else name), body


def _closure(world: str, worlds: Mapping[str, str]) -> Iterator[str]:
    """The interfaces that a world imports, its included worlds' too; no version, no escape."""
    for kind, written in _ITEM.findall(worlds[world]):
        name = written.replace("%", "").partition("@")[0]
        if kind == "import":
            yield name
        else:
            yield from _closure(name, worlds)


def _granted(name: str, text: str) -> str:
    """What the first example with an entry for it gives that entry to reach."""
    for block in _YAML.findall(text):
        shown = yaml.safe_load(block)
        for entry in shown.get("artifacts", ()) if isinstance(shown, dict) else ():
            if entry["name"].rpartition("/")[2] == name:
                gateway = ["`gateway`"] if "gateway" in entry else []
                granted = _flat(entry.get("capabilities", {}))
                return ", ".join([*gateway, *(f"`{each}`" for each in granted)]) or "nothing"
    return "nothing"


def _flat(value: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """`filesystem.records` and the like. An empty list grants nothing: it only narrows."""
    for key, below in value.items():
        if isinstance(below, dict) and below:
            yield from _flat(below, f"{path}{key}.")
        elif below != []:
            yield f"{path}{key}"
