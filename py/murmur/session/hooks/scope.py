"""What a hook may look at while it runs: the task in progress, its text, its result.

spec/artifacts.md 15.6. The worker thread moves the scope on; hooks' threads read it.
"""

import dataclasses
import threading
from typing import Literal

Form = Literal["as-given", "original"]


@dataclasses.dataclass(frozen=True, slots=True)
class Moment:
    """Where the session stands. `turn` counts from 0 within the task; no task: `task_id` None.

    `original` is the task as it arrived, `as_given` with the feedback of reopening hooks; both are
    None outside an attempt, `output` until the attempt's loop has ended.
    """

    task_id: str | None = None
    context_id: str | None = None
    turn: int = 0
    original: str | None = None
    as_given: str | None = None
    output: str | None = None


class Scope:
    """The current moment; replaced whole, so that readers need no lock."""

    def __init__(self) -> None:
        self.now = Moment()
        # Ends what a hook has under way for the attempt; nothing ever sets the one between tasks.
        self.cancel = threading.Event()

    def begin_task(self, task_id: str, context_id: str) -> None:
        """A task is taken; its texts are out of scope until its first attempt."""
        self.now = Moment(task_id=task_id, context_id=context_id)

    def begin_attempt(self, original: str, as_given: str, cancel: threading.Event) -> None:
        """An attempt enters the loop; what an earlier one gave is cleared."""
        self.cancel = cancel
        self.now = dataclasses.replace(self.now, original=original, as_given=as_given, output=None)

    def at_turn(self, turn: int) -> None:
        self.now = dataclasses.replace(self.now, turn=turn)

    def end_attempt(self, output: str) -> None:
        """The loop has ended with that result."""
        self.now = dataclasses.replace(self.now, output=output)

    def end_task(self) -> None:
        """The runtime is done with the task."""
        self.cancel = threading.Event()
        self.now = Moment()
