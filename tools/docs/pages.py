"""All generated pages, by their path in the repository."""

from tools.docs.commands import cli_page
from tools.docs.diagnostics import diagnostics_page
from tools.docs.environment import environment_page
from tools.docs.manifest import manifest_page


def pages() -> dict[str, str]:
    """The text of every page as it must stand in the repository."""
    return {
        "docs/reference/cli.md": cli_page(),
        "docs/reference/diagnostics.md": diagnostics_page(),
        "docs/reference/environment.md": environment_page(),
        "docs/reference/manifest.md": manifest_page(),
    }
