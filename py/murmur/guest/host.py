"""A guest host: a fork of the zygote that opens components and serves the runtime's calls, one at a
time.

Order (design/decisions.md 7): parent-death signal, descriptors closed, one thread asserted,
lockdown, and only then a component. A fresh store and instance per call (spec/artifacts.md 6); what
stays is the loaded component. A host that compiles does one job and ends, and instantiates nothing
(spec/registry.md 16).
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import math
import mmap
import os
import socket
import sys
import threading
import time
from typing import Any

from wasmtime import Engine, Store, StoreContext, WasiConfig, WasmtimeError
from wasmtime import _ffi as ffi
from wasmtime.component import Component, Func, Instance, Linker, ResourceAny, _enter

from murmur.guest import failures
from murmur.guest.calls import (
    MAX_TEXT_CHARACTERS,
    TOOL_RUN,
    GuestCall,
    GuestResult,
    call_from_facts,
    result_facts,
)
from murmur.guest.engine import new_engine
from murmur.guest.frames import PeerGone, receive_frame, send_frame
from murmur.guest.gate import Gate, OpenGate, decide, denied
from murmur.guest.linking import SERVED, Bridge
from murmur.guest.memory import MemoryAccount
from murmur.guest.values import ResultTooLarge, lift_result, lower_input
from murmur.manifest import network

TICK_SECONDS = 0.1
STDERR_TAIL_BYTES = 16384
GATE_INSTANCES = 3
"""Core instances that the gate adds to a store; they are not counted against the guest's own limit.
"""


class LoadError(Exception):
    """A compiled form that cannot be used, or a component that does not fit what is served here."""


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

    @property
    def stderr(self) -> str:
        return self._stderr.decode("utf-8", "replace")

    def write_stderr(self, data: bytes) -> int:
        self._stderr += data
        del self._stderr[:-STDERR_TAIL_BYTES]
        return len(data)

    def event(self, kind: str, facts: dict[str, Any]) -> None:
        if self._call.in_task:
            for fact in facts.values():
                _bounded(fact)
            send_frame(self._connection, "event", name=kind, facts=facts)

    def request_input(self, prompt: str) -> str:
        _bounded(prompt)
        if not self._call.in_task or self._call.role != "tool":
            raise WasmtimeError("request-input is served to a tool within a task only")
        self._ticker.stop()
        send_frame(self._connection, "ask", prompt=prompt)
        answer = receive_frame(self._connection)
        self._ticker.start()
        if "text" not in answer.facts:
            raise WasmtimeError(str(answer.facts.get("error", "no answer")))
        return str(answer.facts["text"])

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
    if isinstance(value, str) and len(value) > MAX_TEXT_CHARACTERS:
        raise WasmtimeError(f"a text of {len(value)} characters is more than the runtime takes")


def _allows(rules: tuple[str, ...]) -> Any:
    parsed = tuple(network.parse_rule(rule) for rule in rules)
    return lambda scheme, host, port: network.allows(parsed, scheme, host, port) is not None


class Host:
    """The process's state between calls."""

    def __init__(
        self,
        connection: socket.socket,
        engine: Engine,
        account: MemoryAccount,
        linker: Linker,
        gate: Gate,
        bridge: Bridge,
    ) -> None:
        self._connection = connection
        self._engine = engine
        self._account = account
        self._linker = linker
        self._gate = gate
        self._bridge = bridge
        self._ticker = Ticker(engine)
        self._components: dict[str, Component] = {}

    def serve(self) -> None:
        """Answers frames until the runtime closes the connection."""
        while True:
            try:
                frame = receive_frame(self._connection)
            except PeerGone:
                return
            try:
                if frame.kind == "call":
                    compiled, *directories = frame.descriptors
                    call = call_from_facts(frame.facts, compiled, tuple(directories))
                    send_frame(self._connection, "result", **result_facts(self._run(call)))
                elif frame.kind == "compile":
                    component, target = frame.descriptors
                    send_frame(self._connection, "compiled", **compile_component(component, target))
                    return
            finally:
                frame.close()

    def _run(self, call: GuestCall) -> GuestResult:
        running = RunningCall(call, self._connection, self._gate, self._account, self._ticker)
        try:
            component = self._load(call)
        except LoadError as error:
            return failures.load_failure(call, str(error))
        store = Store(self._engine)
        self._account.start(call.limits.memory_bytes)
        self._bridge.current = running
        _enter.LAST_EXCEPTION = None  # an instantiation that fails leaves one behind
        self._ticker.start()
        try:
            return self._run_in(store, component, call, running)
        finally:
            self._ticker.stop()
            self._bridge.current = None
            store.close()

    def _run_in(
        self, store: Store, component: Component, call: GuestCall, running: RunningCall
    ) -> GuestResult:
        ticks = deadline_ticks(call.limits.deadline_seconds)
        loading = True
        try:
            _furnish(store, call, running)
            store.set_epoch_deadline(ticks)
            instance = self._linker.instantiate(store, component)
            function = find_function(store, instance, call.function)
            loading = False
            send_frame(self._connection, "calling")
            store.set_epoch_deadline(ticks)
            returned = function(store, lower_input(call.input))
        except LoadError as error:
            return failures.load_failure(call, str(error), running.stderr)
        except WasmtimeError as error:
            text = misfit(component, self._engine) if loading else None
            denial = self._account.denial
            return failures.classify(
                call, text or str(error), denial, running.stderr, loading=loading
            )
        except PeerGone:
            raise
        except (
            Exception
        ) as error:  # one of our own answers to an import failed: the call, not the host
            return failures.trap_failure(call, f"an import failed: {error!r}", running.stderr)
        try:
            return lift_result(returned)
        except (KeyError, TypeError):
            return failures.load_failure(
                call, f"{call.function} returns another shape than {TOOL_RUN}"
            )
        except ResultTooLarge as error:
            return failures.trap_failure(call, str(error), running.stderr)

    def _load(self, call: GuestCall) -> Component:
        component = self._components.get(call.key)
        if component is None:
            if not isinstance(call.compiled, int):
                raise LoadError("no compiled form was handed over")
            component = deserialize(self._engine, call.compiled)
            self._components[call.key] = component
        return component


