"""What a component of each role may import, and who answers it.

WASI and `wasi:http` are native except three kinds of function answered here:
`outgoing-handler.handle` (the gate), the functions that would open a raw socket or resolve a name
(refused: `wasi:http` is the only way out, spec/artifacts.md 6), and the murmur interfaces
(spec/artifacts.md 3 and 4). What of those is no event is a question to the runtime. One linker
serves every call of a role; `Bridge.current` says whose call it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from wasmtime import Engine, StoreContext, WasmtimeError
from wasmtime.component import (
    Linker,
    LinkerInstance,
    ResourceAny,
    ResourceHost,
    ResourceType,
    Variant,
)

from murmur.guest.calls import TOOL_RUN, Role
from murmur.guest.questions import (
    CONVERSATION_INTERFACE,
    INFERENCE_INTERFACE,
    INVOKE_INTERFACE,
    LIFECYCLE_INTERFACE,
    MANAGE_INTERFACE,
    MESSAGE_INTERFACE,
    PROCESS_INTERFACE,
    SHELL_INTERFACE,
    STREAM_INTERFACE,
    TASK_INTERFACE,
    TASK_IO_INTERFACE,
    TOKENS_INTERFACE,
    Answer,
    Ok,
    Value,
)
from murmur.guest.values import from_engine, to_engine

WASI_VERSION = "0.2.12"
"""The version under which the tested engine links WASI; imports of any earlier 0.2 reach the same
definitions.
"""

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


@dataclass(frozen=True, slots=True)
class Asked:
    """A function that the runtime answers.

    `tagged` says that ok and error have a type in common, so that the binding cannot tell them
    apart without being told; `gives` names the resource that an ok is.
    """

    name: str
    tagged: bool = False
    gives: str | None = None


ASKED: Final[Mapping[str, tuple[Asked, ...]]] = {
    TASK_INTERFACE: (Asked("request-input"),),
    PROCESS_INTERFACE: (
        Asked("run", tagged=True),
        Asked("start", tagged=True),
        Asked("status", tagged=True),
        Asked("stop", tagged=True),
        Asked("connect", gives="connection"),
        Asked("[method]connection.read"),
        Asked("[method]connection.write"),
    ),
    MANAGE_INTERFACE: tuple(
        map(Asked, ("list", "describe", "search", "pull", "remove", "diagnostics"))
    ),
    SHELL_INTERFACE: (Asked("run"),),
    INVOKE_INTERFACE: (Asked("invoke"),),
    MESSAGE_INTERFACE: (Asked("send"),),
    INFERENCE_INTERFACE: (Asked("run-inference"),),
    TOKENS_INTERFACE: (Asked("count"),),
    TASK_IO_INTERFACE: (
        Asked("input-len"),
        Asked("read-input", tagged=True),
        Asked("output-len"),
        Asked("read-output", tagged=True),
    ),
    CONVERSATION_INTERFACE: (Asked("read-messages"),),
}
"""Every function that is a question, by interface. spec/artifacts.md 3."""

HANDLERS: Final = (
    "on-stage",
    "on-session-start",
    "on-task-start",
    "on-inference",
    "on-tool-call",
    "on-shell",
    "on-compaction",
    "on-task-end",
    "on-session-end",
)
"""What a hook exports, in the order of the events. spec/artifacts.md 4."""

_RESOURCES: Final[Mapping[str, Mapping[str, int]]] = {PROCESS_INTERFACE: {"connection": 1}}
"""The host resources of an interface and the number of each one's type."""

_TYPES: Final[Mapping[str, tuple[str, ...]]] = {
    LIFECYCLE_INTERFACE: HANDLERS,
    TOOL_RUN: ("run",),
}
"""Interfaces that a component imports for the types that others use, with their functions: some
tools import those along with the types.
"""

_TOOL: Final = (TASK_INTERFACE, STREAM_INTERFACE, PROCESS_INTERFACE)
SERVED: Final[Mapping[Role, tuple[str, ...]]] = {
    "tool": _TOOL,
    "driver": _TOOL,
    "hook": (
        INFERENCE_INTERFACE,
        TOKENS_INTERFACE,
        TASK_IO_INTERFACE,
        CONVERSATION_INTERFACE,
        LIFECYCLE_INTERFACE,
    ),
    "capsule": (
        MANAGE_INTERFACE,
        SHELL_INTERFACE,
        INVOKE_INTERFACE,
        MESSAGE_INTERFACE,
        PROCESS_INTERFACE,
        TOOL_RUN,
    ),
    "process-driver": (),
}
"""The murmur interfaces that each role is linked with. spec/artifacts.md 6."""


def served(role: Role, *, manages: bool = False) -> tuple[str, ...]:
    """The murmur interfaces of one call.

    spec/artifacts.md 6 lists the artifact manager for script capsules alone, and spec/sessions.md
    11.1 and 15.9 have a component of an agent's session pull: a tool that `manages` has it too, and
    no other role ever.
    """
    return (*SERVED[role], MANAGE_INTERFACE) if manages and role == "tool" else SERVED[role]


