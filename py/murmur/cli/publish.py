"""`mur publish`: a built archive goes into the global store."""

import os

import click

from murmur.core.home import open_home
from murmur.core.streams import emit


def refuse_registry(_: click.Context, __: click.Parameter, value: str | None) -> None:
    """`--registry` is gone: a usage error with a hint at what replaced it."""
    if value is not None:
        raise click.UsageError(
            "--registry is no longer an option\n"
            "  hint: mur publish writes to the global store, ~/.murmur/artifacts"
        )


@click.command("publish")
@click.argument("artifact_path", required=False)
@click.option(
    "--platform", metavar="OS-ARCH", help="Platform of a native artifact; this host's by default."
)
@click.option(
    "--registry",
    is_flag=False,
    flag_value="",
    hidden=True,
    expose_value=False,
    callback=refuse_registry,
)
def command(artifact_path: str | None, platform: str | None) -> None:
    """Publish a built artifact into the global store, as local/<name>."""
    from murmur.store.publish import default_archive, publish
    from murmur.store.stores import global_store

    home = open_home(os.environ)
    path = artifact_path if artifact_path is not None else default_archive("")
    published = publish(path, global_store(home.artifacts), platform)
    if published.detected is not None:
        emit(f"Platform: {published.detected} (auto-detected)")
    emit(f"Published {published.artifact.reference}")
