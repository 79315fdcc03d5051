"""The tools of an agent's session, wired: what can be called, what is sent, what installs more."""

import dataclasses

from murmur.guest.client import Guests
from murmur.guest.questions import Answering
from murmur.session.callable_tools import CallableTools
from murmur.session.grants import tools_manage
from murmur.session.guest_calls import GuestCalls
from murmur.session.offered import OfferedTools
from murmur.session.protection import Protection, protection_of
from murmur.session.stage import Staged
from murmur.trace.writer import TraceWriter


@dataclasses.dataclass(frozen=True, slots=True)
class SessionTools:
    """What start hands to loop, dispatcher and hooks. `manage` answers the components that may
    install, None where none may; `protection` is None without read-only paths."""

    callable: CallableTools
    offered: OfferedTools
    manage: Answering | None
    protection: Protection | None


def open_tools(
    staged: Staged, guests: Guests, guest_calls: GuestCalls, trace: TraceWriter
) -> SessionTools:
    """Wires the tools of an agent's session that is being launched."""
    inference = staged.capsule.inference
    assert inference is not None
    protection = protection_of(staged)
    found = CallableTools(staged, guest_calls, protection)
    offered = OfferedTools(found.tools, inference.tool_refresh, trace)
    manage: Answering | None = None
    if tools_manage(staged.capsule):
        # The client of stores and sources is imported where something may be installed.
        from murmur.session.managing import Management

        manage = Management(staged, guests, trace, found)
    return SessionTools(found, offered, manage, protection)
