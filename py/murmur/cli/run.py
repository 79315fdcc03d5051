"""`mur run`: launches a capsule, serves its door, and ends with its status.

The main thread runs one event loop (door, gateway, signals); the session's tasks run in one
worker thread. CLI reference, *mur run*; spec/sessions.md 6.4.
"""

import contextlib
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from murmur.cli.stopping import Stopped, Stopping
from murmur.core.diagnostics import MurmurError, error
from murmur.core.process import forbid_reading
from murmur.core.streams import complain, emit, keep_lost_lines, report

if TYPE_CHECKING:
    import asyncio
    import socket

    from murmur.core.installation import Installation
    from murmur.door.server import DoorServer
    from murmur.guest.client import Guests
    from murmur.session.guest_lockdown import GuestLockdown
    from murmur.session.launch import Flags
    from murmur.session.outcome import Outcome
    from murmur.session.resume import Mode
    from murmur.session.stage import Staged
    from murmur.session.start import Session

# `murmur.session.deadline.LONGEST`, which is not imported for a table of flags.
_LONGEST_DEADLINE = 315_360_000


@click.command("run", help="Run a capsule: its agent, its tools, its door.")
@click.option("--manifest", default="murmur.yaml", show_default=True, help="The capsule manifest.")
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
def command(
    manifest: str,
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
    forbid_reading()
    keep_lost_lines(None)
    stopping = Stopping()
    with stopping.watching(), contextlib.ExitStack() as ending:
        try:
            zygote = None if explain_scope else _Zygote()
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
            )
            if zygote is None:
                from murmur.cli.explaining import print_scope

                return print_scope(flags)
            outcome = _launch(flags, zygote, started, stopping)
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


def _check_forget(forget_session: bool, context: str | None, resume: str | None) -> None:
    """Usage errors: what is to be forgotten has to be named, and cannot be continued too."""
    if forget_session and resume is not None:
        raise click.UsageError("--forget-session and --resume ask for opposites; pass one of them")
    if forget_session and context is None:
        raise click.UsageError("--forget-session needs --context, which names what to forget")


class _Zygote:
    """The guests' zygote, started first of all so that its imports overlap ours.

    What keeps it from starting is said once the checks that come before have passed.
    """

    def __init__(self) -> None:
        import functools

        from murmur.guest.client import Guests
        from murmur.guest.processes import GuestsFailed
        from murmur.sandbox.guests import start_zygote
        from murmur.sandbox.mur_sandbox import HelperMissing, find_helper
        from murmur.sandbox.results import SetUpFailed
        from murmur.session.guest_lockdown import find_guest_lockdown

        self.lockdown: GuestLockdown | None = None
        self._guests: Guests | None = None
        self._reason = ""
        try:
            helper = find_helper()
            self.lockdown = find_guest_lockdown(helper)
            self._guests = Guests.start(functools.partial(start_zygote, helper), self.lockdown)
        except (HelperMissing, SetUpFailed, GuestsFailed) as failure:
            self._reason = str(failure)
        except OSError as failure:
            self._reason = f"{failure.filename or 'mur-sandbox'}: {failure.strerror}"

    def guests(self) -> "Guests":
        """Raises E-IO-003 when there are none."""
        if self._guests is None:
            raise error(
                "E-IO-003",
                what="the process that runs WASM artifacts cannot be started",
                reason=self._reason,
                hint="keep mur-sandbox beside mur, or name it with MURMUR_SANDBOX_HELPER",
            )
        return self._guests

    def close(self) -> None:
        """Ends it and every guest host."""
        if self._guests is not None:
            self._guests.close()


def _launch(flags: "Flags", zygote: _Zygote, started: float, stopping: Stopping) -> "Outcome":
    from murmur.session.launch import read_launch
    from murmur.session.notices import AT_LAUNCH, keep
    from murmur.session.prepare import prepare

    prepared = prepare(read_launch(flags, os.environ, started))
    for notice in prepared.notices:
        complain(notice)
    guests = zygote.guests()
    _import_the_rest()
    from murmur.session.hooks.staging import run_on_stage
    from murmur.session.stage import stage

    staged = stage(prepared, guests)
    # Until the process ends: the status and the error after it may meet a closed stream too.
    keep_lost_lines(lambda line: keep(staged.directories.records_root, line))
    guarded = _installation_at_risk(staged)
    try:
        if zygote.lockdown is not None:
            _allow_folders(staged, zygote.lockdown)
        staged = run_on_stage(staged, guests)
        for found in staged.warnings:
            if found.code not in AT_LAUNCH:
                report(found)
        import asyncio

        if staged.script is not None:
            from murmur.cli.scripting import serve_script

            return asyncio.run(serve_script(staged, guests, stopping))
        return asyncio.run(_serve(staged, guests, stopping))
    finally:
        staged.discard()
        if guarded is not None:
            _check_installation(guarded)


