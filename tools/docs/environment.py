"""docs/reference/environment.md, from core.variables."""

from murmur.core.variables import GIVEN, READ
from tools.docs.markdown import MADE, page, table


def environment_page() -> str:
    """What mur reads, and what it hands over."""
    return page(
        "Environment variables",
        MADE,
        [
            "## Read by mur",
            "",
            *table(("Variable", "Meaning"), ((f"`{v.name}`", v.meaning) for v in READ)),
            "",
            "A name in `gateway.api_key: ${NAME}` is read when `credentials.NAME` of "
            "`~/.murmur/config.yaml` holds nothing; `mur run` also loads the workspace's `.env`, "
            "which never overrides a variable that is set. Names in `capabilities.env.allow` are "
            "copied from the same place.",
        ],
        [
            "## Handed to guests and commands",
            "",
            *table(
                ("Variable", "Given to", "Value"),
                ((f"`{v.name}`", v.given_to, v.meaning) for v in GIVEN),
            ),
            "",
            "No key of a provider is in any environment. What the manifest allows is added; a name "
            "that begins with `MURMUR_` is always the runtime's own.",
        ],
    )
