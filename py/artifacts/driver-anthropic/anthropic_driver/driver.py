"""One turn: read settings, ask the Messages API, answer."""

from collections.abc import Mapping

from murmur_guest.exchange import Answer, Progress, Request, endpoint
from murmur_guest.provider import Post, ask

from anthropic_driver import answering, asking
from anthropic_driver.settings import read_settings

PATH = "/v1/messages"


def answer(
    request: Request, environment: Mapping[str, str], progress: Progress, post: Post
) -> Answer:
    """Answer one request. Raises DriverError."""
    settings = read_settings(environment)
    url = endpoint(environment, PATH)
    reply = ask(post, url, asking.headers(settings), asking.body(request, settings))
    if reply.whole is not None:
        return answering.from_message(reply.whole, request.max_tokens)
    return answering.from_events(reply.events, request.max_tokens, progress)
