"""What becomes of a session's keys, told by its trace. spec/observability.md 5.7.

No key, and no part of one, is in what is told.
"""

import dataclasses
import functools
from collections.abc import Callable

from murmur.inference.credentials import CredentialChange, InjectedCredential
from murmur.session.stage import Staged
from murmur.trace.writer import TraceWriter


def report_credentials(staged: Staged, trace: TraceWriter) -> None:
    """From now on each key's changes are lines: the primary driver's are `inference_credential`."""
    driver = staged.capsule.driver_entry
    for entry in staged.gateways.values():
        if entry.credential is not None:
            primary = driver is not None and entry.artifact == driver.name
            artifact = None if primary else entry.artifact
            entry.credential.report = functools.partial(_tell, trace, artifact)


def _tell(trace: TraceWriter, artifact: str | None, change: CredentialChange) -> None:
    fields = dataclasses.asdict(change)
    if artifact is None:
        trace.write_aside("inference_credential", **fields)
    else:
        trace.write_aside("gateway_credential", artifact=artifact, **fields)


def keys_of(staged: Staged) -> Callable[[], list[str]]:
    """The keys that no text of the trace may quote, asked for anew each time: they rotate."""
    credentials = [each.credential for each in staged.gateways.values() if each.credential]

    def current() -> list[str]:
        return [
            each.current().reveal()
            for each in credentials
            if not isinstance(each, InjectedCredential) or each.held
        ]

    return current
