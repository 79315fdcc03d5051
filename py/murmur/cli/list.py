"""`mur list`: what is installed, in the project's store, in the global one, or in both."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from murmur.core.home import Home, home_path
from murmur.core.streams import emit

if TYPE_CHECKING:
    from murmur.store.listing import Held
    from murmur.store.stores import Store

EMPTY = "No artifacts installed."


@click.command("list")
@click.option("-g", "machine", is_flag=True, help="List the global store.")
@click.option("--all", "both", is_flag=True, help="List both stores, with a STORE column.")
@click.option(
    "--contract",
    "prefix",
    metavar="PREFIX",
    help="Only artifacts that name a WIT interface starting with PREFIX.",
)
def command(machine: bool, both: bool, prefix: str | None) -> None:
    """List installed artifacts in the project or global store."""
    from murmur.cli.columns import columns
    from murmur.store.listing import listing

    found = [held for store in _stores(machine, both) for held in listing(store)]
    if prefix is not None:
        found = [held for held in found if held.matching(prefix)]
    if not found:
        emit(EMPTY)
        return
    if both:
        found.sort(key=lambda held: held.name)
    head = ["NAME", "VERSION", "RUNTIME", "PLATFORMS"]
    head = ["STORE", *head] if both else head
    head = head if prefix is None else [*head, "CONTRACTS"]
    for line in columns([head, *(_row(held, both, prefix) for held in found)]):
        emit(line)


def _stores(machine: bool, both: bool) -> "list[Store]":
    """The stores to list: outside a project, and with -g, the global one alone."""
    from murmur.store.stores import global_store, project_store

    folder = Path.cwd()
    project = next((at for at in (folder, *folder.parents) if (at / "murmur.yaml").is_file()), None)
    stores = []
    if project is not None and (both or not machine):
        stores.append(project_store(project))
    if both or not stores:
        stores.append(global_store(Home(home_path(os.environ)).artifacts))
    return stores


def _row(held: "Held", both: bool, prefix: str | None) -> list[str]:
    from murmur.cli.columns import NOTHING

    platforms = ", ".join(held.platforms) or NOTHING
    row = [held.name.text, held.version, held.role or NOTHING, platforms]
    row = [held.store, *row] if both else row
    return row if prefix is None else [*row, ", ".join(held.matching(prefix))]
