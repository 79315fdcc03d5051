"""docs/reference/cli.md, from the registered commands."""

from collections.abc import Iterator

import click

from murmur.cli.main import COMMANDS, mur
from tools.docs.markdown import MADE, cell, page, table

_INTRODUCTION = f"""{MADE}

Exit statuses: 0 for success, warnings included; 1 for an error, whose code
[diagnostics.md](diagnostics.md) explains; 2 for a usage error. Only what `--json` prints is meant
for programs.

When the reader of a command's output goes away, the command finishes its work and exits as it would
have. When the output cannot be written for another reason, such as a full disk, a command that
otherwise succeeded reports `E-IO-003` and exits 1."""


def cli_page() -> str:
    """Every command with its arguments and options."""
    commands = [
        "## Commands",
        "",
        *table(
            ("Command", "Purpose"),
            ((f"[`mur {name}`](#mur-{name})", row.purpose) for name, row in COMMANDS.items()),
        ),
    ]
    outputs = sorted(
        (spelling, str(number))
        for row in COMMANDS.values()
        for spelling, number in row.outputs.items()
    )
    machine = [
        "## For programs",
        "",
        "`mur version --json` lists under `commands` what this mur prints for programs, each with "
        "the number of its shape. The number moves when a key is removed, renamed or changed; a "
        "new key does not move it.",
        "",
        *table(("Output", "Number"), outputs),
    ]
    assert isinstance(mur, click.Group)
    root = click.Context(mur, info_name="mur")
    sections = [
        section
        for name in COMMANDS
        if (command := mur.get_command(root, name)) is not None
        for section in _sections(command, click.Context(command, parent=root, info_name=name))
    ]
    return page("Commands", _INTRODUCTION, commands, *sections, machine)


def _sections(command: click.Command, context: click.Context) -> Iterator[list[str]]:
    depth = "##" if context.parent is not None and context.parent.parent is None else "###"
    lines = [
        f"{depth} {context.command_path}",
        "",
        cell(command.get_short_help_str(limit=1000)),
        "",
    ]
    pieces = command.collect_usage_pieces(context)
    usage = " ".join((context.command_path, *pieces))
    lines += ["```", usage, "```"]
    rows = [_option(option, context) for option in command.params if _is_shown(option)]
    lines += ["", *table(("Option", "Default", "Meaning"), rows)] if rows else []
    yield lines
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from _sections(below, click.Context(below, parent=context, info_name=name))


def _is_shown(parameter: click.Parameter) -> bool:
    hidden = isinstance(parameter, click.Option) and parameter.hidden
    return isinstance(parameter, click.Option) and not hidden and parameter.name != "help"


def _option(parameter: click.Parameter, context: click.Context) -> tuple[str, str, str]:
    assert isinstance(parameter, click.Option)
    names = ", ".join(f"`{name}`" for name in sorted(parameter.opts, key=len, reverse=True))
    if not parameter.is_flag:
        names += f" {parameter.make_metavar(context)}"
    shown = parameter.default if parameter.show_default else ""
    return names, f"`{shown}`" if shown else "", parameter.help or ""
