"""What a session writes into its runtime directory: manifests, MURMUR.md, the task.

spec/sessions.md 2.2 and 6.2 steps 7 and 9.
"""

import contextlib
import json
import time
from typing import TYPE_CHECKING, Final

from murmur.core.diagnostics import error
from murmur.core.durations import rfc3339
from murmur.core.safefs import Root, UnsafePath
from murmur.core.version import VERSION
from murmur.session.directories import one_line
from murmur.session.hooks.contracts import compacts, staged_hooks
from murmur.session.inventory import Tool
from murmur.session.murmur_md import PageFacts, render_page
from murmur.session.prompt import bound_skill

if TYPE_CHECKING:
    from murmur.session.artifacts import StagedArtifact
    from murmur.session.stage import Staged

_PUBLIC: Final = 0o644
_PROGRAM: Final = 0o755


def write_runtime_files(staged: "Staged") -> None:
    """Everything that is there before the launch; MURMUR.md still has no URL.

    Raises E-IO-003 for a file that cannot be written.
    """
    root = staged.directories.runtime_root
    try:
        for artifact in staged.artifacts.values():
            write_artifact(root, artifact)
        for tool in staged.tools.values():
            if tool.artifact is None:
                _write_made_tool(root, tool)
        if staged.capsule.inference is not None:
            manifest = staged.prepared.loaded.text.encode("utf-8")
            root.write_atomic("runtime/murmur.yaml", manifest, _PUBLIC)
            write_page(staged, url="")
        if staged.task is not None:
            write_task(root, staged.task)
    except OSError as failure:
        raise error(
            "E-IO-003",
            what=f"{staged.directories.visible_runtime} cannot be written",
            reason=str(failure.strerror or failure),
            hint="make room for it, and look at its owner and mode",
        ) from None


def write_artifact(root: Root, artifact: "StagedArtifact") -> None:
    """`tools/<bare name>/murmur.yaml` as packed, and a skill's text or a native tool's program
    beside it. Raises OSError.
    """
    folder = f"runtime/tools/{artifact.entry.bare_name}"
    root.sub(folder, create=True, mode=0o755).close()
    root.write_atomic(f"{folder}/murmur.yaml", artifact.packed, _PUBLIC)
    if artifact.skill is not None:
        root.write_atomic(f"{folder}/skill.md", artifact.skill.encode(), _PUBLIC)
    if artifact.program is not None:
        name = artifact.entry.bare_name
        root.write_atomic(f"{folder}/{name}", artifact.program, _PROGRAM)


def remove_artifact(root: Root, bare_name: str) -> None:
    """Takes the files of an artifact away again; what is gone already is no error."""
    with contextlib.suppress(FileNotFoundError):
        root.remove_tree(f"runtime/tools/{bare_name}")


def _write_made_tool(root: Root, tool: Tool) -> None:
    """The manifest of a tool that no artifact brings: a `shell.allow` binary, or one of the
    runtime's own. spec/sessions.md 14.1 and 15."""
    folder = f"runtime/tools/{tool.name}"
    if root.exists(folder):
        return  # a driver's or a hook's, which comes first
    root.sub(folder, create=True, mode=0o755).close()
    manifest = {
        "name": tool.name,
        "version": tool.version,
        "runtime": "tool",
        "implementation": "native",
        "description": tool.description,
        "input_schema": dict(tool.schema),
    }
    # JSON is YAML, and the emitter need not be imported for it.
    text = json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"
    root.write_atomic(f"{folder}/murmur.yaml", text.encode(), _PUBLIC)


def write_tool_manifest(root: Root, name: str, content: bytes) -> None:
    """Puts a manifest in the place of the tool's own. Raises OSError for a name that is no plain
    one.
    """
    folder = f"runtime/tools/{name}"
    if "/" in name:
        raise UnsafePath(name, "it is not one name")
    root.sub(folder, create=True, mode=0o755).close()
    root.write_atomic(f"{folder}/murmur.yaml", content, _PUBLIC)


def _bound(staged: "Staged") -> Tool | None:
    """The skill that is the system prompt of this run."""
    from murmur.session.artifacts import tool_of

    name = bound_skill(staged.prepared.launch, staged.capsule)
    return tool_of(staged.artifacts[name]) if name is not None else None


def write_task(root: Root, text: str) -> None:
    """`task.md`, the text of the task that is about to run."""
    root.write_atomic("runtime/task.md", text.encode("utf-8", "replace"), _PUBLIC)


def remove_task(root: Root) -> None:
    """Takes `task.md` away after its task; one already gone is no error."""
    try:
        root.unlink("runtime/task.md")
    except FileNotFoundError:
        pass


def _hosts(staged: "Staged") -> tuple[str, ...] | None:
    """What commands reach; None where the list does not bind them."""
    if staged.containment.tier == "Environment-only":
        return None
    return staged.capsule.capabilities.network_allow


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
        workdir=one_line(directories.work),
        runtime_directory=one_line(directories.visible_runtime),
        records_directory=one_line(directories.records),
        temporary_directory=one_line(directories.temporary),
        context_budget=staged.limits.input_budget()[0],
        compaction_configured=compacts(staged_hooks(staged.artifacts)),
        tools=tuple(staged.tools.values()),
        bound_skill=_bound(staged),
        shell=capsule.capabilities.shell_allow,
        hosts=_hosts(staged),
        notes=staged.containment.notes,
        harness=None
        if staged.harness is None
        else f"{staged.harness.description.harness} ({staged.harness.driver.label})",
    )
    page = render_page(facts).encode("utf-8")
    directories.runtime_root.write_atomic("runtime/MURMUR.md", page, _PUBLIC)
