"""The `mur` program: the table of registered commands, and what every command's end looks like.

A command's module is imported when the command is called, so `mur version` pays for nothing that
it does not use. Exit statuses follow spec/diagnostics.md 2: 1 for a refusal, 2 for usage.
"""

import dataclasses
import gc
import importlib
import sys
from collections.abc import Mapping, Sequence
from typing import Final

import click

from murmur.core.diagnostics import MurmurError, error
from murmur.core.streams import complain, emit, output_failure, report
from murmur.core.version import VERSION


@dataclasses.dataclass(frozen=True, slots=True)
class Registered:
    """One command: the module that holds it as `command`, its purpose, its versioned outputs.

    `outputs` maps the spelling under `mur version --json`'s `commands` to the number of that
    output's shape.
    """

    module: str
    purpose: str
    outputs: Mapping[str, int] = dataclasses.field(default_factory=dict)


COMMANDS: Final[Mapping[str, Registered]] = {
    "build": Registered("murmur.cli.build", "Build a .mur.zip from a source directory"),
    "publish": Registered("murmur.cli.publish", "Publish a built artifact into the global store"),
    "install": Registered(
        "murmur.cli.install",
        "Fetch and install artifacts from the global store, the configured sources, or a file",
    ),
    "precompile": Registered(
        "murmur.cli.precompile",
        "Compile WASM artifact files for this machine, so their first launch skips compiling",
        {"precompile --json": 1},
    ),
    "list": Registered(
        "murmur.cli.list", "List installed artifacts in the project or global store"
    ),
    "doctor": Registered(
        "murmur.cli.doctor",
        "Check every artifact declared in murmur.yaml against the project and global stores",
    ),
    "version": Registered(
        "murmur.cli.version",
        "Print this mur's version, the WIT level it serves and that level's package versions",
        {"version --json": 1},
    ),
    "run": Registered(
        "murmur.cli.run",
        "Run a capsule with lockfile-aware artifact resolution",
        {"run --explain-scope --json": 1, "run --json": 1},
    ),
    "ps": Registered(
        "murmur.cli.ps", "List the capsules running on this machine", {"ps --json": 1}
    ),
    "token": Registered(
        "murmur.cli.token", "Print a door token of a running capsule", {"token": 1}
    ),
    "watch": Registered(
        "murmur.cli.watch", "Stream live events from a running capsule's output to stdout"
    ),
    "cancel": Registered(
        "murmur.cli.cancel",
        "Stop one running task on a capsule, leaving the session running",
    ),
    "stop": Registered(
        "murmur.cli.stop",
        "End one running capsule, or every member of a formation, and report what was left behind",
    ),
    "control": Registered(
        "murmur.cli.control",
        "Show or change what a running capsule's control: block lets a controller change",
        {"control show --json": 1},
    ),
    "conversation": Registered(
        "murmur.cli.conversation",
        "List, print, remove and truncate the durable conversation records",
        {"conversation ls --json": 1, "conversation show --json": 1},
    ),
    "eval": Registered(
        "murmur.cli.eval",
        "Read scores of sessions, and drive datasets against capsules",
        {"eval show --json": 1, "eval diff --run --json": 1},
    ),
    "trace": Registered(
        "murmur.cli.trace",
        "Read the records of sessions, and remove those of ended ones",
        {"trace list --json": 1, "trace rm --json": 1},
    ),
    "search": Registered(
        "murmur.cli.search", "Search an artifact index for artifacts matching a keyword"
    ),
    "index": Registered(
        "murmur.cli.index", "Write the artifact index for one release's .mur.zip assets"
    ),
    "topology": Registered(
        "murmur.cli.topology", "Render capsule sessions as a DAG from Grafana Tempo OTel data"
    ),
    "config": Registered("murmur.cli.config", "Write single keys of the configuration files"),
    "schema": Registered(
        "murmur.cli.schema", "Print the JSON Schema of murmur.yaml, for editors that check it"
    ),
    "beta": Registered("murmur.cli.beta", "Manage opt-in beta features"),
}


class _Commands(click.Group):
    """A group whose members are found in `COMMANDS` and imported when they are needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        registered = COMMANDS.get(cmd_name)
        if registered is None:
            return None
        command = importlib.import_module(registered.module).command
        assert isinstance(command, click.Command)
        return _with_help(command)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, row.purpose) for name, row in COMMANDS.items()])


def _print_help(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        emit(ctx.get_help())
        ctx.exit()


def _with_help(command: click.Command) -> click.Command:
    """The command with a help option, and those below it, that minds a closed stream as `emit`."""
    if command.add_help_option:
        command.add_help_option = False
        command.params.append(
            click.Option(
                ["-h", "--help"],
                is_flag=True,
                expose_value=False,
                is_eager=True,
                callback=_print_help,
                help="Show this message and exit.",
            )
        )
    for below in command.commands.values() if isinstance(command, click.Group) else ():
        _with_help(below)
    return command


def _print_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        emit(f"murmur-cli {VERSION}")
        ctx.exit()


@click.command(cls=_Commands)
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_print_version,
    help="Print the version and exit.",
)
def mur() -> None:
    """Run AI-agent capsules behind the limits that their manifests declare."""


_with_help(mur)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit status."""
    try:
        return _run(arguments)
    finally:
        # What is left is freed with the process; the interpreter's last collections would go
        # through all of it first, 70 ms after an agent's session.
        gc.freeze()


def _run(arguments: Sequence[str] | None) -> int:
    try:
        result = mur.main(arguments, prog_name="mur", standalone_mode=False)
    except click.exceptions.Exit as ending:
        return ending.exit_code
    except click.Abort:
        return 130
    except click.ClickException as refusal:
        _show_usage(refusal)
        return refusal.exit_code
    except MurmurError as refusal:
        report(refusal.diagnostic)
        return refusal.exit_status
    except OSError as failure:
        report(_unforeseen(failure).diagnostic)
        return 1
    status = result if isinstance(result, int) else 0
    reason = output_failure()
    if status == 0 and reason is not None:
        what = "failed to write to standard output"
        report(error("E-IO-003", what=what, reason=reason, hint="").diagnostic)
        return 1
    return status


def _unforeseen(failure: OSError) -> MurmurError:
    """E-IO-002 or E-IO-003 for a failure of the system that no command gave words of its own."""
    path = failure.filename if failure.filename is not None else "the system"
    reason = failure.strerror or type(failure).__name__
    if isinstance(failure, PermissionError):
        return error("E-IO-002", path=path, reason=reason)
    return error("E-IO-003", what=path, reason=reason, hint="")


def _show_usage(refusal: click.ClickException) -> None:
    if isinstance(refusal, click.exceptions.NoArgsIsHelpError):
        complain(refusal.format_message())
        return
    context = refusal.ctx if isinstance(refusal, click.UsageError) else None
    if context is not None:
        complain(context.get_usage())
    complain(f"error: {refusal.format_message()}")


if __name__ == "__main__":
    sys.exit(main())
