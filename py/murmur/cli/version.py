"""`mur version`: what this mur is, what it serves, and which of its outputs a program may parse.

Other programs ask this before everything else, so it imports next to nothing.
"""

import json
from collections.abc import Iterable

import click

from murmur.core.streams import emit
from murmur.core.version import VERSION, build_commit
from murmur.store.levels import Level, served_level


@click.command("version")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(as_json: bool) -> None:
    """Print this mur's version, the WIT level it serves and that level's package versions."""
    level = served_level()
    emit(_object(level) if as_json else _text(level))


def machine_readable() -> dict[str, int]:
    """Every machine-readable output of the registered commands, ascending, and its number."""
    from murmur.cli.main import COMMANDS

    numbers: dict[str, int] = {}
    for registered in COMMANDS.values():
        numbers.update(registered.outputs)
    return dict(sorted(numbers.items()))


def _object(level: Level) -> str:
    facts = {
        "mur_version": VERSION,
        "commit": build_commit(),
        "wit_level": level.number,
        "packages": [
            {"package": package, "version": version} for package, version in level.packages.items()
        ],
        "commands": machine_readable(),
    }
    return json.dumps(facts, indent=2, ensure_ascii=False)


def _text(level: Level) -> str:
    rows = [("PACKAGE", "VERSION"), *level.packages.items()]
    return "\n".join(
        [
            f"mur {VERSION}",
            f"commit {build_commit() or 'unknown'}",
            f"WIT level {level.number}",
            "",
            *_columns(rows),
        ]
    )


def _columns(rows: Iterable[tuple[str, str]]) -> list[str]:
    rows = list(rows)
    width = max(len(first) for first, _ in rows) + 2
    return [f"{first:<{width}}{second}" for first, second in rows]