def _installation_at_risk(staged: "Staged") -> "Installation | None":
    """What this program was unpacked into, where the capsule's commands could write to it.

    design/decisions.md 13: at the Full tier Landlock keeps them out.
    """
    from murmur.core.installation import this_installation

    if not staged.prepared.may_start_commands or staged.containment.tier in ("Full", "Sealed"):
        return None
    return this_installation()


def _check_installation(guarded: "Installation") -> None:
    """Looks at the files again when all commands are dead; changed ones go, and it is said."""
    try:
        changed = guarded.changed()
        if not changed:
            return
        guarded.remove()
        outcome = "the folder is removed and unpacked anew by the next start"
    except OSError as failure:
        changed, outcome = [str(guarded.folder)], f"it cannot be removed: {failure.strerror}"
    complain(
        f"[capsule-runtime] warning: files of mur itself were changed while commands ran: "
        f"{', '.join(changed[:5])}; {outcome}"
    )


def _import_the_rest() -> None:
    """Loads what serving takes now: staging waits for the zygote, which is still loading itself."""
    import murmur.door.server
    import murmur.session.run  # noqa: F401


def _allow_folders(staged: "Staged", lockdown: "GuestLockdown") -> None:
    """Guests reach the work folder, hooks what each is granted; preopens narrow that further."""
    from murmur.session.hooks.folders import openings_by_host
    from murmur.session.state import state_openings

    directories = staged.directories
    lockdown.allow(
        str(directories.work),
        directories.work_root.fileno(),
        staged.compiled_forms(),
        openings_by_host(staged.hook_folders),
        state_openings(staged.state, staged.capsule),
        landlock=staged.containment.reading.landlock.ok,
    )


async def _serve(staged: "Staged", guests: "Guests", stopping: Stopping) -> "Outcome":
    """Serves the door and the gateway while the worker thread runs the session's tasks."""
    import asyncio
    from concurrent.futures import ThreadPoolExecutor

    from murmur.cli.opening import bind_door_of, open_door
    from murmur.door.bind import door_address
    from murmur.inference.gateway import Gateway
    from murmur.session.outcome import Outcome
    from murmur.session.run import end_session, run_tasks
    from murmur.session.start import launch

    stopping.defer()
    assert guests.process.listener is not None
    loop = asyncio.get_running_loop()
    outcome = Outcome("failed")
    async with contextlib.AsyncExitStack() as closing:
        gateway = Gateway(guests.process.listener)
        await gateway.start()
        closing.push_async_callback(gateway.close)
        worker = closing.enter_context(ThreadPoolExecutor(1, thread_name_prefix="murmur-tasks"))
        worker.submit(_warm, guests)

        listener: socket.socket | None = None

        def bind_door() -> str:
            nonlocal listener
            listener = closing.enter_context(bind_door_of(staged))
            return door_address(listener)

        session = launch(staged, guests, gateway, bind_door)
        assert listener is not None
        door: DoorServer | None = None
        try:
            stopping.attach(loop, session.stop)
            _arm_deadline(session, loop, stopping)
            door = await open_door(session, listener, door_address(listener))
            outcome = await loop.run_in_executor(worker, run_tasks, session)
        finally:
            outcome = await loop.run_in_executor(worker, end_session, session, outcome)
            await _teardown(session, door)
    return outcome


def _arm_deadline(
    session: "Session", loop: "asyncio.AbstractEventLoop", stopping: Stopping
) -> None:
    """Ends the session at its deadline: at once when that is past, before any task runs."""
    deadline = session.staged.prepared.launch.deadline
    if deadline is None:
        return

    def fall() -> None:
        session.reach_deadline()
        if session.overdue:
            stopping.bound_teardown()

    if deadline.left() <= 0:
        fall()
    else:
        loop.call_later(deadline.left(), fall)


def _warm(guests: "Guests") -> None:
    """Starts the drivers' host while the door opens; whether it can be had, the first call says."""
    from murmur.guest.processes import GuestsFailed

    with contextlib.suppress(GuestsFailed, OSError):
        guests.warm("drivers")


async def _teardown(session: "Session", door: "DoorServer | None") -> None:
    """What follows `session_end`, in the order of spec/sessions.md 6.4 step 10."""
    from murmur.running.record import remove_record

    staged = session.staged
    remove_record(staged.prepared.launch.home, staged.session_id)
    staged.discard()
    session.board.close()
    if door is not None:
        await door.close()
