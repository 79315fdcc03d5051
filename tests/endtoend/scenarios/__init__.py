"""Every scripted session, by area."""

from tests.endtoend.scenarios.calls import CALLS
from tests.endtoend.scenarios.conversations import CONVERSATIONS
from tests.endtoend.scenarios.endings import ENDINGS
from tests.endtoend.scenarios.hooks import HOOKS
from tests.endtoend.scenarios.installing import INSTALLING
from tests.endtoend.scenarios.scenario import Scenario
from tests.endtoend.scenarios.unheeded import UNHEEDED

SCENARIOS: tuple[Scenario, ...] = (
    *CALLS,
    *CONVERSATIONS,
    *ENDINGS,
    *HOOKS,
    *INSTALLING,
    *UNHEEDED,
)

__all__ = ["SCENARIOS"]
