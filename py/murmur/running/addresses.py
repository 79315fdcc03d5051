"""Session addresses of running sessions. CLI reference, *Session addresses*.

A whole id, a suffix of 4 hex digits or more, or `@N` counted back from the newest; a path names no
process and is refused.
"""

import re
from typing import Final

from murmur.core.diagnostics import MurmurError, error
from murmur.core.home import Home
from murmur.running.processes import Standing
from murmur.running.reading import Found, Reading, read_running

_ORDINAL: Final = re.compile(r"@([1-9][0-9]{0,8})")
_SUFFIX: Final = re.compile(r"[0-9a-f]{4,32}")
_WHOLE: Final = re.compile(r"ses_[0-9a-f]{32}")

_FORMS: Final = "give a ses_ id, its last 4 or more digits, or @N; `mur ps` lists what runs"


def resolve_running(home: Home, address: str) -> Found:
    """The one running session that `address` names; stale records are removed on the way.

    Its process runs, or (named by its digits) its start time cannot be read. Raises E-RUN-022 for
    no session, several or no address, and E-RUN-028 when the records cannot be read.
    """
    _check_form(address)
    reading = read_running(home, sweep=True)
    ordinal = _ORDINAL.fullmatch(address)
    if ordinal is not None:
        return _nth(reading, address, int(ordinal[1]))
    wanted = address.lower()
    matching = [each for each in reading.found if each.record.session_id.endswith(wanted)]
    alive = [each for each in matching if not each.gone]
    if len(alive) == 1:
        return alive[0]
    if alive:
        raise _several(address, alive)
    if len(matching) == 1:
        session = matching[0].record.session_id
        raise _none(address, f"session {session} is not running: {matching[0].reason}")
    raise _none(address, "no running session has that id")


def _check_form(address: str) -> None:
    if any(form.fullmatch(address.lower()) for form in (_ORDINAL, _SUFFIX, _WHOLE)):
        return
    if "/" in address or address.endswith(".jsonl"):
        reason = "a path names a directory on disk, not a running session"
    else:
        reason = "it is no session address"
    raise _none(address, reason)


def _nth(reading: Reading, address: str, ordinal: int) -> Found:
    """Ordinals count what passes layers 1 and 2."""
    running = [each for each in reading.alive if each.standing is Standing.RUNS]
    if ordinal <= len(running):
        return running[ordinal - 1]
    if not running:
        raise _none(address, "no capsule is running")
    are = "1 capsule is" if len(running) == 1 else f"{len(running)} capsules are"
    raise _none(address, f"only {are} running")


def _none(address: str, reason: str) -> MurmurError:
    return error("E-RUN-022", address=address, reason=reason, hint=_FORMS)


def _several(address: str, found: list[Found]) -> MurmurError:
    named = ", ".join(each.record.session_id for each in found)
    return error(
        "E-RUN-022",
        address=address,
        reason=f"{len(found)} running sessions end so: {named}",
        hint="give more digits",
    )
