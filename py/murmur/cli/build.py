"""`mur build`: an artifact's folder, or a skill, becomes a `.mur.zip`."""

import os

import click

from murmur.core.diagnostics import error
from murmur.core.streams import emit, report


@click.command("build")
@click.argument("arguments", metavar="[NAME] [SOURCE]", nargs=-1)
@click.option("--output", metavar="PATH|DIR", help="Where to write the archive.")
@click.option("--skill", is_flag=True, help="Package a skill: a folder or .zip with a SKILL.md.")
@click.option("--version", metavar="VERSION", help="Version of a skill's generated manifest.")
@click.option("--summary", metavar="TEXT", help="Description of a skill.")
def command(
    arguments: tuple[str, ...],
    output: str | None,
    skill: bool,
    version: str | None,
    summary: str | None,
) -> None:
    """Build a .mur.zip from a folder with a murmur.yaml, or from a skill."""
    from murmur.store.build import build
    from murmur.store.skill import build_skill, is_skill_folder

    if skill:
        name, source = _skill_arguments(arguments)
        built = build_skill(source, name=name, version=version, summary=summary, output=output)
    else:
        if len(arguments) > 1:
            raise click.UsageError(f"unexpected argument {arguments[1]!r}")
        source = arguments[0] if arguments else "."
        if is_skill_folder(source):
            built = build_skill(source, version=version, summary=summary, output=output)
        elif version is not None or summary is not None:
            raise click.UsageError("--version and --summary belong to skill packaging (--skill)")
        else:
            built = build(source, output)
    for diagnostic in built.warnings:
        report(diagnostic)
    emit(built.line)


def _skill_arguments(arguments: tuple[str, ...]) -> tuple[str | None, str]:
    """The explicit name, if any, and the input path. spec/registry.md 6.

    Raises E-BLD-001 for a scoped name.
    """
    if not arguments:
        return None, "."
    first, rest = arguments[0], arguments[1:]
    if "/" in first and not os.path.exists(first):
        raise error(
            "E-BLD-001",
            name=first,
            reason="a name holds no `/`: the scope comes from where the artifact is installed from",
            hint="pass --skill with the bare name, or the path of a folder that exists",
        )
    is_path = "/" in first or "\\" in first or first.startswith(".")
    if not rest and first.lower().endswith(".zip") and os.path.isfile(first):
        is_path = True
    if len(rest) > (0 if is_path else 1):
        raise click.UsageError(f"unexpected argument {rest[-1]!r}")
    if is_path:
        return None, first
    return first, rest[0] if rest else "."
