"""One turn: ask a provider in its dialect, answer."""

from collections.abc import Mapping

from murmur_guest.exchange import Answer, Progress, Request, endpoint
from murmur_guest.provider import Post, ask

from murmur_chat import answering, asking
from murmur_chat.dialect import Dialect

PATH = "/chat/completions"


def answer(
    request: Request,
    environment: Mapping[str, str],
    progress: Progress,
    post: Post,
    dialect: Dialect,
) -> Answer:
    """Answer one request. Raises DriverError."""
    reply = ask(post, endpoint(environment, PATH), {}, asking.body(request, dialect))
    if reply.whole is not None:
        return answering.from_completion(reply.whole, request.max_tokens, dialect)
    return answering.from_chunks(reply.events, request.max_tokens, dialect, progress)
