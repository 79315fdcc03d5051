"""Every `E-` code with its text, hint and phase. spec/diagnostics.md 4."""

from typing import Final

from murmur.core.codes.commands import COMMANDS
from murmur.core.codes.grants import GRANTS
from murmur.core.codes.runs import RUNS
from murmur.core.diagnostics import Template

ERRORS: Final[dict[str, Template]] = dict(sorted({**COMMANDS, **GRANTS, **RUNS}.items()))
