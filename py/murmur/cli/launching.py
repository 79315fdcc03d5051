"""One launch from its flags to its outcome: staged, served by an event loop, torn down.

The main thread runs one event loop (door, gateway, signals); the session's tasks run in one
worker thread. spec/sessions.md 6.4. `mur run` is one launch, a case of `mur eval run` another.
"""

import contextlib
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from murmur.cli.stopping import Stopping
from murmur.core.diagnostics import error
from murmur.core.streams import complain, keep_lost_lines, report

if TYPE_CHECKING:
    import asyncio
    import socket

    from murmur.core.installation import Installation
    from murmur.door.server import DoorServer
    from murmur.guest.client import Guests
    from murmur.session.guest_lockdown import GuestLockdown
    from murmur.session.launch import Flags
    from murmur.session.outcome import Outcome
    from murmur.session.stage import Staged
    from murmur.session.start import Session


class Judge(Protocol):
    """Who prepares and judges a session from outside: a case of an eval run."""

    def before(self, staged: "Staged") -> "Staged":
        """The staged session, its work folder filled, that is launched now. What it raises ends
        the launch."""
        ...

    async def after(self, staged: "Staged") -> None:
        """The session is over: its processes are dead, its door closed. Never raises."""
        ...


class Zygote:
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


def launch(
    flags: "Flags",
    zygote: Zygote,
    started: float,
    stopping: Stopping,
    *,
    environ: Mapping[str, str] = os.environ,
    judge: "Judge | None" = None,
) -> "Outcome":
    """Runs one launch to its end; every refusal of it is raised.

    `judge` sees the session of an eval case before it is launched and when it is over.
    """
    from murmur.session.launch import read_launch
    from murmur.session.notices import AT_LAUNCH, keep
    from murmur.session.prepare import prepare

    prepared = prepare(read_launch(flags, environ, started))
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
        if judge is not None:
            staged = judge.before(staged)
        import asyncio

        if staged.script is not None:
            from murmur.cli.scripting import serve_script

            return asyncio.run(serve_script(staged, guests, stopping))
        return asyncio.run(_serve(staged, guests, stopping, judge))
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


async def _serve(
    staged: "Staged", guests: "Guests", stopping: Stopping, judge: "Judge | None"
) -> "Outcome":
    """Serves the door and the gateway while the worker thread runs the session's tasks."""
    import asyncio
    from concurrent.futures import ThreadPoolExecutor

    from murmur.cli.opening import bind_door_of, open_door
    from murmur.door.bind import door_address
    from murmur.inference.gateway import Gateway
    from murmur.inference.gateway_proxy import read_proxies
    from murmur.session.outcome import Outcome
    from murmur.session.run import end_session, run_tasks
    from murmur.session.start import launch

    stopping.defer()
    assert guests.process.listener is not None
    loop = asyncio.get_running_loop()
    outcome = Outcome("failed")
    async with contextlib.AsyncExitStack() as closing:
        gateway = Gateway(guests.process.listener, proxies=read_proxies(os.environ))
        await gateway.start()
        closing.push_async_callback(gateway.close)
        worker = closing.enter_context(ThreadPoolExecutor(1, thread_name_prefix="murmur-tasks"))
        worker.submit(_warm, guests)

        listeners: list[socket.socket] = []

        def bind_door() -> str:
            listeners.extend(map(closing.enter_context, bind_door_of(staged)))
            return door_address(listeners[0])

        session = launch(staged, guests, gateway, bind_door)
        door: DoorServer | None = None
        try:
            stopping.attach(loop, session.stop)
            _arm_deadline(session, loop, stopping)
            door = await open_door(session, listeners, door_address(listeners[0]))
            outcome = await loop.run_in_executor(worker, run_tasks, session)
        finally:
            outcome = await loop.run_in_executor(worker, end_session, session, outcome)
            await _teardown(session, door, judge)
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


async def _teardown(session: "Session", door: "DoorServer | None", judge: "Judge | None") -> None:
    """What follows `session_end`, in the order of spec/sessions.md 6.4 step 10.

    A judge looks at the work once nobody can reach the session any more, while its directories
    still stand.
    """
    from murmur.running.record import remove_record

    staged = session.staged
    remove_record(staged.prepared.launch.home, staged.session_id)
    if judge is None:
        staged.discard()
    session.board.close()
    if door is not None:
        await door.close()
    if judge is not None:
        await judge.after(staged)
        staged.discard()
