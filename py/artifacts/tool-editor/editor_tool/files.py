"""One text file as a whole: loading it to be changed, and storing it.

A new file appears whole, by a rename. An existing one is written in place, so that its mode and its
other names stay; what it was is in the history first, and is put back if the write fails.
"""

import contextlib
import os
import stat
from pathlib import Path

from murmur_tooling.members import ToolError
from murmur_tooling.places import failed

from editor_tool import history
from editor_tool.texts import Text, decoded, encoding_of

FILE_BYTES = 16 * 1024 * 1024


def load(folder: Path, path: str) -> Text:
    """The whole text of a resolved path.

    Raises ToolError `not_found`, `permission_denied`, `is_directory`, `too_large`, `not_text`,
    `interrupted_write`.
    """
    data = content(folder, path)
    if data is None:
        raise ToolError("not_found", f"{path} does not exist")
    if len(data) > FILE_BYTES:
        raise ToolError("too_large", f"{path} is larger than {FILE_BYTES} bytes")
    history.refuse_torn(folder, path, data)
    return text_of(path, data)


def text_of(path: str, data: bytes) -> Text:
    """The text of a file's bytes. Raises ToolError `not_text`."""
    encoding = encoding_of(data, whole=True)
    if encoding is None:
        raise not_text(path)
    try:
        return Text(decoded(data, encoding), encoding)
    except UnicodeDecodeError:
        raise not_text(path) from None


def not_text(path: str) -> ToolError:
    """The refusal of a binary file."""
    return ToolError("not_text", f"{path} is a binary file, or in an encoding that is not known")


def content(folder: Path, path: str) -> bytes | None:
    """A file's bytes, one more than FILE_BYTES of a larger one; None where there is none."""
    try:
        refuse_unless_file(folder, path)
        with (folder / path).open("rb") as file:
            return file.read(FILE_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as problem:
        raise failed(path, problem) from None


def refuse_unless_file(folder: Path, path: str) -> None:
    """Raise ToolError for what is there and no regular file; OSError for what is not there."""
    mode = (folder / path).stat().st_mode
    if stat.S_ISDIR(mode):
        raise ToolError("is_directory", f"{path} is a directory")
    if not stat.S_ISREG(mode):
        raise ToolError("io_error", f"{path} is neither a file nor a directory")


def store(folder: Path, path: str, before: bytes | None, after: bytes) -> bool:
    """Write a file that was `before` (None: not there). Says whether the change can be undone."""
    entry = history.begin(folder, path, before, after)
    try:
        if before is None:
            _place(folder / path, after)
        else:
            overwrite(folder / path, before, after)
    except OSError as problem:
        if entry is not None and content(folder, path) == before:
            history.drop(folder, entry)
        raise failed(path, problem) from None
    if entry is not None:
        history.finish(folder, entry)
    return entry is not None


def _place(target: Path, data: bytes) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = target.with_name(f".{target.name}.new-{os.urandom(4).hex()}")
    try:
        with fresh.open("xb") as file:
            file.write(data)
        fresh.rename(target)
    except OSError:
        with contextlib.suppress(OSError):
            fresh.unlink()
        raise


def overwrite(target: Path, before: bytes, after: bytes) -> None:
    """Write an existing file in place; what it was is put back when that fails. Raises OSError."""
    with target.open("r+b", buffering=0) as file:
        try:
            _write_all(file.fileno(), after)
            file.truncate(len(after))
        except OSError:
            # There is room for what was there a moment ago.
            if len(before) <= FILE_BYTES:
                file.seek(0)
                _write_all(file.fileno(), before)
                file.truncate(len(before))
            raise


def _write_all(descriptor: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]
