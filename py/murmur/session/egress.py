"""What of the world a session's commands reach.

spec/containment.md 17. The list is `capabilities.network.allow`; artifacts narrow it for themselves
(`session/grants.py`), a harness to what its driver needs, commands have the whole of it.
"""

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

from murmur.manifest.network import parse_rules
from murmur.session.notices import say
from murmur.session.stage import Staged

if TYPE_CHECKING:
    from murmur.sandbox.egress.service import Egress


def open_egress(staged: Staged, allow: Iterable[str]) -> "Egress | None":
    """The way out to the entries of `allow`; call it on the event loop that shall serve it.

    None where commands have no network namespace: nothing there could bind them to the list.
    """
    if staged.containment.tier == "Environment-only":
        return None
    from murmur.sandbox.egress.service import Egress  # late: it takes a system that has splice

    return Egress(
        parse_rules(allow),
        warn=partial(_warn, staged),
    )


def _warn(staged: Staged, text: str) -> None:
    say(staged.directories.records_root, f"[capsule-runtime] warning: {text}")
