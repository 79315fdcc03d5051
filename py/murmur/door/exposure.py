"""Saying that a door is open to other machines: W-SEC-032. spec/door.md 5.1."""

from murmur.core.diagnostics import Diagnostic, warning
from murmur.core.tasks import Acceptance
from murmur.door.bind import is_loopback
from murmur.door.methods import served

DISCLOSED = "name, version, tools and what is granted"


def exposure(bind: str, acceptance: str, authenticated: bool) -> Diagnostic | None:
    """W-SEC-032 for a public door off loopback, the same from `mur run` and `mur doctor`.

    `bind` is the address, `acceptance` the task acceptance in force.
    """
    if authenticated or is_loopback(bind):
        return None
    methods = ", ".join(served(Acceptance(acceptance), authenticated=False))
    return warning("W-SEC-032", address=bind, methods=methods, discloses=DISCLOSED)
