"""Declared fields that this build does not act on yet, refused instead of ignored.

A manifest is an audit record: a hook that never fires, a folder that is not read-only, or a door
that asks for no token would make it lie. Each later part of the runtime takes its rows out of
this table; when it is empty, the module goes.
"""

from collections.abc import Iterator

from murmur.core.diagnostics import MurmurError, error
from murmur.manifest.capsule import Capsule


def refuse_unserved(capsule: Capsule, path: str) -> None:
    """Raises E-IO-003 naming the first field, in manifest order, that is not served yet."""
    for field in unserved(capsule):
        raise unserved_refusal(field, path)


def unserved_refusal(field: str, path: str) -> MurmurError:
    """E-IO-003 for one such field; `--explain-scope` and doctor report what a run is refused."""
    return error(
        "E-IO-003",
        what=f"{path}: {field}",
        reason="this build of mur does not serve it yet, and will not run as if it did",
        hint="leave the field out, or use a mur that serves it",
    )


def unserved(capsule: Capsule) -> Iterator[str]:
    """The dotted fields of `capsule` that nothing acts on yet."""
    yield from _capabilities(capsule)
    yield from _inference(capsule)


def _capabilities(capsule: Capsule) -> Iterator[str]:
    granted = capsule.capabilities
    if granted.harness is not None:
        yield "capabilities.harness"


def _inference(capsule: Capsule) -> Iterator[str]:
    inference = capsule.inference
    if inference is None:
        return
    if inference.transport == "process":
        yield "inference.transport: process"
