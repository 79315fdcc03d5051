"""What a session writes into its runtime directory: manifests, MURMUR.md, the task.

spec/sessions.md 2.2 and 6.2 steps 7 and 9.
"""

import time
from typing import TYPE_CHECKING, Final

from murmur.core.durations import rfc3339
from murmur.core.safefs import Root
from murmur.core.version import VERSION
from murmur.session.inventory import Tool
from murmur.session.murmur_md import PageFacts, render_page

if TYPE_CHECKING:
    from murmur.session.stage import Staged

_PUBLIC: Final = 0o644


def write_runtime_files(staged: "Staged") -> None:
    """Everything that is there before the launch; MURMUR.md still has no URL."""
    root = staged.directories.runtime_root
    for tool in staged.tools.values():
        write_tool(root, tool, staged)
    root.write_atomic("runtime/murmur.yaml", staged.prepared.loaded.text.encode("utf-8"), _PUBLIC)
    write_page(staged, url="")
    if staged.task is not None:
        write_task(root, staged.task)


def write_tool(root: Root, tool: Tool, staged: "Staged") -> None:
    """`tools/<name>/murmur.yaml` of one model-visible tool, and a skill's text beside it."""
    import yaml

    root.sub(f"runtime/tools/{tool.name}", create=True, mode=0o755).close()
    manifest = {
        "name": tool.name,
        "version": tool.version,
        "runtime": "skill" if tool.kind.value == "skill" else "tool",
        "implementation": "wasm" if tool.kind.value == "wasm" else "native",
        "description": tool.description,
        "input_schema": dict(tool.schema),
    }
    text = yaml.safe_dump(manifest, sort_keys=False, allow_unicode=True)
    root.write_atomic(f"runtime/tools/{tool.name}/murmur.yaml", text.encode(), _PUBLIC)
    skill = staged.artifacts[tool.artifact].skill if tool.artifact else None
    if skill is not None:
        root.write_atomic(f"runtime/tools/{tool.name}/skill.md", skill.encode(), _PUBLIC)


def write_task(root: Root, text: str) -> None:
    """`task.md`, the text of the task that is about to run."""
    root.write_atomic("runtime/task.md", text.encode("utf-8"), _PUBLIC)


def remove_task(root: Root) -> None:
    """Takes `task.md` away after its task; one already gone is no error."""
    try:
        root.unlink("runtime/task.md")
    except FileNotFoundError:
        pass


def write_page(staged: "Staged", url: str) -> None:
    """MURMUR.md, written at staging and again once the door is bound."""
    capsule = staged.capsule
    directories = staged.directories
    assert capsule.inference is not None
    facts = PageFacts(
        product_version=VERSION,
        written_at=rfc3339(time.time()),
        capsule_name=capsule.name,
        capsule_version=capsule.version,
        session_id=staged.session_id,
        url=url,
        model=capsule.inference.model or "",
        workdir=str(directories.work),
        runtime_directory=str(directories.visible_runtime),
        records_directory=str(directories.records),
        temporary_directory=str(directories.temporary),
        context_budget=staged.limits.input_budget()[0],
        compaction_configured=False,
        tools=tuple(staged.tools.values()),
        shell=capsule.capabilities.shell_allow,
        notes=staged.containment.notes,
    )
    page = render_page(facts).encode("utf-8")
    directories.runtime_root.write_atomic("runtime/MURMUR.md", page, _PUBLIC)
