"""Which messages make up a seed."""

import json

from memory_hook.recalling import Recalled, Remembered, counted, recall


def _said(role: str, text: str, identifier: str = "msg_1") -> Remembered:
    return Remembered(role, json.dumps([{"type": "text", "text": text}]), identifier)


def _words(text: str) -> int:
    return len(text.split())


def test_the_newest_that_fit_are_taken_oldest_first() -> None:
    record = [_said("user", f"message number {number}", str(number)) for number in range(9, 0, -1)]
    seed = recall(record, 9, _words)
    assert [each.source for each in seed] == ["7", "8", "9"]


def test_system_blank_and_earlier_seed_messages_are_dropped() -> None:
    record = [
        _said("system", "rules"),
        _said("user", "  "),
        Remembered("user", '[{"type":"text","text":"old seed"}]', "s", seeded=True),
        _said("assistant", "kept"),
    ]
    assert [each.text for each in recall(record, 99, _words)] == ["kept"]


def test_a_tool_result_becomes_a_users_words_and_calls_are_left_out() -> None:
    wrapped = {"__murmur_tool_msg__": True, "body": [{"type": "text", "text": "42"}]}
    call = {"type": "tool_call", "id": "c", "name": "t", "input": {}}
    record = [
        Remembered("tool", json.dumps(wrapped), "msg_t"),
        Remembered("assistant", json.dumps([call]), "msg_a"),
        Remembered("assistant", json.dumps([{"type": "text", "text": "looking"}, call]), "msg_b"),
    ]
    assert recall(record, 99, _words) == [
        Recalled("assistant", "looking", "msg_b"),
        Recalled("user", "(result of a tool) 42", "msg_t"),
    ]


def test_a_message_is_counted_as_the_runtime_counts_it() -> None:
    assert counted(Recalled("user", "ö", None)) == (
        '{"content":[{"text":"ö","type":"text"}],"role":"user"}'
    )
