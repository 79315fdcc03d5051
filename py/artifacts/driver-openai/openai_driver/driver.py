"""One turn: read settings, ask the API that the model speaks, answer."""

from collections.abc import Mapping

from murmur_chat import turn
from murmur_guest.exchange import Answer, Progress, Request, endpoint
from murmur_guest.provider import Post, ask

from openai_driver import responses
from openai_driver.settings import chat_dialect, read_settings, speaks_responses


def answer(
    request: Request, environment: Mapping[str, str], progress: Progress, post: Post
) -> Answer:
    """Answer one request. Raises DriverError."""
    settings = read_settings(environment)
    if not speaks_responses(request.model):
        dialect = chat_dialect(request.model, settings)
        return turn.answer(request, environment, progress, post, dialect)
    url = endpoint(environment, responses.PATH)
    reply = ask(post, url, {}, responses.body(request, settings))
    if reply.whole is not None:
        return responses.from_response(reply.whole, request.max_tokens, settings)
    return responses.from_events(reply.events, request.max_tokens, settings, progress)
