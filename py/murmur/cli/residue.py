"""What a cancel or a stop leaves behind, one line an item. CLI reference, *mur cancel*."""

from collections.abc import Mapping, Sequence
from typing import Any

from murmur.core.diagnostics import printable


def residue_of(task: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The items of a cancelled task's `residue` artifact."""
    items: list[Mapping[str, Any]] = []
    for artifact in task.get("artifacts") or ():
        if isinstance(artifact, dict) and artifact.get("name") == "residue":
            for part in artifact.get("parts") or ():
                if isinstance(part, dict) and isinstance(part.get("data"), dict):
                    items.append(part["data"])
    return items


def residue_lines(items: Sequence[Mapping[str, Any]]) -> list[str]:
    """One line an item: what still runs, and what the cancel ended."""
    return [printable(_residue_line(item)) for item in items]


def _residue_line(item: Mapping[str, Any]) -> str:
    if item.get("kind") == "delegation":
        capsule = f"{item.get('capsule', '')}@{item.get('version', '')}"
        return f"ended:   {item.get('delegation_id', '')}  delegation  {capsule}"
    return f"running: {item.get('work_id', '')}  detached shell  {item.get('command', '')}"
