"""One search: the index, and what of it fits the query (spec 16.3, spec/registry.md 14).

The input's member is `index`, as the command's flag; `registry` is what it was called before.
"""

from pathlib import Path
from typing import Any

from murmur_tooling.members import Members, ToolError, invalid, read_plain
from murmur_tooling.outcome import Notes, Outcome, passed, refused

from murmur.store.index import BadIndex, Index, IndexArtifact, mentions, read_index
from registry_search.fetching import DEFAULT, Get, index_bytes

MOST_RESULTS = 100
VERSIONS_SHOWN = 5


def search(data: str | None, folder: Path, get: Get) -> Outcome:
    """Search an index. Never raises for what an input or an index may hold."""
    metadata: Notes = (("state_effect", "read"),)
    try:
        given = read_plain(data, ("query", "index", "registry", "limit"))
        query, source = given.text("query"), _source(given)
        most = given.whole("limit", 10, 1, MOST_RESULTS)
        index = _read(source, index_bytes(source, folder, get))
    except ToolError as problem:
        return refused(problem, metadata)
    found = [
        artifact
        for artifact in sorted(index.artifacts, key=lambda each: each.name)
        if mentions(query, (str(index.full_name(artifact)), artifact.description, *artifact.tags))
    ]
    result = {
        "index": source,
        "results": [_shown(index, artifact) for artifact in found[:most]],
        "matches": len(found),
    }
    metadata += (("resource_id", f"index:{source}"),)
    summary = f"{len(found)} artifacts match {query!r}"
    return passed(summary, result, metadata, len(found) > most)


def _source(given: Members) -> str:
    if given.given("index") and given.given("registry"):
        raise invalid("index and registry are given; registry is index's older name, give one")
    source = given.text("registry" if given.given("registry") else "index", DEFAULT).strip()
    if not source:
        raise invalid("index is empty; it must be a URL or a file, or be left out")
    return source


def _read(source: str, data: bytes) -> Index:
    try:
        return read_index(data)
    except BadIndex as problem:
        raise ToolError("bad_index", f"{source} is no artifact index: {problem}") from None


def _shown(index: Index, artifact: IndexArtifact) -> dict[str, Any]:
    newest = artifact.versions[0]
    shown: dict[str, Any] = {
        "name": str(index.full_name(artifact)),
        "version": newest.version,
        "runtime": artifact.role,
        "description": artifact.description,
        "tags": list(artifact.tags),
        "platforms": sorted(each for each in newest.platforms if each is not None),
        "interfaces": [*newest.contracts.exports, *newest.contracts.imports],
    }
    if newest.built_at_level is not None:
        shown["built_at_level"] = newest.built_at_level
    older = [each.version for each in artifact.versions[1 : VERSIONS_SHOWN + 1]]
    return {**shown, "older_versions": older} if older else shown
