"""What a tool's or driver's component may import, and who answers it.

WASI and `wasi:http` are native except three kinds of function answered here:
`outgoing-handler.handle` (the gate), the functions that would open a raw socket or resolve a name
(refused: `wasi:http` is the only way out, spec/artifacts.md 6), and the murmur interfaces of the
tool world (spec/artifacts.md 3). One linker serves every call of a host; `Bridge.current` says
whose call it is.
"""

from __future__ import annotations

from typing import Any, Protocol

from wasmtime import Engine, StoreContext, WasmtimeError
from wasmtime.component import Linker, LinkerInstance, Record, ResourceAny, ResourceType, Variant

from murmur.guest.calls import PROCESS_INTERFACE, STREAM_INTERFACE, TASK_INTERFACE

WASI_VERSION = "0.2.12"
"""The version under which the tested engine links WASI; imports of any earlier 0.2 reach the same
definitions.
"""

SERVED = (TASK_INTERFACE, STREAM_INTERFACE, PROCESS_INTERFACE)

_SOCKET_MAKERS = (
    ("sockets/tcp-create-socket", "create-tcp-socket"),
    ("sockets/udp-create-socket", "create-udp-socket"),
    ("sockets/ip-name-lookup", "resolve-addresses"),
)
_STREAM_FUNCTIONS = {
    "emit-chunk": ("chunk",),
    "emit-thinking-chunk": ("chunk",),
    "tool-call-started": ("id", "name"),
    "tool-call-input-bytes": ("id", "bytes"),
}
_CONNECTION_TYPE = 1


class UntestedEngine(Exception):
    """The installed wasmtime links WASI under names that would not be shadowed here."""


class CurrentCall(Protocol):
    """The call whose guest is running: what it may ask of the runtime."""

    def http(self, store: StoreContext, request: ResourceAny, options: ResourceAny | None) -> Any:
        """Answers `outgoing-handler.handle`."""

    def event(self, kind: str, facts: dict[str, Any]) -> None:
        """Passes a `murmur:stream/events` call on."""

    def request_input(self, prompt: str) -> str:
        """Waits for the user; `WasmtimeError` (a trap of the guest) where nobody can answer."""


class Bridge:
    """Joins the linker's functions, defined once, to the call that is running now."""

    def __init__(self) -> None:
        self.current: CurrentCall | None = None

    def call(self) -> CurrentCall:
        if self.current is None:
            raise WasmtimeError("no call is running")
        return self.current


def tool_linker(engine: Engine, bridge: Bridge) -> Linker:
    """The linker of tools and http drivers; both see the same imports (spec/artifacts.md 6).

    `UntestedEngine` when the engine links WASI under another version.
    """
    shadows = {
        (f"wasi:{interface}@{WASI_VERSION}", function): _no_sockets
        for interface, function in _SOCKET_MAKERS
    }
    shadows[f"wasi:http/outgoing-handler@{WASI_VERSION}", "handle"] = lambda store, *args: (
        bridge.call().http(store, *args)
    )
    linker = Linker(engine)
    linker.add_wasip2()
    linker.add_wasi_http()
    with linker.root() as root:
        for (interface, name), function in shadows.items():
            _require_native(root, interface, name, function)
    linker.allow_shadowing = True
    with linker.root() as root:
        for (interface, name), function in shadows.items():
            with root.add_instance(interface) as instance:
                instance.add_func(name, function)
        _add_stream(root, bridge)
        with root.add_instance(TASK_INTERFACE) as task:
            task.add_func(
                "request-input", lambda store, prompt: bridge.call().request_input(prompt)
            )
        _add_process(root)
    return linker


def _require_native(root: LinkerInstance, interface: str, name: str, function: Any) -> None:
    """Proves that the engine links this very name: a shadow beside it would shadow nothing."""
    try:
        with root.add_instance(interface) as instance:
            instance.add_func(name, function)
    except WasmtimeError:
        return
    raise UntestedEngine(f"the installed wasmtime does not link {interface}#{name}")


def _no_sockets(store: StoreContext, *args: Any) -> str:
    for argument in args:
        if isinstance(argument, ResourceAny):
            argument.drop(store)
    return "access-denied"


def _add_stream(root: LinkerInstance, bridge: Bridge) -> None:
    def forward(kind: str, names: tuple[str, ...]) -> Any:
        def function(store: StoreContext, *values: Any) -> None:
            bridge.call().event(kind, dict(zip(names, values, strict=True)))

        return function

    with root.add_instance(STREAM_INTERFACE) as stream:
        for kind, names in _STREAM_FUNCTIONS.items():
            stream.add_func(kind, forward(kind, names))


def _add_process(root: LinkerInstance) -> None:
    """`murmur:process`: links, and every function answers that the rule is `unavailable`.

    The shape of a refusal differs where the binding can tell ok from error by the value's type
    alone.
    """

    def refused(store: StoreContext, *args: Any) -> Variant:
        return Variant("err", _unavailable())

    def refused_connection(store: StoreContext, *args: Any) -> Record:
        return _unavailable()

    def no_connection(store: StoreContext, *args: Any) -> str:
        return "unavailable"

    with root.add_instance(PROCESS_INTERFACE) as process:
        process.add_resource(
            "connection", ResourceType.host(_CONNECTION_TYPE), lambda store, rep: None
        )
        for name in ("run", "start", "status", "stop"):
            process.add_func(name, refused)
        process.add_func("connect", refused_connection)
        process.add_func("[method]connection.read", no_connection)
        process.add_func("[method]connection.write", no_connection)


def _unavailable() -> Record:
    refusal = Record()
    refusal.rule = "unavailable"  # type: ignore[attr-defined]
    refusal.reason = "host programs cannot be started from here"  # type: ignore[attr-defined]
    return refusal
