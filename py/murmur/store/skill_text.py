"""Two small texts of a skill: the front block of its `SKILL.md`, and its manifest's description.

CLI reference, `mur build`, *Front block* and *murmur.yaml handling*.
"""

import re
from typing import Final

from murmur.manifest.document import BadDocument, parse_document
from murmur.store.scalars import yaml_scalar

_FIELDS: Final = ("name", "description")
_FENCE: Final = re.compile(r"---[ \t]*")


def front_block(text: str) -> dict[str, str]:
    """`name` and `description` of the block at the top of a `SKILL.md`; absent ones left out.

    A block that is no YAML is read line by line.
    """
    lines = text.removeprefix("\ufeff").splitlines()
    if not lines or not _FENCE.fullmatch(lines[0]):
        return {}
    end = next((i for i, line in enumerate(lines[1:], 1) if _FENCE.fullmatch(line)), None)
    if end is None:
        return {}
    block = lines[1:end]
    try:
        value = parse_document("\n".join(block)).value
    except BadDocument:
        return _by_lines(block)
    if not isinstance(value, dict):
        return {}
    return {
        field: str(value[field])
        for field in _FIELDS
        if isinstance(value.get(field), str | int | float) and str(value[field]).strip()
    }


def _by_lines(block: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in block:
        key, colon, rest = line.partition(":")
        if colon and key in _FIELDS and key not in found:
            text = rest.strip()
            if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
                text = text[1:-1]
            if text:
                found[key] = text
    return found


def with_description(manifest: str, description: str) -> str:
    """A manifest's text with its top-level `description` set; every other character stays.

    `manifest` is a YAML mapping that parses.
    """
    import yaml

    value = yaml_scalar(description)
    root = yaml.compose(manifest, Loader=yaml.SafeLoader)
    assert isinstance(root, yaml.MappingNode)
    for key, node in root.value:
        if key.value == "description":
            start, end = node.start_mark.index, node.end_mark.index
            # A block scalar's end stands at the start of the line after it.
            newline = "\n" if manifest[start:end].endswith("\n") else ""
            lead = "" if manifest[:start].endswith((" ", "\t")) else " "
            return manifest[:start] + lead + value + newline + manifest[end:]
    if root.flow_style:
        end = root.end_mark.index - 1
        comma = ", " if root.value else ""
        return f"{manifest[:end].rstrip().rstrip(',')}{comma}description: {value}{manifest[end:]}"
    end = root.end_mark.index
    head = manifest[:end]
    line = f"description: {value}\n"
    return head + ("" if head.endswith("\n") else "\n") + line + manifest[end:]
