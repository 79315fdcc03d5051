"""What is said of an edit."""

import json

from diff_hook.diffing import DIFF_CHARACTERS, artifact, destinations, summary


def test_an_edit_is_counted_and_shown() -> None:
    entry = summary("a/x.py", "one\ntwo\n", "one\n2\n3\n")
    assert entry is not None
    assert (entry["language"], entry["hunks"]) == ("python", 1)
    assert (entry["added_lines"], entry["removed_lines"]) == (2, 1)
    assert str(entry["diff"]).startswith("--- a/a/x.py\n+++ b/a/x.py\n@@")
    assert entry["truncated"] is False


def test_a_new_file_and_a_removed_one_have_nothing_on_the_other_side() -> None:
    new, gone = summary("x", None, "a\n"), summary("x", "a\n", None)
    assert new is not None and str(new["diff"]).startswith("--- /dev/null\n+++ b/x")
    assert gone is not None and str(gone["diff"]).startswith("--- a/x\n+++ /dev/null")


def test_a_long_diff_is_cut_and_says_so() -> None:
    entry = summary("x", "", "y\n" * DIFF_CHARACTERS)
    assert entry is not None and entry["truncated"] is True
    assert len(str(entry["diff"])) == DIFF_CHARACTERS


def test_nothing_changed_is_no_artifact() -> None:
    assert summary("x", "a", "a") is None
    assert artifact("ses_1", {"x": "a"}, {"x": "a"}) is None


def test_an_artifact_names_the_session_and_each_changed_file() -> None:
    text = artifact("ses_1", {"x": "a", "y": None, "z": "1"}, {"x": "b", "y": "c", "z": "1"})
    value = json.loads(text or "")
    assert value["session_id"] == "ses_1"
    assert [each["path"] for each in value["files"]] == ["x", "y"]


def test_the_destinations_of_a_response_are_its_calls() -> None:
    def call(**given: str) -> dict[str, object]:
        return {"type": "tool_call", "input": given}

    content = [{"type": "text"}, call(dest_path="a"), call(path="b"), call(dest_path="a")]
    assert destinations(json.dumps({"content": content})) == ["a"]
    assert destinations("{") == [] and destinations("{}") == []
