"""`mur doctor`: checks the project (or the formation directory) of the current directory."""

import os
from pathlib import Path

import click


@click.command("doctor")
@click.option(
    "--bind",
    default="127.0.0.1",
    show_default=True,
    help="The address that mur run --bind would bind the capsule's door on.",
)
def command(bind: str) -> int:
    """Check every artifact declared in murmur.yaml against the project and global stores."""
    from murmur.doctor.diagnose import diagnose

    return diagnose(Path.cwd(), bind, os.environ)
