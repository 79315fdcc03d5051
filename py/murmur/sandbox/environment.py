"""The environment of a command. spec/sessions.md 14.2, spec/containment.md 22."""

from collections.abc import Iterable, Mapping
from typing import Final

from murmur.manifest.variables import matches, refused_by

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
