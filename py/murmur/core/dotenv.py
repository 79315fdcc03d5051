"""The workspace's `.env` file. spec/sessions.md 5."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from murmur.core.diagnostics import error
from murmur.core.regular import read_regular_text

_LARGEST: Final = 1 << 20
_EXPORT: Final = re.compile(r"^export[ \t]+")


def workspace_root(directory: Path) -> Path:
    """The nearest directory upward that holds a murmur.yaml, else `directory` itself."""
    for candidate in (directory, *directory.parents):
        # Not Path.is_file, which raises for a folder that may not be searched.
        if os.path.isfile(candidate / "murmur.yaml"):
            return candidate
    return directory


def parse_dotenv(text: str, path: str) -> dict[str, str]:
    """One `KEY=VALUE` a line; `#` lines and blank ones ignored; one pair of quotes removed.

    A shell's `export ` before the key is accepted, as spec/registry.md 22 recommends (open there).

    Raises E-IO-003 naming file and line for a line without `=` or an empty key.
    """
    values: dict[str, str] = {}
    for number, raw in enumerate(text.splitlines(), start=1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        key, equals, value = line.partition("=")
        key, value = _EXPORT.sub("", key.strip()), value.strip()
        if not equals or not key:
            found = "an empty key" if equals else "no `=`"
            raise error(
                "E-IO-003",
                what=f"{path}:{number}",
                reason=f"a line of a .env file is KEY=VALUE, and this one has {found}",
                hint="mend the line, or pass --no-env-file",
            )
        if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
            value = value[1:-1]
        values[key] = value
    return values


def with_dotenv(environ: Mapping[str, str], directory: Path) -> dict[str, str]:
    """`environ` and what `.env` adds to it; a variable already set, even to empty, stays.

    Raises E-IO-003 for a file that cannot be read or parsed.
    """
    path = workspace_root(directory) / ".env"
    try:
        text = read_regular_text(path, _LARGEST)
    except (FileNotFoundError, NotADirectoryError):
        return dict(environ)
    except (OSError, UnicodeDecodeError) as failure:
        reason = failure.strerror if isinstance(failure, OSError) else "it is not UTF-8"
        raise error(
            "E-IO-003", what=str(path), reason=str(reason), hint="or pass --no-env-file"
        ) from failure
    return {**parse_dotenv(text, str(path)), **environ}
