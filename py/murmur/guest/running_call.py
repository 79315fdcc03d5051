"""One call of a guest under way in its host: the epoch's clock, and what answers its imports."""

from __future__ import annotations

import math
import socket
import threading
import time
from typing import Any

from wasmtime import Engine, StoreContext, WasmtimeError
from wasmtime.component import ResourceAny

from murmur.guest.calls import MAX_TEXT_CHARACTERS, GuestCall
from murmur.guest.frames import receive_frame, send_frame
from murmur.guest.gate import Gate, OpenGate, decide, denied
from murmur.guest.memory import MemoryAccount
from murmur.guest.questions import TASK_INTERFACE, UNCHARGED, Answer, pack, unpack_answer
from murmur.guest.values import text_size
from murmur.manifest import network

TICK_SECONDS = 0.1
STDERR_TAIL_BYTES = 16384


class Ticker:
    """Advances the engine's epoch every 100 ms while a guest runs and waits for nobody."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._running = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._tick, name="epoch", daemon=True)
            self._thread.start()
        self._running.set()

    def stop(self) -> None:
        self._running.clear()

    def _tick(self) -> None:
        while self._running.wait():
            time.sleep(TICK_SECONDS)
            if self._running.is_set():
                self._engine.increment_epoch()


def deadline_ticks(seconds: float) -> int:
    """Ticks until a deadline: never before it, at most one tick after."""
    return max(1, math.ceil(seconds / TICK_SECONDS)) + 1


class RunningCall:
    """One call under way: answers its guest's imports (`linking.CurrentCall`)."""

    def __init__(
        self,
        call: GuestCall,
        connection: socket.socket,
        gate: Gate,
        account: MemoryAccount,
        ticker: Ticker,
    ) -> None:
        self._call = call
        self._connection = connection
        self._gate = gate
        self._account = account
        self._ticker = ticker
        self._open_gate: OpenGate | None = None
        self._stderr = bytearray()

    def takes_over(self, call: GuestCall) -> None:
        """The same guest is called again: its gate, where it opened one, stays."""
        self._call = call
        self._stderr.clear()

    @property
    def stderr(self) -> str:
        return self._stderr.decode("utf-8", "replace")

    def write_stderr(self, data: bytes) -> int:
        self._stderr += data
        del self._stderr[:-STDERR_TAIL_BYTES]
        return len(data)

    def event(self, kind: str, facts: dict[str, Any]) -> None:
        if self._call.in_task:
            _bounded(facts)
            send_frame(self._connection, "event", name=kind, facts=facts)

    def ask(self, interface: str, function: str, arguments: tuple[Any, ...]) -> Answer:
        _bounded(arguments)
        if interface == TASK_INTERFACE and not (self._call.in_task and self._call.role == "tool"):
            raise WasmtimeError("request-input is served to a tool within a task only")
        uncharged = interface in UNCHARGED
        if uncharged:
            self._ticker.stop()
        send_frame(
            self._connection,
            "ask",
            interface=interface,
            function=function,
            arguments=pack(arguments),
        )
        answer = receive_frame(self._connection)
        if uncharged:
            self._ticker.start()
        if "answer" not in answer.facts:
            raise WasmtimeError(str(answer.facts.get("trap", "no answer")))
        return unpack_answer(answer.facts["answer"])

    def dropped(self, interface: str, resource: str, number: int) -> None:
        facts = {"interface": interface, "resource": resource, "number": number}
        send_frame(self._connection, "event", name="dropped", facts=facts)

    def http(self, store: StoreContext, request: ResourceAny, options: ResourceAny | None) -> Any:
        if self._open_gate is None:
            with self._account.uncharged():
                self._open_gate = self._gate.open(store)
        gate, rules = self._open_gate, self._call.gate
        scheme, authority, path = gate.target(store, request)
        verdict = decide(rules, _allows(rules.rules if rules else ()), scheme, authority, path)
        reason = verdict.reason
        if rules is not None and verdict.path is not None:
            if gate.redirect(store, request, rules.listener, verdict.path):
                return gate.send(store, request, options)
            reason = "the path is not valid in a request"
        request.drop(store)
        if options is not None:
            options.drop(store)
        facts = {"scheme": scheme, "authority": authority, "reason": reason}
        send_frame(self._connection, "event", name="request-denied", facts=facts)
        return denied()


def _bounded(value: object) -> None:
    if (size := text_size(value)) > MAX_TEXT_CHARACTERS:
        raise WasmtimeError(f"{size} characters are more than the runtime takes at once")


def _allows(rules: tuple[str, ...]) -> Any:
    parsed = tuple(network.parse_rule(rule) for rule in rules)
    return lambda scheme, host, port: network.allows(parsed, scheme, host, port) is not None
