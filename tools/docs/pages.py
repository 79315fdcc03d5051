"""All generated pages, by their path in the repository."""

from pathlib import Path

from tools.docs.artifacts import artifacts_page
from tools.docs.commands import cli_page
from tools.docs.diagnostics import diagnostics_page
from tools.docs.environment import environment_page
from tools.docs.guide import create_manifest_skill
from tools.docs.manifest import manifest_page


def pages(root: Path) -> dict[str, str]:
    """The text of every page as it must stand in the checkout at `root`."""
    return {
        "docs/reference/artifacts.md": artifacts_page(root),
        "docs/reference/cli.md": cli_page(),
        "docs/reference/diagnostics.md": diagnostics_page(),
        "docs/reference/environment.md": environment_page(),
        "docs/reference/manifest.md": manifest_page(),
        "py/artifacts/skill-create-manifest/skill.md": create_manifest_skill(),
    }
