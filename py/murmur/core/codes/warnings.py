"""Every `W-` code with its text, link place and phase. spec/diagnostics.md 5."""

from typing import Final

from murmur.core.codes.notices import NOTICES
from murmur.core.codes.security import SECURITY
from murmur.core.diagnostics import Template

WARNINGS: Final[dict[str, Template]] = dict(sorted({**NOTICES, **SECURITY}.items()))
