"""One turn: read settings, ask the API that the model speaks, answer."""

from collections.abc import Mapping

from murmur_guest.exchange import Answer, Progress, Request, endpoint
from murmur_guest.provider import Post, ask

from openai_driver import chat, responses
from openai_driver.settings import read_settings, speaks_responses


def answer(
    request: Request, environment: Mapping[str, str], progress: Progress, post: Post
) -> Answer:
    """Answer one request. Raises DriverError."""
    settings = read_settings(environment)
    cap = request.max_tokens
    if speaks_responses(request.model):
        url = endpoint(environment, responses.PATH)
        reply = ask(post, url, {}, responses.body(request, settings))
        if reply.whole is not None:
            return responses.from_response(reply.whole, cap, settings)
        return responses.from_events(reply.events, cap, settings, progress)
    url = endpoint(environment, chat.PATH)
    reply = ask(post, url, {}, chat.body(request, settings))
    if reply.whole is not None:
        return chat.from_completion(reply.whole, cap)
    return chat.from_chunks(reply.events, cap, progress)
