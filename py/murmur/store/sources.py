"""Which source serves a scope, with which token, and the refusals when none does or none answered.

A scope is its GitHub owner, lowercased; `murmur` is built in, `local` has no source, and no owner
can claim either. spec/registry.md 1, 12, 13 and 21.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from murmur.core.config import Source
from murmur.core.diagnostics import MurmurError, error
from murmur.store.github import API, GitHub
from murmur.store.names import LOCAL_SCOPE, MURMUR_SCOPE, FullName
from murmur.store.platforms import host_platform
from murmur.store.transport import Unanswered

MURMUR_REPOSITORY: Final = "murmur-nexus/default-artifacts"
_REFERENCE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_WORD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HEADER_TEXT: Final = re.compile(r"[\x21-\x7e]+")


def repository_scope(repository: str) -> str:
    """The scope under which the artifacts of `owner/name` are installed.

    Raises E-REG-006 for an owner whose name is a reserved scope.
    """
    if repository.lower() == MURMUR_REPOSITORY:
        return MURMUR_SCOPE
    scope = repository.partition("/")[0].lower()
    if scope in (LOCAL_SCOPE, MURMUR_SCOPE):
        reason = f"no owner can have the scope '{scope}', which is reserved"
        raise unanswered(f"of {repository}", f"github:{repository}", Unanswered(reason))
    return scope


class Sources:
    """The configured sources, by scope; each repository is one client, asked once for a thing."""

    def __init__(self, configured: Sequence[Source], environ: Mapping[str, str]) -> None:
        self._configured = tuple(configured)
        self._environ = environ
        self._base = environ.get("MUR_GITHUB_API_BASE", "") or API
        self._fallback = environ.get("GITHUB_TOKEN", "").strip()
        self._clients: dict[str, GitHub] = {}

    def serving(self, scope: str) -> GitHub | None:
        """The source of a scope; None when none serves it. The first entry of two wins."""
        if scope == LOCAL_SCOPE:
            return None
        if scope == MURMUR_SCOPE:
            return self.repository(MURMUR_REPOSITORY)
        for source in self._configured:
            if _owner(source.repository) == scope:
                return self.repository(source.repository)
        return None

    def shadowed(self) -> list[tuple[str, str]]:
        """Each repository that is never asked, after the one before it that serves its scope."""
        first: dict[str, str] = {}
        found = []
        for source in self._configured:
            scope, repository = _owner(source.repository), source.repository
            if scope == MURMUR_SCOPE or repository.lower() == MURMUR_REPOSITORY:
                continue
            served = first.setdefault(scope, repository)
            if served.lower() != repository.lower():
                found.append((served, repository))
        return found

    def repository(self, repository: str) -> GitHub:
        """The client of one repository, with its entry's token, else GITHUB_TOKEN."""
        key = repository.lower()
        if key not in self._clients:
            self._clients[key] = GitHub(repository, self.token(key), self._base)
        return self._clients[key]

    def token(self, repository: str) -> str | None:
        """What is sent to a repository. Raises E-REG-006 for what no header can hold."""
        key = repository.lower()
        written = (s.token for s in self._configured if s.repository.lower() == key)
        token = next((found for found in map(self._resolved, written) if found), None)
        token = token or self._fallback
        if token and not _HEADER_TEXT.fullmatch(token):
            reason = "its token holds what no header can; nothing was sent"
            raise unanswered(f"of {repository}", f"github:{repository}", Unanswered(reason))
        return token or None

    def _resolved(self, text: str | None) -> str | None:
        """What a `token:` means: `${NAME}` that variable, `WORD` that variable else itself."""
        text = (text or "").strip()
        reference = _REFERENCE.fullmatch(text)
        if reference is not None:
            return self._environ.get(reference[1], "").strip() or None
        if _WORD.fullmatch(text):
            return self._environ.get(text, "").strip() or text
        return text or None


def _owner(repository: str) -> str:
    return repository.partition("/")[0].lower()


def unserved(name: FullName, version: str | None, others: Sequence[str] = ()) -> MurmurError:
    """E-REG-001 for an artifact that no store has for this host and whose scope no source serves.

    No version means the newest one. `others` are the platforms that the global store has it for.
    """
    artifact = f"{name}@{version}" if version else name.text
    if others:
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
    else:
        hint = "name a repository of that owner under registry.sources in ~/.murmur/config.yaml"
    return error(
        "E-REG-001",
        artifact=artifact,
        reason=f"is not in the store, and no source serves the '{name.scope}' scope",
        hint=hint,
    )


def absent(artifact: object, source: GitHub, reason: str) -> MurmurError:
    """E-REG-001: the source that was asked says that it has no such thing."""
    hint = (
        f"`mur search` lists what an index offers; releases: https://github.com/{source.repository}"
    )
    if not source.has_token:
        hint += " (if that is private, set GITHUB_TOKEN or the source's token:)"
    return error("E-REG-001", artifact=artifact, reason=reason, hint=hint)


def unanswered(artifact: object, label: str, failure: Unanswered) -> MurmurError:
    """E-REG-006: the source did not answer, so whether it has the artifact is unknown."""
    hint = "try again later, or install the artifact's .mur.zip file"
    if failure.denied:
        hint = "set GITHUB_TOKEN, or the source's token: in ~/.murmur/config.yaml"
    return error("E-REG-006", details=(f"{label}: {failure}",), artifact=artifact, hint=hint)
