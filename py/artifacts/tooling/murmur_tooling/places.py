"""Where a path of the input leads inside the folder that a tool was given.

WASI keeps a guest inside its folder already. These checks stand before it so that a refusal says
what was wrong, and so that the same code is safe where it runs as plain Python.
"""

import errno
import os
from pathlib import Path

from murmur_tooling.members import ToolError

LINKS_FOLLOWED = 40


def resolve(folder: Path, text: str) -> str:
    """The path below `folder` that `text` leads to, links followed; "." is the folder itself.

    Raises ToolError `absolute_path`, `outside_workdir`, `invalid_input` or `io_error`. What
    does not exist yet is no error.
    """
    if not text or "\0" in text:
        raise ToolError("invalid_input", "the path is empty or holds a NUL")
    if text.startswith("/"):
        raise ToolError(
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
            raise ToolError("io_error", f"{text} leads through too many links")
        if target.startswith("/"):
            raise _outside(text)
        waiting.extend(target.split("/")[::-1])
    return "/".join(reached) or "."


def failed(path: str, problem: OSError) -> ToolError:
    """The refusal that an operating system error becomes."""
    if problem.errno in (errno.ENOENT, errno.ENOTDIR):
        return ToolError("not_found", f"{path} does not exist")
    if problem.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return ToolError("permission_denied", f"{path} may not be used that way")
    return ToolError("io_error", f"{path}: {problem.strerror or problem}")


def _link(path: Path, text: str) -> str | None:
    try:
        return os.readlink(path)
    except OSError as problem:
        # WASI does not show where an absolute link leads.
        if problem.errno == errno.EPERM:
            raise _outside(text) from None
        return None


def _outside(text: str) -> ToolError:
    return ToolError("outside_workdir", f"{text} leads out of the work folder")
