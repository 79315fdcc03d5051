"""What the runtime answers a script capsule's questions with. spec/sessions.md 24.

`tool-registry`, `artifact-manager`, `shell` and `message`; `murmur:process` answers `unavailable`.
"""

from collections.abc import Callable, Mapping

from murmur.guest.questions import INVOKE_INTERFACE, Answer, Question, unserved
from murmur.session.commands import Commands
from murmur.session.guest_calls import GuestCalls
from murmur.session.script.invoking import ToolInvocations
from murmur.session.stage import Staged
from murmur.trace.content import Capture
from murmur.trace.writer import TraceWriter


class ScriptInterfaces:
    """Answers by interface, in the worker thread that called the component."""

    def __init__(
        self,
        staged: Staged,
        calls: GuestCalls,
        commands: Commands | None,
        trace: TraceWriter,
        capture: Capture,
    ) -> None:
        self._served: Mapping[str, Callable[[Question], Answer]] = {
            INVOKE_INTERFACE: ToolInvocations(staged, calls, trace, capture),
        }

    def __call__(self, question: Question) -> Answer:
        return self._served.get(question.interface, unserved)(question)
