"""Which conversation of the harness a task continues.

The harness holds the conversation; murmur remembers its id by context, in the context's folder
below `~/.murmur/conversations`, or with `context.record: off` in memory alone. A task's later
attempts continue the session of its first, whatever the lifecycle says. spec/artifacts.md 13.4;
spec/sessions.md 18.4.
"""

import dataclasses
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from murmur.conversation.harness import HarnessSession
from murmur.conversation.record import Record
from murmur.core.tasks import Task
from murmur.session.harness.contract import SessionMode
from murmur.session.history import Keeping

Asked = Literal["cli", "a2a"]
Told = Callable[[str, str, Asked], None]
"""Told of a context, the session that it no longer has, and at whose wish."""


@dataclasses.dataclass(frozen=True, slots=True)
class Chosen:
    """The session of one run: a new one's id is minted here."""

    id: str
    mode: SessionMode


class HarnessSessions:
    """The harness sessions of one launch, by context. The worker thread's."""

    def __init__(
        self,
        keeping: Keeping,
        harness: str,
        driver: str,
        always: str | None = None,
        *,
        forget_first: bool = False,
        told: Told = lambda context_id, session_id, asked: None,
    ) -> None:
        """`always` is the context that is continued whatever the lifecycle says. `forget_first`:
        the launch's own task begins a new session; `told` hears of each that was dropped."""
        self._keeping = keeping
        self._harness = harness
        self._driver = driver
        self._always = always
        self._forget_first = forget_first
        self._told = told
        self._held: dict[str, HarnessSession] = {}
        self._task: tuple[str | None, str] | None = None  # a task, and the session it is in

    def choose(self, context_id: str, task_id: str | None) -> Chosen:
        """The session that the next run of a task is in."""
        if self._task is not None and self._task[0] == task_id:
            return Chosen(self._task[1], "resume")
        if self._keeping.threaded or context_id == self._always:
            found = self._find(context_id)
            if found is not None:
                return Chosen(found.session_id, "resume")
        return Chosen(str(uuid.uuid4()), "new")

    def begin(self, task: Task) -> None:
        """A task starts. One that its sender, or the command line, wants to begin anew does."""
        asked: Asked | None = "a2a" if task.forget_session else None
        if self._forget_first and task.source == "task_md":
            asked, self._forget_first = "cli", False
        if asked is None:
            return
        dropped = self.forget(task.context_id)
        if dropped is not None:
            self._told(task.context_id, dropped, asked)

    def continues(self, task_id: str | None) -> bool:
        """Whether a task has a session that another run of it would continue."""
        return self._task is not None and self._task[0] == task_id

    def keep(self, context_id: str, task_id: str | None, session_id: str) -> None:
        """A run of that task was in that session."""
        self._task = (task_id, session_id)
        now = time.time_ns() // 1_000_000
        before = self._find(context_id)
        same = before is not None and before.session_id == session_id
        entry = HarnessSession(
            session_id=session_id,
            harness=self._harness,
            driver=self._driver,
            created_ms=before.created_ms if before is not None and same else now,
            updated_ms=now,
        )
        self._held[context_id] = entry
        record = self._record(context_id)
        if record is None:
            return
        try:
            record.keep_harness_session(entry)
        except OSError as failure:
            self._lost(record, "recorded", failure)

    def lose(self) -> None:
        """The task's session is of no use any more; its next run begins a new one."""
        self._task = None

    def forget(self, context_id: str) -> str | None:
        """Drops the context's session; its id, None where there was none."""
        held = self._held.pop(context_id, None)
        record = self._record(context_id)
        if record is not None:
            try:
                held = record.forget_harness_session() or held
            except OSError as failure:
                self._lost(record, "removed", failure)
        return None if held is None else held.session_id

    def path(self, context_id: str) -> Path | None:
        """Where the session of a context is recorded; None where it is not."""
        record = self._record(context_id)
        return None if record is None else record.harness_path

    def _find(self, context_id: str) -> HarnessSession | None:
        if context_id in self._held:
            return self._held[context_id]
        record = self._record(context_id)
        if record is None:
            return None
        try:
            return record.harness_session()
        except OSError as failure:
            self._lost(record, "read", failure)
            return None

    def _record(self, context_id: str) -> Record | None:
        return self._keeping.record_of(context_id)

    def _lost(self, record: Record, what: str, failure: OSError) -> None:
        reason = failure.strerror or str(failure)
        self._keeping.tell(
            f"[capsule-runtime] warning: {record.harness_path} cannot be {what}: {reason}"
        )
