"""`mur token`: prints one door token of a running capsule, from its record. CLI reference."""

import click

from murmur.core.diagnostics import error
from murmur.core.streams import emit


@click.command("token")
@click.argument("session", default="@1")
@click.option(
    "--credential",
    default="operator",
    show_default=True,
    help="operator, or a name that network.authentication.credentials declares.",
)
def command(session: str, credential: str) -> None:
    """Print a door token of a running capsule."""
    from murmur.cli.reaching import named_session

    record = named_session(session).record
    if record.door_token is None:
        raise error("E-RUN-048", session=record.session_id)
    minted = {"operator": record.door_token, **record.credentials}
    if credential not in minted:
        raise error(
            "E-RUN-049", session=record.session_id, name=credential, minted=", ".join(minted)
        )
    emit(minted[credential])
