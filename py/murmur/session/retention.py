"""What a launch removes of earlier sessions and conversations, as its manifest declares.

Runs right after `session_start`; each (store, reason) that removed something is one `retention`
line of the running session. There are no defaults. What cannot be removed without following a link
is left, and said. seeds/manifest-schema.md, *Retention*; spec/sessions.md 23.
"""

import time
from collections.abc import Iterable

from murmur.conversation.record import Record
from murmur.conversation.stores import Stores
from murmur.core.diagnostics import MurmurError
from murmur.core.home import Home
from murmur.core.ids import id_time_ms
from murmur.core.safefs import Root, open_root
from murmur.manifest.session import ContextRetain, TraceRetain
from murmur.session.directories import WorkPlace, records_group_name
from murmur.session.notices import say
from murmur.trace.addresses import recorded_sessions
from murmur.trace.writer import TraceWriter


def expired_sessions(
    newest_first: Iterable[str], own: str, rule: TraceRetain, now_ms: int
) -> dict[str, str]:
    """The sessions that a rule removes, each with its reason, newest first.

    `own` counts among the newest that stay; it and whatever is not older are never removed. The
    reason is `max_age` where both limits are passed.
    """
    found: dict[str, str] = {}
    for position, session_id in enumerate(newest_first, 1):
        if session_id >= own:
            continue
        if rule.max_age is not None and _age_ms(session_id, now_ms) > rule.max_age * 1000:
            found[session_id] = "max_age"
        elif rule.max_sessions is not None and position > rule.max_sessions:
            found[session_id] = "max_sessions"
    return found


def _age_ms(session_id: str, now_ms: int) -> int:
    return now_ms - id_time_ms(session_id)


class Retention:
    """Removes for one launch. `trace` and `records` are the running session's own."""

    def __init__(self, home: Home, trace: TraceWriter, records: Root) -> None:
        self._home = home
        self._trace = trace
        self._records = records
        self._now_ms = time.time_ns() // 1_000_000

    def sessions(self, rule: TraceRetain, place: WorkPlace, own: str) -> None:
        """Removes whole records directories of one workdir root.

        A session whose runtime directory stands is running: the dead ones' were swept before.
        """
        group = self._home.records_group(place.root)
        expired = expired_sessions(recorded_sessions(group), own, rule, self._now_ms)
        removed: dict[str, list[str]] = {"max_sessions": [], "max_age": []}
        with open_root(self._home.root) as murmur:
            for session_id, reason in expired.items():
                if murmur.exists(f"sessions/{session_id}"):
                    continue
                try:
                    murmur.remove_tree(f"{records_group_name(place)}/{session_id}")
                except OSError as failure:
                    self._left(f"{group / session_id}", failure)
                    continue
                removed[reason].append(session_id)
        for reason, targets in removed.items():
            self._tell("sessions", reason, targets)

    def conversations(
        self, rule: ContextRetain, store: str, capsule: str, context_id: str | None
    ) -> None:
        """Trims the record that the launch continues, removes the capsule's old ones.

        `context_id` is the launch's own, which is adopted when nobody owns it and never removed.
        """
        if context_id is not None:
            self._trim(rule, Record(self._home, store, context_id), capsule, context_id)
        if rule.max_age is None:
            return
        before_ms = self._now_ms - rule.max_age * 1000
        removed = []
        try:
            places = [each.context_id for each in Stores(self._home).places(store)]
        except MurmurError:
            return  # no record of this store yet
        for each in places:
            record = Record(self._home, store, each)
            try:
                if each != context_id and record.expire(capsule, before_ms):
                    removed.append(each)
            except OSError as failure:
                self._left(str(record.directory), failure)
        self._tell("records", "max_age", removed)

    def _trim(self, rule: ContextRetain, record: Record, capsule: str, context_id: str) -> None:
        try:
            record.adopt(capsule)
            header = record.load().header
            if rule.max_messages is None or header is None or header.capsule != capsule:
                return
            dropped = record.truncate(rule.max_messages).dropped
        except FileNotFoundError:
            return
        except OSError as failure:
            self._left(str(record.path), failure)
            return
        self._tell("records", "max_messages", [context_id] if dropped else [], dropped)

    def _tell(
        self, store: str, reason: str, targets: list[str], dropped: int | None = None
    ) -> None:
        if targets:
            self._trace.write(
                "retention",
                store=store,
                reason=reason,
                removed=len(targets),
                targets=targets,
                messages_dropped=dropped,
            )

    def _left(self, path: str, failure: OSError) -> None:
        reason = failure.strerror or str(failure)
        say(self._records, f"[capsule-runtime] warning: retention left {path}: {reason}")
