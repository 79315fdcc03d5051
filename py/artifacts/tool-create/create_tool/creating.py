"""One call: the new artifact's folder, all of it or nothing (spec 16.3)."""

import contextlib
import os
import re
import shutil
from pathlib import Path

from murmur_tooling.members import Members, ToolError, invalid, read_plain
from murmur_tooling.outcome import Outcome, passed, refused
from murmur_tooling.places import failed, resolve

from create_tool.templates import Files, files_of

TYPES = ("tool", "hook", "skill")
RUNTIMES = ("wasm", "native")
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,98}[a-z0-9])?")


def create(data: str | None, folder: Path) -> Outcome:
    """Make `tools/<name>/` below `folder`. Never raises for what an input may hold."""
    metadata = (("state_effect", "mutate"),)
    try:
        given = read_plain(data, ("type", "name", "runtime"))
        kind, name = given.choice("type", TYPES), _name(given)
        runtime = _runtime(given, kind)
        files = files_of(kind, runtime, name)
        place = f"tools/{name}"
        _write(folder, name, files)
    except ToolError as problem:
        return refused(problem, metadata)
    result = {
        "path": place,
        "files": sorted(f"{place}/{each}" for each in files),
        "next": f"edit the files, then mur build {place}",
    }
    return passed(f"created {place}", result, (*metadata, ("resource_id", f"workdir:{place}")))


def _name(given: Members) -> str:
    name = given.text("name")
    if not _NAME.fullmatch(name):
        raise invalid(
            f"name is {name!r}; it must be lower-case letters, digits and hyphens, at most 100, "
            "and begin and end with a letter or digit, as summarize-page"
        )
    return name


def _runtime(given: Members, kind: str) -> str:
    if kind == "skill":
        if given.given("runtime"):
            raise invalid("runtime is given, and a skill is text that nothing runs: leave it out")
        return ""
    runtime = given.choice("runtime", RUNTIMES, "wasm")
    if kind == "hook" and runtime == "native":
        raise invalid("runtime is 'native'; a hook is a component: it must be wasm")
    return runtime


def _write(folder: Path, name: str, files: Files) -> None:
    """The folder appears by a rename, so that nobody sees half of it."""
    parent = folder / resolve(folder, "tools")
    target = parent / name
    fresh = parent / f".{name}.new-{os.urandom(4).hex()}"
    try:
        parent.mkdir(exist_ok=True)
        if target.exists() or target.is_symlink():
            raise ToolError("exists", f"tools/{name} exists; choose another name")
        for path, content in files.items():
            (fresh / path).parent.mkdir(parents=True, exist_ok=True)
            (fresh / path).write_bytes(content)
        fresh.rename(target)
    except OSError as problem:
        with contextlib.suppress(OSError):
            shutil.rmtree(fresh)
        raise failed(f"tools/{name}", problem) from None
