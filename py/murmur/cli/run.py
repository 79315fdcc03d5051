"""`mur run`: what a user asks for, and how the launch's end is told.

CLI reference, *mur run*. The launch itself is `murmur.cli.launching`.
"""

import contextlib
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from murmur.cli.launching import Zygote, launch
from murmur.cli.stopping import Stopped, Stopping
from murmur.core.diagnostics import MurmurError
from murmur.core.process import forbid_reading
from murmur.core.streams import emit, keep_lost_lines, report

if TYPE_CHECKING:
    from murmur.session.resume import Mode

# Ten years, in seconds.
_LONGEST_DEADLINE = 315_360_000


@click.command("run", help="Run a capsule: its agent, its tools, its door.")
@click.option("--manifest", default="murmur.yaml", show_default=True, help="The capsule manifest.")
@click.option(
    "--capsule", default=None, metavar="NAME", help="Run an installed capsule, <scope>/<name>."
)
@click.option("--capsule-version", default=None, metavar="VERSION", help="Its version.")
@click.option("--task", default=None, help="The task: text, or the path of a file that holds it.")
@click.option(
    "--workdir", default=None, help="The work folder.  [default: <manifest-dir>/workdir/<session>]"
)
@click.option("--bind", default="127.0.0.1", show_default=True, help="Address of the door.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON line instead of text.")
@click.option("--verbose", "-v", is_flag=True, help="Print more about the session at its start.")
@click.option("--lifecycle-task-acceptance", default=None, help="none, single or queue.")
@click.option("--lifecycle-after-task", default=None, help="exit or sleep.")
@click.option("--system-prompt", default=None, help="Replaces the manifest's system prompt.")
@click.option("--context", default=None, help="Context id that the launch's first task runs under.")
@click.option(
    "--resume",
    is_flag=False,
    flag_value="@1",
    default=None,
    metavar="[SESSION]",
    help="Continue the conversation of a recorded session; without a value, of the newest.",
)
@click.option(
    "--resume-mode",
    type=click.Choice(["full", "compact"]),
    default="full",
    show_default=True,
    help="Load the conversation verbatim, or have it summarized first.",
)
@click.option(
    "--forget-session",
    is_flag=True,
    help="Drop the harness session that --context names and begin a new conversation.",
)
@click.option(
    "--deadline",
    type=click.IntRange(1, _LONGEST_DEADLINE),
    default=None,
    metavar="SECONDS",
    help="End the session this many seconds after mur run started.",
)
@click.option("--deadline-at-ms", type=int, default=None, hidden=True)
@click.option("--no-env-file", is_flag=True, help="Do not load the workspace's .env file.")
@click.option(
    "--containment",
    default=None,
    help="Require at least this class: advisory, scoped or sealed. It raises the floor only.",
)
@click.option(
    "--explain-scope",
    is_flag=True,
    help="Print what the capsule would be granted and how it is contained; launch nothing.",
)
@click.pass_context
def command(
    ctx: click.Context,
    manifest: str,
    capsule: str | None,
    capsule_version: str | None,
    task: str | None,
    workdir: str | None,
    bind: str,
    as_json: bool,
    verbose: bool,
    lifecycle_task_acceptance: str | None,
    lifecycle_after_task: str | None,
    system_prompt: str | None,
    context: str | None,
    resume: str | None,
    resume_mode: "Mode",
    forget_session: bool,
    deadline: int | None,
    deadline_at_ms: int | None,
    no_env_file: bool,
    containment: str | None,
    explain_scope: bool,
) -> int:
    started = time.monotonic()
    _check_forget(forget_session, context, resume)
    _check_capsule(ctx, capsule, capsule_version)
    forbid_reading()
    keep_lost_lines(None)
    stopping = Stopping()
    with stopping.watching(), contextlib.ExitStack() as ending:
        try:
            zygote = None if explain_scope else Zygote()
            if zygote is not None:
                ending.callback(zygote.close)
            # Late: these load while the zygote loads its own.
            from murmur.session.launch import Flags

            flags = Flags(
                manifest=Path(manifest),
                task=task,
                workdir=None if workdir is None else Path(workdir),
                bind=bind,
                json=as_json,
                verbose=verbose,
                task_acceptance=lifecycle_task_acceptance,
                after_task=lifecycle_after_task,
                system_prompt=system_prompt,
                env_file=not no_env_file,
                containment=containment,
                context=context,
                resume=resume,
                resume_mode=resume_mode,
                forget_session=forget_session,
                deadline=deadline,
                deadline_at_ms=deadline_at_ms,
                capsule=capsule,
                capsule_version=capsule_version,
            )
            if zygote is None:
                from murmur.cli.explaining import print_scope

                return print_scope(flags)
            outcome = launch(flags, zygote, started, stopping)
        except Stopped as stopped:
            return stopped.exit_status
        except MurmurError:
            if not as_json and not explain_scope:
                emit("status:  failed")
            raise
        ending.close()
        if not as_json:
            emit(f"status:  {outcome.status}")
        for found in outcome.errors:
            report(found)
        return outcome.exit_code if stopping.signalled is None else stopping.signalled


def _check_capsule(ctx: click.Context, capsule: str | None, version: str | None) -> None:
    """Usage errors: an installed capsule is named whole, and has no manifest of its own here."""
    if (capsule is None) != (version is None):
        raise click.UsageError("--capsule and --capsule-version go together")
    given = ctx.get_parameter_source("manifest")
    if capsule is not None and given is not click.core.ParameterSource.DEFAULT:
        raise click.UsageError("--capsule and --manifest name two capsules; pass one of them")


def _check_forget(forget_session: bool, context: str | None, resume: str | None) -> None:
    """Usage errors: what is to be forgotten has to be named, and cannot be continued too."""
    if forget_session and resume is not None:
        raise click.UsageError("--forget-session and --resume ask for opposites; pass one of them")
    if forget_session and context is None:
        raise click.UsageError("--forget-session needs --context, which names what to forget")
