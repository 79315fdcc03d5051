"""Images that tools attach to their results: taken in, kept by hash, sent while they are new.

A message names an image by its hash; the bytes lie beside the conversation and enter a request as
base64. Only the newest `context.images.keep` do, older ones become a line of text.
spec/sessions.md 17.5; spec/artifacts.md 3 and 11.2 (where images stand in a message is open there:
after the text of the tool's).
"""

import base64
import dataclasses
import hashlib
import posixpath
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from murmur.core.diagnostics import printable
from murmur.core.safefs import Root, TooLarge, UnsafePath
from murmur.guest.calls import Attachment
from murmur.manifest.session import Images as Limits
from murmur.session.history import History, Message

_LONGEST_NAME: Final = 200

_BEGINNINGS: Final[Mapping[str, Callable[[bytes], bool]]] = {
    "image/png": lambda data: data.startswith(b"\x89PNG\r\n\x1a\n"),
    "image/jpeg": lambda data: data.startswith(b"\xff\xd8\xff"),
    "image/gif": lambda data: data.startswith((b"GIF87a", b"GIF89a")),
    "image/webp": lambda data: data.startswith(b"RIFF") and data[8:12] == b"WEBP",
}


@dataclasses.dataclass(frozen=True, slots=True)
class Taken:
    """A tool call's images: `blocks` for its message, `data` by hash, `notes` on refusals."""

    blocks: tuple[Message, ...] = ()
    data: Mapping[str, bytes] = dataclasses.field(default_factory=dict)
    notes: tuple[str, ...] = ()


NOTHING: Final = Taken()


class _Refused(Exception):
    """Why an attachment is not taken."""


class Images:
    """The images of one session, within its limits. Used by the worker thread alone."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._turn: tuple[str | None, int] | None = None
        self._this_turn = 0

    def take(
        self, attachments: Sequence[Attachment], folder: Root, task_id: str | None, turn: int
    ) -> Taken:
        """Reads the attachments of a call, relative to the `folder` that its tool works in.

        What cannot be taken is a note, never an error.
        """
        if not attachments:
            return NOTHING
        if self._turn != (task_id, turn):
            self._turn, self._this_turn = (task_id, turn), 0
        blocks: list[Message] = []
        data: dict[str, bytes] = {}
        notes: list[str] = []
        for attachment in attachments:
            try:
                content = self._read(attachment, folder)
            except _Refused as refused:
                name = printable(attachment.path)[:_LONGEST_NAME]
                notes.append(f"[murmur] The image {name!r} was not taken: {refused}.")
                continue
            self._this_turn += 1
            digest = hashlib.sha256(content).hexdigest()
            data[digest] = content
            blocks.append(
                {
                    "type": "image",
                    "media_type": attachment.media_type,
                    "sha256": digest,
                    "bytes": len(content),
                }
            )
        return Taken(tuple(blocks), data, tuple(notes))

    def _read(self, attachment: Attachment, folder: Root) -> bytes:
        begins = _BEGINNINGS.get(attachment.media_type)
        if begins is None:
            raise _Refused(f"its media type is none of {', '.join(_BEGINNINGS)}")
        if self._this_turn >= self._limits.max_per_turn:
            raise _Refused(
                f"a turn takes {self._limits.max_per_turn} (context.images.max_per_turn)"
            )
        try:
            content = folder.read_bytes(posixpath.normpath(attachment.path), self._limits.max_bytes)
        except TooLarge:
            limit = self._limits.max_bytes
            raise _Refused(f"it is larger than {limit} bytes (context.images.max_bytes)") from None
        except UnsafePath as unsafe:
            raise _Refused(unsafe.reason) from None
        except OSError as failure:
            raise _Refused(failure.strerror or "it cannot be read") from None
        if not begins(content):
            raise _Refused(f"it does not begin as {attachment.media_type} does")
        return content

    def sent(self, history: History) -> tuple[Mapping[str, Any], ...]:
        """The history as a request holds it: new images as base64, old ones as text."""
        left = self._limits.keep
        ready: list[Mapping[str, Any]] = []
        for message in reversed(history.messages):
            if not any(block.get("type") == "image" for block in message["content"]):
                ready.append(message)
                continue
            content: list[Mapping[str, Any]] = []
            for block in reversed(message["content"]):
                if block.get("type") == "image":
                    block, left = self._block(block, history, left)
                content.append(block)
            ready.append({**message, "content": content[::-1]})
        return tuple(ready[::-1])

    def _block(
        self, block: Mapping[str, Any], history: History, left: int
    ) -> tuple[Mapping[str, Any], int]:
        """One image as it is sent, and how many may still be sent before it."""
        digest = str(block.get("sha256", ""))
        if left <= 0:
            return self._gone(block, f"only the newest {self._limits.keep} are sent"), 0
        content = history.image(digest)
        if content is None:
            return self._gone(block, "its file is gone"), left
        data = base64.b64encode(content).decode("ascii")
        source = {"type": "base64", "media_type": block.get("media_type"), "data": data}
        return {"type": "image", "source": source}, left - 1

    @staticmethod
    def _gone(block: Mapping[str, Any], reason: str) -> Mapping[str, Any]:
        text = f"[murmur] An image was here ({block.get('media_type')}, {block.get('sha256')}): "
        return {"type": "text", "text": f"{text}{reason}."}
