"""`mur schema`: the JSON Schema of a manifest, for editors. An addition of this project."""

import json

import click

from murmur.core.streams import emit


@click.command("schema")
@click.option("--artifact", is_flag=True, help="The manifest inside an artifact, not a capsule's.")
def command(artifact: bool) -> None:
    """Print the JSON Schema of murmur.yaml, for editors that complete and check it."""
    from murmur.manifest.schema import artifact_schema, capsule_schema

    schema = artifact_schema() if artifact else capsule_schema()
    emit(json.dumps(schema, indent=2, ensure_ascii=False))
