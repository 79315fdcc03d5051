"""The environment of a command. spec/sessions.md 14.2, spec/containment.md 22."""

from collections.abc import Iterable, Mapping
from typing import Final

BASELINE: Final = (
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "LANG",
    "LC_ALL",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "TERM",
)

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
    """(pattern, its source) that keeps a variable out, the backstop tried first; None if none does.

    The one decision for stripping, for E-CAP-016 and for W-SEC-024.
    """
    for source, patterns in ((BACKSTOP, CREDENTIAL_PATTERNS), (STRIP, tuple(strip_env))):
        for pattern in patterns:
            if matches(pattern, name):
                return pattern, source
    return None


def command_environment(
    host: Mapping[str, str],
    murmur: Mapping[str, str],
    *,
    home: str,
    tmpdir: str,
    runtime_dir: str,
    baseline_env: Iterable[str] = (),
    strip_env: Iterable[str] = (),
) -> dict[str, str]:
    """The variables of one session's commands.

    `host` is the runtime's environment, `murmur` the runtime's own MURMUR_* values, `baseline_env`
    patterns of further host variables, `strip_env` patterns to remove.
    """
    baseline, strip = tuple(baseline_env), tuple(strip_env)
    result = {name: host[name] for name in BASELINE if name in host}
    result.update(murmur)
    for name in host:
        if not name.startswith("MURMUR_") and any(matches(each, name) for each in baseline):
            result[name] = host[name]
    result = {name: value for name, value in result.items() if refused_by(name, strip) is None}
    result.update(
        HOME=home,
        USERPROFILE=home,
        TMPDIR=tmpdir,
        TMP=tmpdir,
        TEMP=tmpdir,
        MURMUR_RUNTIME_DIR=runtime_dir,
    )
    return result
