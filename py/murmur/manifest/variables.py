"""Names of environment variables: patterns, what never reaches a capsule, what looks secret.

The one decision behind stripping a command's environment, E-CAP-016 and W-SEC-024.
spec/containment.md 22; seeds/manifest-schema.md, `capabilities`.
"""

import re
from collections.abc import Iterable
from typing import Final

CREDENTIAL_PATTERNS: Final = (
    "ANTHROPIC_API_KEY",
    "OPENAI_API_KEY",
    "GOOGLE_API_KEY",
    "HUGGING_FACE_HUB_TOKEN",
    "NEXUS_API_KEY",
    "AWS_*",
    "GITHUB_TOKEN",
    "GH_TOKEN",
    "DOCKER_*",
    "KUBECONFIG",
    "NPM_TOKEN",
    "PYPI_TOKEN",
    "CARGO_REGISTRY_TOKEN",
    "*_API_KEY",
)
BACKSTOP: Final = "credential backstop"
STRIP: Final = "capabilities.shell.strip_env"

# A name that holds one of these, or one of whose segments is one of those, looks secret.
SECRET_PARTS: Final = ("api_key", "token", "secret", "password")
SECRET_SEGMENTS: Final = (
    "KEY",
    "KEYS",
    "PASS",
    "PASSWD",
    "PASSPHRASE",
    "CREDENTIAL",
    "CREDENTIALS",
    "CREDS",
    "DSN",
    "AUTH",
    "PAT",
    "COOKIE",
)
_SEPARATOR: Final = re.compile(r"[^A-Za-z0-9]+")


def matches(pattern: str, name: str) -> bool:
    """Whether a name matches `exact`, `PRE*`, `*SUF` or `*MID*`; case-sensitive."""
    front, back = pattern.startswith("*"), pattern.endswith("*")
    if front and back:
        return pattern.strip("*") in name
    if front:
        return name.endswith(pattern[1:])
    if back:
        return name.startswith(pattern[:-1])
    return name == pattern


def refused_by(name: str, strip_env: Iterable[str] = ()) -> tuple[str, str] | None:
    """(pattern, its source) that keeps a variable out, the backstop tried first; None if none."""
    for source, patterns in ((BACKSTOP, CREDENTIAL_PATTERNS), (STRIP, tuple(strip_env))):
        for pattern in patterns:
            if matches(pattern, name):
                return pattern, source
    return None


def looks_secret(name: str) -> bool:
    """Whether a name is shaped like a credential's, in any case."""
    lowered = name.lower()
    if any(part in lowered for part in SECRET_PARTS):
        return True
    return any(segment.upper() in SECRET_SEGMENTS for segment in _SEPARATOR.split(name))