def _furnish(store: Store, call: GuestCall, running: RunningCall) -> None:
    limits = call.limits
    store.set_limits(
        table_elements=limits.table_elements,
        instances=limits.instances + GATE_INSTANCES,
    )
    wasi = WasiConfig()
    wasi.env = call.env
    wasi.stderr_custom = running.write_stderr
    for directory in call.preopens:
        path = descriptor_path(directory.descriptor)
        wasi.preopen_dir(path, directory.guest_path, not directory.read_only)
    store.set_wasi(wasi)
    store.set_wasi_http()


def find_function(store: Store, instance: Instance, function: str) -> Func:
    """The exported function `interface#name`. `LoadError` naming the interface when it is not
    exported.
    """
    interface, _, name = function.partition("#")
    index = instance.get_export_index(store, interface)
    inner = index and instance.get_export_index(store, name, index)
    found = inner and instance.get_func(store, inner)
    if not found:
        raise LoadError(
            f"it does not export {interface}; rebuild it, or `mur install` a version that does"
        )
    return found


def misfit(component: Component, engine: Engine) -> str | None:
    """Names the first murmur interface that the component imports in a version not served here."""
    with component.type as shape:
        for name in shape.imports(engine):
            if name.startswith("murmur:") and name not in SERVED:
                expected = next(
                    (item for item in SERVED if item.split("@")[0] == name.split("@")[0]), None
                )
                advice = "rebuild it, or `mur install` a version that fits"
                served = f"{expected} is served" if expected else "nothing of that name is served"
                return f"it imports {name}, but {served}; {advice}"
    return None


def deserialize(engine: Engine, descriptor: int) -> Component:
    """Opens a compiled form. It is native code: the runtime hands over only what a compiling host
    wrote.

    Mapped from the file where that is allowed (4 ms for a Python guest), else copied (30 ms): a
    home may lie on a file system without execution, and a contained host may not be able to open
    the file again. `LoadError` when the engine refuses the form.
    """
    with contextlib.suppress(WasmtimeError):
        return Component.deserialize_file(engine, descriptor_path(descriptor))
    size = os.fstat(descriptor).st_size
    if size == 0:
        raise LoadError("its compiled form is empty")
    with mmap.mmap(descriptor, size, access=mmap.ACCESS_COPY) as mapped:
        view = (ctypes.c_uint8 * size).from_buffer(mapped)
        loaded = ctypes.POINTER(ffi.wasmtime_component_t)()
        error = ffi.wasmtime_component_deserialize(engine.ptr(), view, size, ctypes.byref(loaded))
        del view
        if error:
            raise LoadError(f"its compiled form is not usable: {WasmtimeError._from_ptr(error)}")
    return Component._from_ptr(loaded)


def descriptor_path(descriptor: int) -> str:
    """A path that opens what a descriptor is open on, without walking to it again where the system
    allows.
    """
    if sys.platform == "darwin":
        import fcntl

        name: bytes = fcntl.fcntl(descriptor, fcntl.F_GETPATH, bytes(1024))
        return os.fsdecode(name.rstrip(b"\0"))
    return f"/proc/self/fd/{descriptor}"


def compile_component(component: int, target: int) -> dict[str, Any]:
    """Compiles what `component` holds and writes the form to `target`; instantiates nothing.

    The facts of the answer: `sha256` and `size` of the form, or `error`.
    """
    with open(component, "rb", closefd=False) as source:
        wasm = source.read()
    try:
        form = Component(new_engine(parallel=True), wasm).serialize()
    except WasmtimeError as error:
        return {"error": str(error)}
    view = memoryview(form)
    while view:
        view = view[os.write(target, view) :]
    return {"sha256": hashlib.sha256(form).hexdigest(), "size": len(form)}
