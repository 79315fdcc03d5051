"""A file that a command was asked to write what it would print into."""

from pathlib import Path

from murmur.core.diagnostics import error


def write_output(path: Path, text: str) -> None:
    """Replaces the file whole; a link at its place is replaced, not followed. Raises E-IO-003."""
    from murmur.core.safefs import open_root

    try:
        with open_root(path.parent) as folder:
            folder.write_atomic(path.name, text.encode(), 0o644)
    except OSError as failure:
        reason = failure.strerror or str(failure)
        raise error("E-IO-003", what=f"cannot write {path}", reason=reason, hint="") from None
