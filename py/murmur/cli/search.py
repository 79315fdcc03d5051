"""`mur search`: artifacts of an index that match a keyword, each at the version for this mur."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from murmur.core.home import Home, home_path
from murmur.core.streams import complain, emit

if TYPE_CHECKING:
    from murmur.store.searching import Offer, Result

NONE_FOUND = "No results found."


def refuse_registry(_: click.Context, __: click.Parameter, value: str | None) -> None:
    """`--registry` is gone: a usage error with a hint at what replaced it."""
    if value is not None:
        raise click.UsageError(
            "--registry is no longer an option\n  hint: name the index to search with --index"
        )


@click.command("search")
@click.argument("query")
@click.option(
    "--index",
    "place",
    metavar="PATH|URL|local",
    help="The index to search; registry.index_url or the default artifacts' without it.",
)
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="How many rows to show at most.",
)
@click.option(
    "--registry",
    is_flag=False,
    flag_value="",
    hidden=True,
    expose_value=False,
    callback=refuse_registry,
)
def command(query: str, place: str | None, limit: int) -> None:
    """Search an artifact index for artifacts matching a keyword ("" matches all)."""
    from murmur.cli.columns import columns
    from murmur.store.platforms import host_platform
    from murmur.store.searching import search

    results = search(_offers(place), query, host_platform(), limit)
    if not results:
        emit(NONE_FOUND)
        return
    head = ["NAME", "VERSION", "RUNTIME", "DESCRIPTION"]
    for line in columns([head, *(_row(result) for result in results)]):
        emit(line)
    notes = [result.note for result in results if result.note is not None]
    if notes:
        emit("")
    for note in notes:
        emit(note)


def _offers(place: str | None) -> "list[Offer]":
    """What is searched. Raises E-IO-003, E-IO-004 and E-IDX-002."""
    from murmur.store.searching import LOCAL, offers_in, offers_of, read_index_at

    if place is None:
        place = _configured()
    elif place == LOCAL:
        from murmur.store.stores import global_store

        return offers_in(global_store(Home(home_path(os.environ)).artifacts))
    return offers_of(read_index_at(place))


def _configured() -> str:
    """Where the index lies that the configuration names, or the default one."""
    from murmur.core.config import read_config
    from murmur.store.searching import default_index

    config = read_config(Home(home_path(os.environ)), Path.cwd())
    for line in config.warnings:
        complain(line)
    return config.index_url or default_index()


def _row(result: "Result") -> list[str]:
    from murmur.cli.columns import NOTHING

    offer = result.offer
    description = " ".join((offer.description or "").split())
    return [
        offer.name,
        result.choice.version or NOTHING,
        offer.role or NOTHING,
        description or NOTHING,
    ]
