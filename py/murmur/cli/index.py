"""`mur index`: the artifact index of a release's `.mur.zip` files."""

import click

from murmur.core.streams import emit
from murmur.store.index import INDEX_FILE


@click.command("index")
@click.argument("folder", metavar="DIR")
@click.option(
    "--repo", metavar="OWNER/REPO", required=True, help="The repository the release belongs to."
)
@click.option("--release", metavar="TAG", required=True, help="The tag of the release.")
@click.option("--merge", metavar="INDEX", help="An earlier index whose other versions are kept.")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    default=INDEX_FILE,
    show_default=True,
    help="The file to write; replaced whole.",
)
def command(folder: str, repo: str, release: str, merge: str | None, output: str) -> None:
    """Write the artifact index for one release's .mur.zip assets, which are in DIR."""
    from murmur.store.indexing import write_index

    emit(write_index(folder, repo, release, output, merge).line)
