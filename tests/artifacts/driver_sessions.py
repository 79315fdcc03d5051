"""The provider drivers as the runtime calls them: component, gate, gateway, retries, real HTTP.

Each API has a server of tests/providers that speaks its documented wire format; what is said of a
turn there is the same for all, and what differs in the answer stands in an `Api`.
"""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from murmur.guest.calls import GateRules, GuestResult
from murmur.inference.credentials import CredentialChange
from murmur.inference.driver import Answered, DriverClient, OnEvent
from murmur.inference.gateway import Gateway
from murmur.inference.gateway_routes import GatewayTarget, Route
from murmur.inference.payload import TurnRequest
from murmur.inference.retry import RetryNotice
from murmur.inference.tests.guest_side import Keys
from murmur.manifest.endpoint import parse_endpoint
from murmur.manifest.inference import Retry
from tests.artifacts.components import Artifact
from tests.providers import anthropic_server, deepseek_server, moonshotai_server, openai_server
from tests.providers.scripted import Server

KEY = "sk-test-0123456789abcdef"
TOOLS = [{"name": "tool-editor", "parameters": {"type": "object"}, "description": "Edit files"}]
QUICK = Retry(max_retries=2, initial_delay_ms=1, max_delay_ms=40)
MODEL_IMAGE = "aW1hZ2U="


@dataclass(frozen=True)
class Api:
    """One API of one provider, and how it says what all of them can say."""

    driver: str
    server: ModuleType
    model: str
    path: str
    provider: str
    capped: str
    """The stop signal of an answer that met the output cap."""
    usage: Mapping[str, Any]
    """3 tokens out of the cache and 2 of thinking, in the provider's words."""
    counted: Mapping[str, int]
    """The same on the trace's `inference` line."""
    image: Mapping[str, Any]
    """An image as it is sent."""
    says_why: bool = True
    """Whether a refusal comes with the provider's words."""
    config: Mapping[str, Any] = field(default_factory=dict)
    upstream: tuple[str, str] = ("Authorization", "Bearer {key}")

    def key_of(self, headers: Mapping[str, str]) -> str | None:
        """The key that a request carried."""
        value = headers.get(self.upstream[0].lower())
        return value.removeprefix("Bearer ") if value else None


IMAGE_URL = f"data:image/png;base64,{MODEL_IMAGE}"
CHAT_IMAGE = {"type": "image_url", "image_url": {"url": IMAGE_URL}}
CHAT_USAGE = {
    "prompt_tokens_details": {"cached_tokens": 3},
    "completion_tokens_details": {"reasoning_tokens": 2},
}
COUNTED = {"cached_tokens": 3, "thinking_tokens": 2}
APIS = {
    "anthropic": Api(
        driver="driver-anthropic",
        server=anthropic_server,
        model="claude-haiku-4-5",
        path="/v1/messages",
        provider="Anthropic",
        capped="max_tokens",
        usage={"cache_read_input_tokens": 3, "cache_creation_input_tokens": 4},
        counted={"cached_tokens": 3, "cache_write_tokens": 4},
        image={
            "type": "image",
            "source": {"type": "base64", "media_type": "image/png", "data": MODEL_IMAGE},
        },
        says_why=False,
        config={"thinking": "enabled"},
        upstream=("x-api-key", "{key}"),
    ),
    "openai-chat": Api(
        driver="driver-openai",
        server=openai_server,
        model="gpt-4o",
        path="/v1/chat/completions",
        provider="OpenAI",
        capped="length",
        usage=CHAT_USAGE,
        counted=COUNTED,
        image=CHAT_IMAGE,
    ),
    "openai-responses": Api(
        driver="driver-openai",
        server=openai_server,
        model="gpt-5.6-luna",
        path="/v1/responses",
        provider="OpenAI",
        capped="incomplete",
        usage={
            "input_tokens_details": {"cached_tokens": 3},
            "output_tokens_details": {"reasoning_tokens": 2},
        },
        counted=COUNTED,
        image={"type": "input_image", "image_url": IMAGE_URL},
        config={"thinking": "enabled"},
    ),
    "deepseek": Api(
        driver="driver-deepseek",
        server=deepseek_server,
        model="deepseek-flash",
        path="/chat/completions",
        provider="DeepSeek",
        capped="length",
        usage={"prompt_cache_hit_tokens": 3, "completion_tokens_details": {"reasoning_tokens": 2}},
        counted=COUNTED,
        image=CHAT_IMAGE,
        says_why=False,
        config={"thinking": "enabled", "reasoning_effort": "high"},
    ),
    "moonshotai": Api(
        driver="driver-moonshotai",
        server=moonshotai_server,
        model="kimi-k3",
        path="/v1/chat/completions",
        provider="Moonshot",
        capped="length",
        usage={"cached_tokens": 3, "completion_tokens_details": {"reasoning_tokens": 2}},
        counted=COUNTED,
        image=CHAT_IMAGE,
        says_why=False,
        config={"reasoning_effort": "high"},
    ),
}


