"""The door's methods: one table that decides dispatch, scopes and what the card lists.

spec/door.md 5.3, 8, 24 (points 2 and 3: push notification methods are not served).
"""

from dataclasses import dataclass
from typing import Final

from murmur.core.tasks import Acceptance


@dataclass(frozen=True, slots=True)
class Method:
    """`sending` methods start tasks and are served only where tasks are taken in; `scoped` ones
    need their own name among a token's scopes; `authenticated` ones exist behind tokens only."""

    name: str
    sending: bool = False
    scoped: bool = True
    authenticated: bool = False


SEND_MESSAGE: Final = "SendMessage"
SEND_STREAMING_MESSAGE: Final = "SendStreamingMessage"
WATCH_SESSION: Final = "murmur.WatchSession"
GET_TASK: Final = "GetTask"
LIST_TASKS: Final = "ListTasks"
SUBSCRIBE_TO_TASK: Final = "SubscribeToTask"
CANCEL_TASK: Final = "CancelTask"
STOP_SESSION: Final = "murmur.StopSession"
GET_EXTENDED_AGENT_CARD: Final = "GetExtendedAgentCard"

METHODS: Final = (
    Method(SEND_MESSAGE, sending=True),
    Method(SEND_STREAMING_MESSAGE, sending=True),
    Method(WATCH_SESSION),
    Method(GET_TASK),
    Method(LIST_TASKS),
    Method(SUBSCRIBE_TO_TASK),
    Method(CANCEL_TASK),
    Method(STOP_SESSION),
    Method(GET_EXTENDED_AGENT_CARD, scoped=False, authenticated=True),
)

FILES_SCOPE: Final = "resources/files"

# Every scope that a credential may be given; spec/door.md 5.3.
SCOPES: Final = (*(method.name for method in METHODS if method.scoped), FILES_SCOPE)


def served(acceptance: Acceptance, authenticated: bool) -> dict[str, Method]:
    """The methods a door answers with something other than "Method not found", in card order."""
    return {
        method.name: method
        for method in METHODS
        if not (method.sending and acceptance is Acceptance.NONE)
        and (authenticated or not method.authenticated)
    }