WITHOUT_HTTP: Final[frozenset[Role]] = frozenset(("process-driver",))
"""The roles that have no way out at all."""


class UntestedEngine(Exception):
    """The installed wasmtime links WASI under names that would not be shadowed here."""


class CurrentCall(Protocol):
    """The call whose guest is running: what it may ask of the runtime."""

    def http(self, store: StoreContext, request: ResourceAny, options: ResourceAny | None) -> Any:
        """Answers `outgoing-handler.handle`."""

    def event(self, kind: str, facts: dict[str, Any]) -> None:
        """Passes a `murmur:stream/events` call on."""

    def ask(self, interface: str, function: str, arguments: tuple[Any, ...]) -> Answer:
        """The runtime's answer; `WasmtimeError` (a trap of the guest) where there is none."""

    def dropped(self, interface: str, resource: str, number: int) -> None:
        """Says that the guest let go of a resource of the runtime's."""


class Bridge:
    """Joins the linker's functions, defined once, to the call that is running now."""

    def __init__(self) -> None:
        self.current: CurrentCall | None = None

    def call(self) -> CurrentCall:
        if self.current is None:
            raise WasmtimeError("no call is running")
        return self.current


class Linkers:
    """A linker for each set of interfaces, made when it is first needed, in a few milliseconds."""

    def __init__(self, engine: Engine, bridge: Bridge) -> None:
        self._engine = engine
        self._bridge = bridge
        self._made: dict[tuple[tuple[str, ...], bool], Linker] = {}

    def of(self, role: Role, *, manages: bool = False) -> Linker:
        """Raises `UntestedEngine`."""
        kind = served(role, manages=manages), role not in WITHOUT_HTTP
        if kind not in self._made:
            interfaces, http = kind
            self._made[kind] = new_linker(self._engine, self._bridge, interfaces, http=http)
        return self._made[kind]


def new_linker(
    engine: Engine, bridge: Bridge, served: tuple[str, ...], *, http: bool = True
) -> Linker:
    """A linker with WASI, with `http` `wasi:http` through the gate, and the `served` murmur
    interfaces.

    `UntestedEngine` when the engine links WASI under another version.
    """
    shadows = {
        (f"wasi:{interface}@{WASI_VERSION}", function): _no_sockets
        for interface, function in _SOCKET_MAKERS
    }
    linker = Linker(engine)
    linker.add_wasip2()
    if http:
        shadows[f"wasi:http/outgoing-handler@{WASI_VERSION}", "handle"] = lambda store, *args: (
            bridge.call().http(store, *args)
        )
        linker.add_wasi_http()
    with linker.root() as root:
        for (interface, name), function in shadows.items():
            _require_native(root, interface, name, function)
    linker.allow_shadowing = True
    with linker.root() as root:
        for (interface, name), function in shadows.items():
            with root.add_instance(interface) as instance:
                instance.add_func(name, function)
        for interface in served:
            if interface == STREAM_INTERFACE:
                _add_stream(root, bridge)
            elif interface in _TYPES:
                _add_types(root, interface)
            else:
                _add_asked(root, bridge, interface)
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


def _add_types(root: LinkerInstance, interface: str) -> None:
    def nobody(store: StoreContext, *given: Any) -> Any:
        raise WasmtimeError(f"{interface} is imported for its types; its functions are exported")

    with root.add_instance(interface) as instance:
        for name in _TYPES[interface]:
            instance.add_func(name, nobody)


def _add_asked(root: LinkerInstance, bridge: Bridge, interface: str) -> None:
    resources = _RESOURCES.get(interface, {})
    with root.add_instance(interface) as instance:
        for name, number in resources.items():
            instance.add_resource(
                name, ResourceType.host(number), _dropping(bridge, interface, name)
            )
        for asked in ASKED[interface]:
            instance.add_func(asked.name, _asking(bridge, interface, asked, resources))


def _dropping(bridge: Bridge, interface: str, resource: str) -> Any:
    def dropped(store: StoreContext, number: int) -> None:
        if bridge.current is not None:  # else the store goes, and the runtime knows that
            bridge.current.dropped(interface, resource, number)

    return dropped


def _asking(bridge: Bridge, interface: str, asked: Asked, resources: Mapping[str, int]) -> Any:
    def function(store: StoreContext, *given: Any) -> Any:
        arguments = tuple(_argument(store, value) for value in given)
        answer = bridge.call().ask(interface, asked.name, arguments)
        if isinstance(answer, Ok) and asked.gives is not None:
            return ResourceHost.own(int(answer.value), resources[asked.gives]).to_any(store)
        value = to_engine(answer.value)
        if isinstance(answer, Value) or not asked.tagged:
            return value
        return Variant("ok" if isinstance(answer, Ok) else "err", value)

    return function


def _argument(store: StoreContext, value: Any) -> Any:
    """A plain value; of a resource that the runtime gave out, its number."""
    if not isinstance(value, ResourceAny):
        return from_engine(value)
    return value.to_host(store).rep  # which gives the borrowed handle back
