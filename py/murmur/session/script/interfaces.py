"""What the runtime answers a script capsule's questions with. spec/sessions.md 24.

`tool-registry`, `artifact-manager`, `shell` and `message`; `murmur:process` answers `unavailable`.
"""

from collections.abc import Callable, Mapping

from murmur.guest.client import Guests
from murmur.guest.questions import (
    INVOKE_INTERFACE,
    MANAGE_INTERFACE,
    MESSAGE_INTERFACE,
    SHELL_INTERFACE,
    Answer,
    Question,
    unserved,
)
from murmur.manifest.network import parse_rules
from murmur.session.commands import Commands
from murmur.session.guest_calls import GuestCalls
from murmur.session.managing import Management
from murmur.session.protection import protection_of
from murmur.session.script.invoking import ToolInvocations
from murmur.session.script.messages import MessageSending
from murmur.session.script.shell import ShellExecution
from murmur.session.stage import Staged
from murmur.trace.content import Capture
from murmur.trace.writer import TraceWriter


class ScriptInterfaces:
    """Answers by interface, in the worker thread that called the component."""

    def __init__(
        self,
        staged: Staged,
        guests: Guests,
        calls: GuestCalls,
        commands: Commands | None,
        trace: TraceWriter,
        capture: Capture,
    ) -> None:
        directories = staged.directories
        protection = protection_of(staged)
        rules = parse_rules(staged.capsule.capabilities.network_allow)
        self._served: Mapping[str, Callable[[Question], Answer]] = {
            INVOKE_INTERFACE: ToolInvocations(staged, calls, protection, trace, capture),
            MANAGE_INTERFACE: Management(staged, guests, trace),
            MESSAGE_INTERFACE: MessageSending(rules, trace),
            SHELL_INTERFACE: ShellExecution(
                commands,
                protection,
                directories.records_root,
                str(directories.records),
                trace,
            ),
        }

    def __call__(self, question: Question) -> Answer:
        return self._served.get(question.interface, unserved)(question)
