"""What a sub-capsule's runtime posts when it has ended. spec/door.md 12.

No delegation can be started yet, so none is awaited: a completion addressed to this session gets
the answer of one that nobody waits for.
"""

from typing import NoReturn

from starlette.datastructures import Headers

from murmur.door import errors, methods
from murmur.door.senders import murmur_header


def answer_completion(method: str, headers: Headers, session_id: str) -> NoReturn:
    """Raises the RpcError that answers a completion."""
    addressed = murmur_header(headers, "x-murmur-completion-session") or ""
    if addressed != session_id:
        raise errors.completion_misaddressed(addressed)
    if method != methods.SEND_MESSAGE:
        raise errors.method_not_found()
    raise errors.completion_not_awaited(murmur_header(headers, "x-murmur-delegation-id") or None)
