"""A driver's turn beside the same HTTP call made directly: `bazel run //tests/bench:drivers`.

Each turn streams a short answer from a server of ours on loopback. Ours is the whole call: payload,
component, gate, gateway, counts. Beside it stand the same request over a connection of its own and
over one that is kept open, whose difference is what the gateway could save by keeping its own.

Prints and asserts nothing. Options: --times N, --artifact FILE for each driver's archive.
"""

import argparse
import asyncio
import contextlib
import functools
import http.client
import json
import os
import ssl
import sys
import tempfile
import threading
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from murmur.guest.calls import GateRules, GuestCall, GuestResult, ToolInput
from murmur.guest.client import Guests
from murmur.inference.driver import DriverClient, OnEvent
from murmur.inference.gateway import Gateway
from murmur.inference.gateway_routes import GatewayTarget, Route
from murmur.inference.payload import TurnRequest
from murmur.inference.reply import Turn
from murmur.inference.tests.upstream import Authority, make_authority
from murmur.manifest.endpoint import parse_endpoint
from murmur.manifest.inference import Retry
from murmur.sandbox.guests import start_zygote
from murmur.sandbox.mur_sandbox import find_helper
from tests.bench.timing import Row, Timing, Unmeasurable, repeat, show, timed
from tests.providers import anthropic_server, openai_server
from tests.providers.scripted import Server

TEXT = "An answer of about the length that a short remark of a model has. " * 4
MESSAGES = [{"role": "user", "content": [{"type": "text", "text": "Say something."}]}]


@dataclass(frozen=True)
class Measured:
    """A driver and what it is measured against."""

    driver: str
    server: ModuleType
    path: str


DRIVERS = (
    Measured("driver-anthropic", anthropic_server, "/v1/messages"),
    Measured("driver-openai", openai_server, "/v1/chat/completions"),
)


def main() -> int:
    """Measures and prints. 1 when something that should run did not."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=50)
    parser.add_argument(
        "--artifact", dest="artifacts", type=Path, action="append", required=True, metavar="FILE"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="murmur-bench-") as name:
        root = Path(name)
        authority = make_authority(root, "localhost")
        try:
            with contextlib.ExitStack() as stack:
                guests = Guests.start(functools.partial(start_zygote, find_helper()))
                stack.callback(guests.close)
                gateway = stack.enter_context(_served(guests, authority))
                rows = [
                    _row(measured, archive, guests, gateway, root, tls, options.times)
                    for measured in DRIVERS
                    for archive in options.artifacts
                    if archive.name.startswith(f"{measured.driver}-")
                    for tls in (None, authority)
                ]
        except Unmeasurable as failure:
            print(f"cannot be measured: {failure}", file=sys.stderr)
            return 1
    print(show(rows))
    return 0


def _row(
    measured: Measured,
    archive: Path,
    guests: Guests,
    gateway: Gateway,
    root: Path,
    authority: Authority | None,
    times: int,
) -> Row:
    compiled = _compiled(archive, guests, root)
    script = [{"text": TEXT}] * (times * 4)
    tls = authority.server if authority is not None else None
    with measured.server.start(script, tls=tls) as server:
        call = _driver_call(measured, server, guests, gateway, compiled)
        call()
        scheme = server.url.partition(":")[0]
        ours = repeat(f"a turn of {measured.driver}, {scheme}", times, timed(call))
        trust = authority.trust() if authority is not None else None
        body = json.dumps(server.requests[0].body).encode()
        return Row(
            ours,
            (
                _direct("the same call, a connection each", measured, server, body, trust, times),
                _direct("the same call, one kept open", measured, server, body, trust, times, True),
            ),
        )


def _driver_call(
    measured: Measured, server: Server, guests: Guests, gateway: Gateway, compiled: Path
) -> Callable[[], None]:
    endpoint = parse_endpoint(server.url)
    prefix = server.url.partition("://")[2].partition("/")[2]
    address = "http://127.0.0.1:9" + (f"/{prefix}" if prefix else "")

    def invoke(
        payload: str, token: str, on_event: OnEvent | None, cancel: threading.Event
    ) -> GuestResult:
        call = GuestCall(
            artifact=measured.driver,
            role="driver",
            compiled=compiled,
            key=compiled.name,
            input=ToolInput(payload),
            env=(("MURMUR_INFERENCE_ENDPOINT", address),),
            gate=GateRules(gateway.address, token, gateway=True),
        )
        return guests.call(call, on_event=on_event)

    target = GatewayTarget(endpoint, "x-api-key", "{key}", None)
    client = DriverClient(measured.driver, Route(measured.driver, (), target), invoke, gateway)

    def call() -> None:
        answered = client.call(
            TurnRequest("bench", 1000, MESSAGES),
            Retry(max_retries=0),
            cancel=threading.Event(),
            on_event=lambda kind, facts: None,
        )
        if not isinstance(answered.result, Turn):
            raise Unmeasurable(f"{measured.driver}: {answered.result.error}")

    return call


def _direct(
    name: str,
    measured: Measured,
    server: Server,
    body: bytes,
    trust: ssl.SSLContext | None,
    times: int,
    kept: bool = False,
) -> Timing:
    place = server.url.partition("://")[2].partition("/")[0]

    def connect() -> http.client.HTTPConnection:
        if trust is None:
            return http.client.HTTPConnection(place)
        return http.client.HTTPSConnection(place, context=trust)

    held = connect() if kept else None

    def ask() -> None:
        connection = held or connect()
        connection.request("POST", measured.path, body, {"content-type": "application/json"})
        answer = connection.getresponse()
        if answer.status != 200 or not answer.read():
            raise Unmeasurable(f"the server answered {answer.status}")
        if not kept:
            connection.close()

    timing = repeat(name, times, timed(ask))
    if held is not None:
        held.close()
    return timing


def _compiled(archive: Path, guests: Guests, root: Path) -> Path:
    path = root / f"{archive.name}.cwasm"
    if not path.exists():
        target = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with zipfile.ZipFile(archive) as packed:
                guests.compile(packed.read("capsule.wasm"), target)
        finally:
            os.close(target)
    return path


@contextlib.contextmanager
def _served(guests: Guests, authority: Authority) -> Iterator[Gateway]:
    """The guests' gateway on a loop of its own."""
    if guests.process.listener is None:
        raise Unmeasurable("the guests have no listener")
    loop = asyncio.new_event_loop()
    ready, stop = threading.Event(), asyncio.Event()
    gateway = Gateway(guests.process.listener, trust=authority.trust())

    async def serve() -> None:
        await gateway.start()
        ready.set()
        await stop.wait()
        await gateway.close()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    ready.wait()
    try:
        yield gateway
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        loop.close()


if __name__ == "__main__":
    sys.exit(main())
