"""Images in the conversation. spec/sessions.md 17.5."""

import base64
import hashlib
from pathlib import Path
from typing import Any

import pytest

from murmur.conversation.record import Record
from murmur.core.home import Home
from murmur.guest.calls import Attachment, GuestResult, ToolResult
from murmur.inference.payload import TurnRequest
from murmur.inference.pieces import IMAGE_TOKENS
from murmur.inference.tokens import count_tokens
from murmur.manifest.session import Images as Limits
from murmur.session.attempt import Attempt
from murmur.session.history import Keeping
from murmur.session.tests.scripted import Rig, call, calls, rig, says

PNG = b"\x89PNG\r\n\x1a\n" + b"p" * 20
JPEG = b"\xff\xd8\xff" + b"j" * 20
GIF = b"GIF89a" + b"g" * 20
WEBP = b"RIFF\x00\x00\x00\x00WEBP" + b"w" * 20


def attaches(*attachments: Attachment) -> Any:
    def tool(artifact: str, data: str, attempt: Attempt) -> GuestResult:
        return ToolResult("passed", data="seen", attachments=attachments)

    return tool


def run(at: Rig, context: str = "ctx_1") -> None:
    at.board.submit_local("go", context_id=context)
    assert at.runner.run(at.take()) is not None


def tool_message(at: Rig, request: int = 1) -> dict[str, Any]:
    (found,) = [each for each in at.requests[request]["messages"] if each["role"] == "tool"]
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize(
    ("media_type", "content"),
    [("image/png", PNG), ("image/jpeg", JPEG), ("image/gif", GIF), ("image/webp", WEBP)],
)
def test_an_image_reaches_the_model_after_the_text_and_the_record_by_its_hash(
    tmp_path: Path, media_type: str, content: bytes
) -> None:
    home = Home(tmp_path / ".murmur")
    home.root.mkdir()
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "a").write_bytes(content)
    tool = attaches(Attachment(media_type, "./pictures/a"))
    answers = [calls(call("t", x=1)), says("done")]
    at = rig(tmp_path, answers, tools={"t": tool}, keeping=Keeping(home=home, store="demo"))
    run(at)
    text, image = tool_message(at)["content"]
    assert text["text"].endswith("</untrusted-content>")
    assert image == {
        "type": "image",
        "source": {
            "type": "base64",
            "media_type": media_type,
            "data": base64.b64encode(content).decode(),
        },
    }
    record = Record(home, "demo", "ctx_1")
    digest = hashlib.sha256(content).hexdigest()
    assert record.load().messages[2]["content"][1] == {
        "type": "image",
        "media_type": media_type,
        "sha256": digest,
        "bytes": len(content),
    }
    assert record.image(digest) == content


@pytest.mark.parametrize("problem", ["type", "begins", "size", "link", "outside", "gone", "dir"])
def test_what_cannot_be_taken_is_a_note_and_changes_no_status(tmp_path: Path, problem: str) -> None:
    (tmp_path / "a.png").write_bytes(PNG)
    attachment, fact = Attachment("image/png", "a.png"), ""
    if problem == "type":
        attachment, fact = Attachment("image/svg+xml", "a.png"), "media type"
    elif problem == "begins":
        attachment, fact = Attachment("image/gif", "a.png"), "does not begin as image/gif"
    elif problem == "size":
        fact = "larger than 10 bytes (context.images.max_bytes)"
    elif problem == "link":
        (tmp_path / "b.png").symlink_to(tmp_path / "a.png")
        attachment, fact = Attachment("image/png", "b.png"), "symbolic link"
    elif problem == "outside":
        attachment, fact = Attachment("image/png", "../a.png"), "not allowed"
    elif problem == "gone":
        attachment, fact = Attachment("image/png", "c.png"), "No such file"
    else:
        attachment, fact = Attachment("image/png", "out"), "not a regular file"
    limits = Limits(max_bytes=10 if problem == "size" else 1000)
    answers = [calls(call("t", x=1)), says("done")]
    at = rig(tmp_path, answers, tools={"t": attaches(attachment)}, images_kept=limits)
    run(at)
    message = tool_message(at)
    assert len(message["content"]) == 1 and message["is_error"] is False
    note = message["content"][0]["text"].rpartition("</untrusted-content>")[2]
    assert note.startswith("\n[murmur] The image ") and fact in note


def test_a_turn_takes_so_many_and_the_next_turn_again(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(PNG + name.encode())
    tool = attaches(Attachment("image/png", "a"), Attachment("image/png", "b"))
    answers = [calls(call("t", x=1), call("t", x=2)), calls(call("t", x=3)), says("done")]
    at = rig(tmp_path, answers, tools={"t": tool}, images_kept=Limits(max_per_turn=1))
    run(at)
    tools = [each for each in at.requests[2]["messages"] if each["role"] == "tool"]
    assert [len(each["content"]) for each in tools] == [2, 1, 2]
    assert "context.images.max_per_turn" in tools[1]["content"][0]["text"]


def test_only_the_newest_are_sent_and_older_ones_become_text(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(PNG + name.encode())
    tool = attaches(Attachment("image/png", "a"), Attachment("image/png", "b"))
    answers = [calls(call("t", x=1)), says("done")]
    at = rig(tmp_path, answers, tools={"t": tool}, images_kept=Limits(keep=1))
    run(at)
    _, older, newer = tool_message(at)["content"]
    assert newer["type"] == "image"
    assert older["type"] == "text" and hashlib.sha256(PNG + b"a").hexdigest() in older["text"]
    at = rig_of_none(tmp_path / "none", tool)
    run(at)
    assert [each["type"] for each in tool_message(at)["content"]] == ["text", "text", "text"]


def rig_of_none(folder: Path, tool: Any) -> Rig:
    folder.mkdir()
    for name in ("a", "b"):
        (folder / name).write_bytes(PNG)
    answers = [calls(call("t", x=1)), says("done")]
    return rig(folder, answers, tools={"t": tool}, images_kept=Limits(keep=0))


def test_an_image_counts_as_so_many_tokens_whatever_its_size() -> None:
    def request(data: str) -> TurnRequest:
        source = {"type": "base64", "media_type": "image/png", "data": data}
        content = [{"type": "text", "text": "see"}, {"type": "image", "source": source}]
        return TurnRequest("m", 100, [{"role": "tool", "content": content}])

    empty = count_tokens(request("").full_payload())
    assert request("").input_tokens() == request("A" * 100_000).input_tokens()
    assert request("").input_tokens() == empty + IMAGE_TOKENS
