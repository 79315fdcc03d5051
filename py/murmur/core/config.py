"""The global configuration, `~/.murmur/config.yaml`, as far as it shapes a launch.

spec/registry.md 21; design/decisions.md 5. Credentials are read by whoever needs one, when it is
needed.
"""

import dataclasses
from collections.abc import Mapping

from murmur.core.diagnostics import MurmurError, error
from murmur.core.home import Home

_LARGEST = 1 << 20


@dataclasses.dataclass(frozen=True, slots=True)
class GlobalConfig:
    """`cgroup_optional`: the operator lets commands run without a cgroup scope on this host."""

    cgroup_optional: bool = False


def read_global_config(home: Home) -> GlobalConfig:
    """The operator's configuration; defaults without a file.

    Raises E-IO-003 for a file that cannot be read or a value that is none of the allowed ones.
    """
    import yaml

    try:
        with home.config.open("rb") as file:
            data = file.read(_LARGEST + 1)
    except FileNotFoundError:
        return GlobalConfig()
    except OSError as failure:
        raise _bad(home, str(failure.strerror)) from None
    if len(data) > _LARGEST:
        raise _bad(home, f"it is larger than {_LARGEST} bytes")
    try:
        document = yaml.safe_load(data)
    except (yaml.YAMLError, ValueError, RecursionError):
        # The parser's own words would quote the file, and the file may hold keys.
        raise _bad(home, "it is not valid YAML") from None
    if document is None:
        return GlobalConfig()
    if not isinstance(document, Mapping):
        raise _bad(home, "it is not a mapping")
    sandbox = document.get("sandbox")
    if sandbox is None:
        return GlobalConfig()
    value = sandbox.get("cgroup", "required") if isinstance(sandbox, Mapping) else None
    if value not in ("required", "optional"):
        raise _bad(home, "sandbox.cgroup is neither required nor optional")
    return GlobalConfig(cgroup_optional=value == "optional")


def _bad(home: Home, reason: str) -> MurmurError:
    return error(
        "E-IO-003", what=str(home.config), reason=reason, hint="mend the file, or remove it"
    )