class NamedKeys(Keys):
    """Keys with what a credential says about itself."""

    source = "config"
    origin = "credentials.PROVIDER_KEY in config.yaml"

    @staticmethod
    def report(change: CredentialChange) -> None:
        """Nobody listens."""


@dataclass
class Made:
    """A model call, and what was seen of it."""

    answered: Answered
    events: list[tuple[str, dict[str, Any]]]
    notices: list[RetryNotice]

    @property
    def result(self) -> Any:
        """A Turn or a TurnFailure, for the test to say which."""
        return self.answered.result

    @property
    def trace(self) -> Mapping[str, Any]:
        """The fields of the `inference` line."""
        return self.answered.trace_fields()

    def told(self, kind: str, member: str = "chunk") -> list[Any]:
        """What the driver said in events of one kind."""
        return [facts[member] for name, facts in self.events if name == kind]


@dataclass
class Session:
    """A driver with a gateway in front of a scripted server."""

    api: Api
    driver: Artifact
    gateway: Gateway
    keys: NamedKeys = field(default_factory=lambda: NamedKeys(KEY))

    def call(self, server: Server, *messages: dict[str, Any], retry: Retry = QUICK) -> Made:
        """One model call of the loop."""
        path = server.url.partition("://")[2].partition("/")[2]
        address = "http://127.0.0.1:9" + (f"/{path}" if path else "")

        def invoke(
            payload: str, token: str, on_event: OnEvent | None, cancel: threading.Event
        ) -> GuestResult:
            gate = GateRules(self.gateway.address, token, gateway=True)
            called = self.driver.call(
                json.loads(payload),
                gate=gate,
                MURMUR_INFERENCE_ENDPOINT=address,
                MURMUR_INFERENCE_DRIVER_CONFIG=json.dumps(self.api.config),
            )
            for event in called.events:
                if on_event is not None:
                    on_event(*event)
            return called.result

        target = GatewayTarget(parse_endpoint(server.url), *self.api.upstream, self.keys)
        route = Route(self.api.driver, (), target)
        client = DriverClient(self.api.driver, route, invoke, self.gateway, self.keys)  # type: ignore[arg-type]
        request = TurnRequest(
            model=self.api.model,
            max_tokens=2048,
            messages=messages or (user("go"),),
            tools=TOOLS,
            system="You edit.",
            prompt_cache_key="helper:0.1.0",
        )
        events: list[tuple[str, dict[str, Any]]] = []
        notices: list[RetryNotice] = []
        answered = client.call(
            request,
            retry,
            cancel=threading.Event(),
            on_event=lambda *event: events.append(event),
            on_retry=notices.append,
        )
        return Made(answered, events, notices)


def holds(value: object, part: Mapping[str, Any]) -> bool:
    """Whether an object with all members of `part` stands anywhere in a JSON value."""
    if isinstance(value, dict):
        return part.items() <= value.items() or any(holds(each, part) for each in value.values())
    return isinstance(value, list) and any(holds(each, part) for each in value)


@contextmanager
def served_gateway() -> Iterator[Gateway]:
    """A gateway on a loop of its own."""
    loop = asyncio.new_event_loop()
    stop, ready = asyncio.Event(), threading.Event()
    held: list[Gateway] = []

    async def serve() -> None:
        gateway = Gateway(socket.create_server(("127.0.0.1", 0)))
        await gateway.start()
        held.append(gateway)
        ready.set()
        await stop.wait()
        await gateway.close()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    assert ready.wait(10)
    try:
        yield held[0]
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)
        loop.close()


def user(*content: str | dict[str, Any]) -> dict[str, Any]:
    """A message of the user: texts, and blocks as they are."""
    blocks = [{"type": "text", "text": each} if isinstance(each, str) else each for each in content]
    return {"role": "user", "content": blocks}


def result(call_id: str, *content: str | dict[str, Any]) -> dict[str, Any]:
    """A tool's result."""
    said = {**user(*content), "role": "tool"}
    return {**said, "tool_call_id": call_id, "is_error": False}
