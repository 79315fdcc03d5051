"""Programs whose own file access the check before a call cannot see. W-SEC-017."""

from collections.abc import Iterable
from typing import Final

INTERPRETERS: Final = (
    "bash",
    "sh",
    "zsh",
    "fish",
    "dash",
    "ksh",
    "python",
    "python3",
    "perl",
    "ruby",
    "node",
    "deno",
    "bun",
    "php",
    "awk",
    "gawk",
    "mawk",
    "lua",
    "tclsh",
    "Rscript",
)


def advisory_for(shell_allow: Iterable[str]) -> tuple[str, ...]:
    """The allowed binaries for which read-only paths are advice, in the order of `shell.allow`."""
    return tuple(dict.fromkeys(name for name in shell_allow if name in INTERPRETERS))
