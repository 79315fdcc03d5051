"""Which source serves a scope, and the refusals when none does or none answered.

A scope is its GitHub owner, lowercased; `murmur` is built in, `local` has no source. Fetching
over the network is not built yet: a source that exists is reported as not answering (E-REG-006),
never as not having the artifact. spec/registry.md 12, 13 and 21.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from murmur.core.config import merge, read_file
from murmur.core.diagnostics import MurmurError, error
from murmur.store.names import LOCAL_SCOPE, MURMUR_SCOPE, FullName
from murmur.store.platforms import host_platform
from murmur.store.references import Release

MURMUR_REPOSITORY: Final = "murmur-nexus/default-artifacts"
NOT_FETCHING: Final = "this mur does not fetch from sources yet"


def source_repositories(home_config: Path, project_config: Path) -> tuple[str, ...]:
    """The repositories of `registry.sources`, global first; a project's entry replaces by name.

    Raises E-IO-003 for a file that cannot be read or parsed.
    """
    config = merge(read_file(home_config), read_file(project_config))
    return tuple(source.repository for source in config.sources)


def scope_repository(scope: str, repositories: tuple[str, ...]) -> str | None:
    """The repository that serves a scope; None when none does. The first of two wins."""
    if scope == LOCAL_SCOPE:
        return None
    if scope == MURMUR_SCOPE:
        return MURMUR_REPOSITORY
    for repository in repositories:
        if repository.partition("/")[0].lower() == scope:
            return repository
    return None


def unserved(
    name: FullName, version: str | None, repository: str | None, others: Sequence[str] = ()
) -> MurmurError:
    """The refusal of an artifact that no store has for this host; no version means the newest one.

    `others` are the platforms that the global store does have it for.
    """
    artifact = f"{name}@{version}" if version else name.text
    if others and repository is None:
        return error(
            "E-REG-001",
            artifact=artifact,
            reason=f"is in the store for {', '.join(others)} only, and this host is "
            f"{host_platform()}",
            hint="build it for this host, and publish or install that build",
        )
    if name.scope == LOCAL_SCOPE:
        hint = "a local/ artifact is installed from its .mur.zip file: "
        hint += f"mur install ./{name.name}-{version or '<version>'}.mur.zip"
    elif repository is None:
        hint = "name a repository of that owner under registry.sources in ~/.murmur/config.yaml"
    else:
        return error(
            "E-REG-006",
            details=(f"github:{repository}: {NOT_FETCHING}",),
            artifact=artifact,
            hint=f"install its .mur.zip file, which makes it local/{name.name}",
        )
    return error(
        "E-REG-001",
        artifact=artifact,
        reason=f"is not in the store, and no source serves the '{name.scope}' scope",
        hint=hint,
    )


def unfetched_release(release: Release) -> MurmurError:
    """The refusal of a `github:` reference."""
    return error(
        "E-REG-006",
        details=(f"github:{release.owner}/{release.repository}: {NOT_FETCHING}",),
        artifact=release,
        hint="download the release's .mur.zip files and install them by path",
    )
