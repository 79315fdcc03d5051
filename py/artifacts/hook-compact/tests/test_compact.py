"""The transcript that the model reads, and the message that comes of its summary."""

import json

from compact_hook.compact import RESULT_CHARACTERS, question, summary_content, transcript


def _blocks(*blocks: dict[str, object]) -> str:
    return json.dumps(list(blocks))


def test_each_message_shows_who_said_what() -> None:
    shown = transcript(
        [
            ("user", _blocks({"type": "text", "text": "find the port"})),
            (
                "assistant",
                _blocks(
                    {"type": "thinking", "text": "look at the file"},
                    {"type": "tool_call", "id": "c", "name": "editor", "input": {"path": "a"}},
                ),
            ),
            (
                "tool",
                json.dumps(
                    {
                        "__murmur_tool_msg__": True,
                        "tool_call_id": "c",
                        "is_error": True,
                        "body": [{"type": "text", "text": "no such file"}],
                    }
                ),
            ),
        ]
    )
    assert shown == (
        "[user]\nfind the port\n\n"
        '[assistant]\n(thinks) look at the file\ncalls editor with {"path": "a"}\n\n'
        "[tool]\n(failed) no such file"
    )


def test_long_results_keep_their_beginning_and_end() -> None:
    body = [{"type": "text", "text": "start" + "x" * 9000 + "end"}]
    shown = transcript([("tool", json.dumps({"body": body}))])
    assert shown.startswith("[tool]\nstart") and shown.endswith("end")
    assert len(shown) < RESULT_CHARACTERS + 100
    assert "characters left out" in shown


def test_content_that_is_no_json_is_shown_as_it_is() -> None:
    assert transcript([("user", "plain {words")]) == "[user]\nplain {words"


def test_the_question_holds_the_transcript() -> None:
    assert "<transcript>\n[user]\nhello\n</transcript>" in question([("user", "hello")])


def test_the_summary_becomes_one_text_block() -> None:
    (block,) = json.loads(summary_content(" kept \n"))
    assert block["type"] == "text"
    assert block["text"].endswith(":\n\nkept")
