"""A `config.yaml` as a file: read with bounds, changed a key at a time, replaced whole.

A change keeps every other key, and the file's comments and layout where the place of the change
can be found; it goes through a temporary sibling and a rename, mode 0600, so that a reader sees
either file and a running capsule notices the new inode. spec/registry.md 21.
"""

import contextlib
import copy
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from murmur.core.diagnostics import MurmurError, error
from murmur.core.safefs import Root, UnsafePath

LARGEST: Final = 1 << 20
_PLAIN: Final = re.compile(r"[A-Za-z][A-Za-z0-9._/-]*", re.ASCII)
_NAME: Final = "config.yaml"

Value = str | list[str]


def read_text(path: Path) -> str:
    """The file's text; empty when there is none. Raises E-IO-003."""
    try:
        # Never waits for a writer: a project's folder may hold a pipe of that name.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return ""
    except OSError as failure:
        raise bad(path, str(failure.strerror)) from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise bad(path, "it is no regular file")
    with os.fdopen(descriptor, "rb") as file:
        try:
            data = file.read(LARGEST + 1)
        except OSError as failure:
            raise bad(path, str(failure.strerror)) from None
    return _decode(path, data)


def load(path: Path, text: str) -> dict[Any, Any]:
    """The file's mapping. Raises E-IO-003 without a word of what stands in the file."""
    import yaml

    try:
        document = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        # The parser's own words would quote the file, and the file may hold keys.
        raise bad(path, "it is not valid YAML") from None
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise bad(path, "it is not a mapping")
    return document


def change(path: Path, block: str, key: str, decide: Callable[[object], Value | None]) -> bool:
    """Sets `block.key` to what `decide` makes of the value there; None leaves all as it is.

    Whether the file was changed. The folder is made when it is missing (0700). Two changes at once
    happen one after the other. Raises E-IO-003, and leaves the file as it was then.
    """
    try:
        with _locked(path.parent) as root:
            text = _read_held(root, path)
            document = load(path, text)
            holder = document.get(block)
            if holder is not None and not isinstance(holder, Mapping):
                raise bad(path, f"{block} is not a mapping")
            value = decide(None if holder is None else holder.get(key))
            if value is None:
                return False
            edited = edit(text, document, block, key, value)
            root.write_atomic(_NAME, edited.encode("utf-8"), 0o600, sync=True)
            return True
    except UnsafePath as refused:
        raise bad(path, refused.reason) from None
    except OSError as failure:
        raise bad(path, str(failure.strerror)) from None


def edit(text: str, document: Mapping[Any, Any], block: str, key: str, value: Value) -> str:
    """`text` with `block.key` set; `document` is what `text` holds.

    The place is found in the text where the file is written in the usual style; what comes out is
    read again and must hold what was meant, else the whole file is written anew.
    """
    import yaml

    wanted = copy.deepcopy(dict(document))
    wanted[block] = {**(wanted.get(block) or {}), key: value}
    with contextlib.suppress(yaml.YAMLError, ValueError):
        edited = _in_place(text, block, key, value)
        if edited is not None and yaml.safe_load(edited) == wanted:
            return edited
    # Written as it is, text with a line separator such as U+0085 does not come back as it was.
    readable = yaml.safe_dump(wanted, sort_keys=False, allow_unicode=True)
    if yaml.safe_load(readable) == wanted:
        return readable
    return yaml.safe_dump(wanted, sort_keys=False)


def bad(path: Path, reason: str) -> MurmurError:
    """E-IO-003 for a configuration file."""
    return error("E-IO-003", what=str(path), reason=reason, hint="mend the file, or remove it")


def _decode(path: Path, data: bytes) -> str:
    if len(data) > LARGEST:
        raise bad(path, f"it is larger than {LARGEST} bytes")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise bad(path, "it is not UTF-8") from None


def _read_held(root: Root, path: Path) -> str:
    try:
        return _decode(path, root.read_bytes(_NAME, LARGEST + 1))
    except FileNotFoundError:
        return ""


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[Root]:
    """The open folder, locked against other changes; a link in its place is not followed."""
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder, 0o700)
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    with Root(os.open(folder, flags)) as root:
        with contextlib.suppress(ImportError):  # a system without it takes its chances
            import fcntl

            fcntl.flock(root.fileno(), fcntl.LOCK_EX)
        yield root


def _in_place(text: str, block: str, key: str, value: Value) -> str | None:
    """The change as an edit of the text; None where the file's style leaves no sure place."""
    import yaml

    root = yaml.compose(text, Loader=yaml.SafeLoader)
    if root is None:
        return f"{_ended(text)}{block}:\n  {key}: {_written(value)}\n"
    if not isinstance(root, yaml.MappingNode) or root.flow_style:
        return None
    found = _child(root, block)
    if found is None:
        return f"{_ended(text)}{block}:\n  {key}: {_written(value)}\n"
    if not isinstance(found, yaml.MappingNode) or found.flow_style:
        return None
    present = _child(found, key)
    if present is not None:
        start, end = present.start_mark.index, present.end_mark.index
        return text[:start] + _written(value) + text[end:]
    first = found.value[0][0].start_mark
    start = first.index - first.column
    return f"{text[:start]}{' ' * first.column}{key}: {_written(value)}\n{text[start:]}"


def _child(mapping: Any, key: str) -> Any:
    return next((value for name, value in mapping.value if name.value == key), None)


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else text + "\n"


def _written(value: Value) -> str:
    """A value on one line of YAML."""
    import yaml

    if isinstance(value, list):
        return f"[{', '.join(_written(item) for item in value)}]"
    if _PLAIN.fullmatch(value) and yaml.safe_load(value) == value:
        return value
    quoted = yaml.safe_dump(
        value, default_style='"', width=LARGEST, allow_unicode=value.isprintable()
    )
    return quoted.strip()
