"""The component: `on-task-start`, answered with a seed."""

import json
from collections.abc import Iterator

from componentize_py_types import Err
from murmur_hooking.component import NOTHING, QuietHook, failure
from wit_world.imports import lifecycle, murmur_conversation_read, tokens

from memory_hook.recalling import Remembered, recall

PAGE = 100


class Lifecycle(QuietHook):
    """The export."""

    def on_task_start(self, event: lifecycle.TaskStartEvent) -> lifecycle.HookOutput:
        """Seed the task, where there is a budget and nothing of the record is loaded already."""
        if event.budget_tokens == 0 or event.prior_tokens > 0:
            return NOTHING
        try:
            seed = recall(_record(), event.budget_tokens, tokens.count)
        except Err as refused:
            raise failure(f"the conversation cannot be read: {refused.value}") from None
        messages = [
            lifecycle.Message(
                each.role,
                json.dumps([{"type": "text", "text": each.text}], ensure_ascii=False),
                None,
                each.source,
                None,
            )
            for each in seed
        ]
        return lifecycle.HookOutput_SeedContext(messages) if messages else NOTHING


def _record() -> Iterator[Remembered]:
    """The record's messages, newest first, page by page. Raises Err."""
    cursor: str | None = None
    while True:
        page = murmur_conversation_read.read_messages(cursor, PAGE)
        for message in page.messages:
            seeded = message.inserted_by is lifecycle.ContextInsertion.SEED_CONTEXT
            yield Remembered(message.role, message.content, message.id, seeded)
        cursor = page.next_cursor
        if cursor is None:
            return
