"""A guest host: a fork of the zygote that opens components and serves the runtime's calls, one at a
time.

Order (design/decisions.md 7): parent-death signal, descriptors closed, one thread asserted,
lockdown, and only then a component. A fresh store and instance per call (spec/artifacts.md 6); what
stays is the loaded component, and a hook's one instance. A host that compiles does one job and
ends, and instantiates nothing (spec/registry.md 16).
"""

from __future__ import annotations

import socket
from dataclasses import dataclass
from typing import Any

from wasmtime import Engine, Store, WasiConfig, WasmtimeError
from wasmtime.component import Component, Func, Instance, _enter

from murmur.guest import failures
from murmur.guest.calls import (
    MAX_TEXT_CHARACTERS,
    AnyResult,
    GuestCall,
    GuestFailure,
    Returned,
    call_from_facts,
    result_facts,
)
from murmur.guest.forms import LoadError, compile_component, descriptor_path, deserialize
from murmur.guest.frames import PeerGone, receive_frame, send_frame
from murmur.guest.gate import Gate
from murmur.guest.linking import WITHOUT_HTTP, Bridge, Linkers, served
from murmur.guest.memory import MemoryAccount
from murmur.guest.running_call import RunningCall, Ticker, deadline_ticks
from murmur.guest.values import (
    ResultTooLarge,
    from_engine,
    lift_result,
    lower_input,
    text_size,
    to_engine,
)

GATE_INSTANCES = 3
"""Core instances that the gate adds to a store; they are not counted against the guest's own limit.
"""


@dataclass(slots=True)
class Guest:
    """A store and, once it is made, the instance in it; `running` lives as long as they do."""

    store: Store
    running: RunningCall
    instance: Instance | None = None


class Host:
    """The process's state between calls."""

    def __init__(
        self,
        connection: socket.socket,
        engine: Engine,
        account: MemoryAccount,
        linkers: Linkers,
        gate: Gate,
        bridge: Bridge,
    ) -> None:
        self._connection = connection
        self._engine = engine
        self._account = account
        self._linkers = linkers
        self._gate = gate
        self._bridge = bridge
        self._ticker = Ticker(engine)
        self._components: dict[str, Component] = {}
        self._lasting: Guest | None = None

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

    def _run(self, call: GuestCall) -> AnyResult:
        guest = self._lasting if call.lasting else None
        self._lasting = None if call.lasting else self._lasting
        if guest is not None and call.fresh:
            guest.store.close()
            guest = None
        if guest is None:
            running = RunningCall(call, self._connection, self._gate, self._account, self._ticker)
            guest = Guest(Store(self._engine), running)
            self._account.start(call.limits.memory_bytes)
        else:
            guest.running.takes_over(call)
            self._account.denial = None
        self._bridge.current = guest.running
        _enter.LAST_EXCEPTION = None  # an instantiation that fails leaves one behind
        self._ticker.start()
        result: AnyResult | None = None
        try:
            result = self._run_in(guest, call)
        finally:
            self._ticker.stop()
            self._bridge.current = None
            if call.lasting and result is not None and not _ends_it(result):
                self._lasting = guest
            else:
                guest.store.close()
        return result

    def _run_in(self, guest: Guest, call: GuestCall) -> AnyResult:
        store, running = guest.store, guest.running
        ticks = deadline_ticks(call.limits.deadline_seconds)
        component: Component | None = None
        loading = True
        try:
            if guest.instance is None:
                component = self._load(call)
                _furnish(store, call, running)
                store.set_epoch_deadline(ticks)
                linker = self._linkers.of(call.role, manages=call.manages)
                guest.instance = linker.instantiate(store, component)
            function = find_function(store, guest.instance, call)
            loading = False
            if function is None:
                return failures.absence(call)
            arguments = _arguments(call)
            if len(function.type(store).params) != len(arguments):
                raise LoadError(f"{call.function} takes other arguments than its interface says")
            send_frame(self._connection, "calling")
            store.set_epoch_deadline(ticks)
            returned = function(store, *arguments)
        except LoadError as error:
            return failures.load_failure(call, str(error), running.stderr)
        except WasmtimeError as error:
            denial = self._account.denial
            if loading and denial is None and component is not None:
                unlinked = misfit(component, self._engine, call, running.stderr)
                if unlinked is not None:
                    return unlinked
            return failures.classify(call, str(error), denial, running.stderr, loading=loading)
        except PeerGone:
            raise
        except (
            Exception
        ) as error:  # one of our own answers to an import failed: the call, not the host
            return failures.trap_failure(call, f"an import failed: {error!r}", running.stderr)
        try:
            return _result(call, returned)
        except (KeyError, TypeError):
            return failures.load_failure(
                call, f"{call.function} returns another shape than {call.interface}"
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


def _arguments(call: GuestCall) -> tuple[Any, ...]:
    if call.is_tool_run:
        return (lower_input(call.input),)
    return tuple(to_engine(value) for value in call.arguments)


def _result(call: GuestCall, returned: Any) -> AnyResult:
    """Raises `KeyError` or `TypeError` for another shape, `ResultTooLarge`."""
    if call.is_tool_run:
        return lift_result(returned)
    value = from_engine(returned)
    if (size := text_size(value)) > MAX_TEXT_CHARACTERS:
        raise ResultTooLarge(f"it returned {size} characters, more than {MAX_TEXT_CHARACTERS}")
    return Returned(value)


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
    if call.role not in WITHOUT_HTTP:
        store.set_wasi_http()


def find_function(store: Store, instance: Instance, call: GuestCall) -> Func | None:
    """The exported function that is called; None where the interface is there without it.

    Raises `LoadError` naming the interface, or the function of `must_export`, that is missing.
    """
    index = instance.get_export_index(store, call.interface)
    if index is None:
        raise LoadError(
            f"it does not export {call.interface}; rebuild it, or `mur install` a version that does"
        )
    for name in call.must_export:
        if instance.get_export_index(store, name, index) is None:
            raise LoadError(f"it does not export {name} of {call.interface}; rebuild it")
    inner = instance.get_export_index(store, call.function.partition("#")[2], index)
    return None if inner is None else instance.get_func(store, inner)


def _ends_it(result: AnyResult) -> bool:
    """Whether a guest that this came of is not called again."""
    return isinstance(result, GuestFailure) and result.kind != "absent"


def misfit(
    component: Component, engine: Engine, call: GuestCall, stderr: str
) -> GuestFailure | None:
    """The first interface that the component imports and is not linked for its role, if any."""
    served_here = served(call.role, manages=call.manages)
    with component.type as shape:
        for name in shape.imports(engine):
            if name in served_here or name.startswith("wasi:") or "/" not in name:
                continue
            expected = next((each for each in served_here if _base(each) == _base(name)), None)
            return failures.unlinked_failure(call, name, expected, stderr)
    return None


def _base(interface: str) -> str:
    """An interface without its version."""
    return interface.partition("@")[0]
