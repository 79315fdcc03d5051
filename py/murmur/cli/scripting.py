"""Running a script capsule under `mur run`: no door, and no handling of signals.

CLI reference, *mur run*; spec/sessions.md 9 and 24.
"""

import asyncio
import contextlib
from concurrent.futures import ThreadPoolExecutor

from murmur.cli.opening import announce_without_door, record_without_door
from murmur.cli.stopping import Stopping
from murmur.guest.client import Guests
from murmur.inference.gateway import Gateway
from murmur.running.record import remove_record
from murmur.session.outcome import Outcome
from murmur.session.script.session import end_script, launch_script, run_script
from murmur.session.stage import Staged


async def serve_script(staged: Staged, guests: Guests, stopping: Stopping) -> Outcome:
    """Serves the gateway while a worker thread runs the component.

    Once the session is recorded a signal ends the process at once, and what it leaves is swept
    away by whoever comes next.
    """
    assert guests.process.listener is not None
    loop = asyncio.get_running_loop()
    outcome = Outcome("failed")
    async with contextlib.AsyncExitStack() as closing:
        gateway = Gateway(guests.process.listener)
        await gateway.start()
        closing.push_async_callback(gateway.close)
        worker = closing.enter_context(ThreadPoolExecutor(1, thread_name_prefix="murmur-script"))
        session = launch_script(staged, guests, gateway)
        try:
            record_without_door(staged)
            stopping.release()
            announce_without_door(staged)
            outcome = await loop.run_in_executor(worker, run_script, session)
        finally:
            outcome = await loop.run_in_executor(worker, end_script, session, outcome)
            remove_record(staged.prepared.launch.home, staged.session_id)
    return outcome
