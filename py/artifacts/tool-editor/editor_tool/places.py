"""Where a path of the input leads inside the work folder, and the refusals on the way.

WASI keeps a guest inside its folder already. These checks stand before it so that a refusal says
what was wrong, and so that the same code is safe where it runs as plain Python.
"""

import errno
import os
from pathlib import Path

LINKS_FOLLOWED = 40


class EditorError(Exception):
    """A refusal or failure: `kind` is the result's `error_kind`, the text its message."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def resolve(folder: Path, text: str) -> str:
    """The path below `folder` that `text` leads to, links followed; "." is the folder itself.

    Raises EditorError `absolute_path`, `outside_workdir`, `invalid_input` or `io_error`. What
    does not exist yet is no error.
    """
    if not text or "\0" in text:
        raise EditorError("invalid_input", "the path is empty or holds a NUL")
    if text.startswith("/"):
        raise EditorError(
            "absolute_path", f"{text} is an absolute path; name it relative to the work folder"
        )
    waiting = text.split("/")[::-1]
    reached: list[str] = []
    links = 0
    while waiting:
        part = waiting.pop()
        if part in ("", "."):
            continue
        if part == "..":
            if not reached:
                raise _outside(text)
            reached.pop()
            continue
        target = _link(folder.joinpath(*reached, part), text)
        if target is None:
            reached.append(part)
            continue
        links += 1
        if links > LINKS_FOLLOWED:
            raise EditorError("io_error", f"{text} leads through too many links")
        if target.startswith("/"):
            raise _outside(text)
        waiting.extend(target.split("/")[::-1])
    return "/".join(reached) or "."


def failed(path: str, problem: OSError) -> EditorError:
    """The refusal that an operating system error becomes."""
    if problem.errno in (errno.ENOENT, errno.ENOTDIR):
        return EditorError("not_found", f"{path} does not exist")
    if problem.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return EditorError("permission_denied", f"{path} may not be used that way")
    return EditorError("io_error", f"{path}: {problem.strerror or problem}")


def _link(path: Path, text: str) -> str | None:
    try:
        return os.readlink(path)
    except OSError as problem:
        # WASI does not show where an absolute link leads.
        if problem.errno == errno.EPERM:
            raise _outside(text) from None
        return None


def _outside(text: str) -> EditorError:
    return EditorError("outside_workdir", f"{text} leads out of the work folder")
