"""A text file's bytes: its encoding and line ends, so that an edit leaves both as they are."""

# A component can import nothing later, and codecs are looked up by name.
import encodings.latin_1
import encodings.utf_16_be
import encodings.utf_16_le  # noqa: F401
from dataclasses import dataclass

from murmur_tooling.members import ToolError

SNIFFED_BYTES = 64 * 1024

_BOMS = (
    ("utf-8-bom", "utf-8", b"\xef\xbb\xbf"),
    ("utf-16-le", "utf-16-le", b"\xff\xfe"),
    ("utf-16-be", "utf-16-be", b"\xfe\xff"),
)
_CODECS = {"utf-8": ("utf-8", b""), "latin-1": ("latin-1", b"")} | {
    name: (codec, mark) for name, codec, mark in _BOMS
}
# What text in no known encoding never holds: control characters but those that lay text out.
_CONTROLS = bytes(set(range(32)) - set(b"\b\t\n\v\f\r\x1b")) + b"\x7f"
# A file with more bytes above ASCII than this share is data that happens to hold no control byte.
_MOST_HIGH = 0.3
_FEW_BYTES = 32


@dataclass(frozen=True, slots=True)
class Text:
    """A file's text, decoded without its byte order mark."""

    content: str
    encoding: str = "utf-8"

    @property
    def line_end(self) -> str:
        """What ends its lines: CR LF where every line has it, LF otherwise."""
        ends = self.content.count("\n")
        return "\r\n" if ends and self.content.count("\r\n") == ends else "\n"

    def fitting(self, text: str) -> str:
        """`text` with this file's line ends."""
        if self.line_end == "\n":
            return text
        return text.replace("\r\n", "\n").replace("\n", "\r\n")

    def encoded(self, path: str) -> bytes:
        """The bytes of the file. Raises ToolError `not_encodable`."""
        codec, mark = _CODECS[self.encoding]
        try:
            return mark + self.content.encode(codec)
        except UnicodeEncodeError as problem:
            bad = self.content[problem.start]
            raise ToolError(
                "not_encodable",
                f"{path} is {self.encoding} text, which cannot hold {bad!r}; "
                f"leave that character out, or write the whole file under another name",
            ) from None


def encoding_of(head: bytes, *, whole: bool) -> str | None:
    """The encoding of a file that begins with `head`; None for what is no text.

    UTF-8 with or without a byte order mark, UTF-16 with one, else Latin-1 for what holds no control
    character. `whole` says that nothing comes after `head`.
    """
    for name, _, mark in _BOMS:
        if head.startswith(mark):
            return name
    if b"\0" in head:
        return None
    if _is_utf8(head, whole):
        return "utf-8"
    high = sum(byte >= 0x80 for byte in head[:SNIFFED_BYTES])
    if len(head) > _FEW_BYTES and high > _MOST_HIGH * min(len(head), SNIFFED_BYTES):
        return None
    return None if head.translate(None, _CONTROLS) != head else "latin-1"


def decoded(data: bytes, encoding: str, *, cut: bool = False) -> str:
    """The text of `data`, with or without its byte order mark; `cut` says that it may end amid a
    character. Raises UnicodeDecodeError.
    """
    codec, mark = _CODECS[encoding]
    data = data[len(mark) :] if mark and data.startswith(mark) else data
    try:
        return data.decode(codec)
    except UnicodeDecodeError as problem:
        if cut and len(data) - problem.start < 4:
            return data[: problem.start].decode(codec)
        raise


def _is_utf8(head: bytes, whole: bool) -> bool:
    try:
        decoded(head, "utf-8", cut=not whole)
    except UnicodeDecodeError:
        return False
    return True
