"""`mur config set`: one key of the project's or the operator's `config.yaml`.

CLI reference, *mur config*; spec/registry.md 21.
"""

import os
from pathlib import Path
from typing import Final

import click

from murmur.core.diagnostics import MurmurError, error
from murmur.core.home import open_home
from murmur.core.streams import complain, emit

SETTABLE: Final = (
    "registry.index_url",
    "inference.provider",
    "inference.model",
    "inference.api_key",
    "inference.endpoint",
)
GLOBAL_FILE: Final = "~/.murmur/config.yaml"
PROJECT_FILE: Final = "./.murmur/config.yaml"
_CREDENTIAL: Final = "credentials."


@click.group("config")
def command() -> None:
    """Write single keys of the configuration files."""


@command.command("set")
@click.argument("key")
@click.argument("value")
@click.option("--global", "-g", "into_global", is_flag=True, help=f"Write {GLOBAL_FILE} instead.")
def set_key(key: str, value: str, into_global: bool) -> None:
    """Set KEY to VALUE in the project's file, ./.murmur/config.yaml."""
    from murmur.core.config import is_literal_key, project_file
    from murmur.core.config_file import bad, change

    block, name = _settable(key, into_global)
    path = open_home(os.environ).config if into_global else project_file(Path.cwd())
    if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
        raise bad(path, f"the value of {key} is not UTF-8")
    if key == "inference.api_key":
        if not into_global and is_literal_key(value):
            complain(
                f"warning: writing a literal inference.api_key to {PROJECT_FILE} has no effect; "
                f"inference.api_key is always read from the global config ({GLOBAL_FILE}) — this "
                "project-level value will be ignored when resolving effective config"
            )
        complain(
            "note: mur run takes providers' keys from credentials.<NAME>; set one with "
            "`mur config set -g credentials.<NAME> <key>`"
        )
    change(path, block, name, lambda _: value)
    emit(f"Set {key} in {GLOBAL_FILE if into_global else PROJECT_FILE}")


def _settable(key: str, into_global: bool) -> tuple[str, str]:
    """The block and the key within it. Raises E-CFG-002."""
    from murmur.core.config import CREDENTIAL_NAME

    if key.startswith(_CREDENTIAL):
        name = key.removeprefix(_CREDENTIAL)
        if CREDENTIAL_NAME.fullmatch(name) is None:
            raise _unsupported(key)
        if not into_global:
            raise error(
                "E-CFG-002",
                problem=f"'{key}' can only be set in the global config",
                hint=f"credentials are read from the global config ({GLOBAL_FILE}) only; run "
                f"`mur config set -g {key} <key>`",
            )
        return "credentials", name
    if key not in SETTABLE:
        raise _unsupported(key)
    block, _, name = key.partition(".")
    return block, name


def _unsupported(key: str) -> MurmurError:
    return error(
        "E-CFG-002",
        problem=f"unsupported config key '{key}'",
        hint=f"supported keys: {', '.join(SETTABLE)}, {_CREDENTIAL}<NAME>",
    )
