"""`mur beta list`, `enable`, `disable`: opting in to features that this build hides.

CLI reference, *mur beta*; spec/registry.md 23.
"""

import os
from pathlib import Path

import click

from murmur.core.beta import FEATURES
from murmur.core.home import open_home
from murmur.core.streams import complain, emit


@click.group("beta")
def command() -> None:
    """Manage opt-in beta features."""


@command.command("list")
def list_features() -> None:
    """List the beta features of this build, and which are enabled."""
    from murmur.core.config import read_config

    config = read_config(open_home(os.environ), Path.cwd())
    for line in config.warnings:
        complain(line)
    if not FEATURES:
        emit("This build has no beta features.")
        return
    width = max(21, *(len(name) + 2 for name in FEATURES))
    emit("Beta features compiled into this build:\n")
    for name, purpose in FEATURES.items():
        state = "enabled" if name in config.beta else "disabled"
        emit(f"  {name:<{width}}{state:<10}{purpose}")
    emit("\nUse `mur beta enable <name>` or `mur beta disable <name>` to opt in or out.")


@command.command("enable")
@click.argument("feature")
def enable(feature: str) -> None:
    """Add FEATURE to the enabled list of ~/.murmur/config.yaml."""
    _check(feature)
    if feature not in FEATURES:
        complain(
            f"Warning: '{feature}' is not compiled into this build. The flag will be saved\n"
            "but has no effect until a build that includes it is installed."
        )
    if _change(feature, enabled=True):
        emit(f"Beta feature '{feature}' enabled.")
    else:
        emit(f"Beta feature '{feature}' is already enabled.")


@command.command("disable")
@click.argument("feature")
def disable(feature: str) -> None:
    """Remove FEATURE from the enabled list of ~/.murmur/config.yaml."""
    _check(feature)
    if _change(feature, enabled=False):
        emit(f"Beta feature '{feature}' disabled.")
    else:
        emit(f"Beta feature '{feature}' is already disabled.")


def _check(feature: str) -> None:
    """A name that no list could hold usefully is a usage error."""
    if not feature.strip() or not feature.isprintable():
        raise click.BadParameter("it is no feature's name", param_hint="FEATURE")


def _change(feature: str, *, enabled: bool) -> bool:
    """Whether the operator's list had to be changed. Raises E-IO-003."""
    from murmur.core.config import read_global_config
    from murmur.core.config_file import change

    home = open_home(os.environ)
    read_global_config(home)  # refuses a file that no later command could read

    def decide(present: object) -> list[str] | None:
        names = list(present) if isinstance(present, list) else []
        if (feature in names) is enabled:
            return None
        return [*names, feature] if enabled else [name for name in names if name != feature]

    return change(home.config, "beta", "enabled", decide)
