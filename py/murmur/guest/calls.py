"""What a call of a guest is made of and what comes back: plain values, shared by the runtime and
the hosts.

Follows spec/artifacts.md 3 (`murmur:tool/run`), 6 (linking, limits) and spec/sessions.md 25
(failures).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from murmur.guest.questions import pack, unpack

MAX_TEXT_CHARACTERS = 64 * 1024 * 1024
"""What a guest may hand over at once, in a result or in one call of an import."""

TOOL_RUN = "murmur:tool/run@0.2.0"
CAPSULE_RUN = "murmur:capsule/run@0.1.0"
PROCESS_DRIVER = "murmur:driver/process@0.4.0"

Role = Literal["tool", "driver", "hook", "capsule", "process-driver"]
FailureKind = Literal["deadline", "resource", "trap", "load", "unlinked", "absent", "cancelled"]


@dataclass(frozen=True, slots=True)
class Limits:
    """`capabilities.limits` (spec/sessions.md 25), each above zero. `deadline_seconds` is
    wall-clock, one call.
    """

    memory_bytes: int = 512 * 1024 * 1024
    table_elements: int = 100_000
    instances: int = 1000
    deadline_seconds: float = 600


@dataclass(frozen=True, slots=True)
class Preopen:
    """A directory that the guest sees as `guest_path`, given by a descriptor that the caller keeps
    open.
    """

    descriptor: int
    guest_path: str
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class GateRules:
    """What may leave through `wasi:http`, and through which door (design/decisions.md 10).

    `listener` is the gateway's `host:port` as the guest host reaches it, `token` the unguessable
    first segment of every path sent there. `rules` are `network.allow` entries as text. `gateway`
    says whether this artifact's own requests to `http://127.0.0.1:9` are its credential gateway's
    (spec/artifacts.md 12.2).
    """

    listener: str
    token: str
    rules: tuple[str, ...] = ()
    gateway: bool = False


@dataclass(frozen=True, slots=True)
class ToolInput:
    """`murmur:tool/run.tool-input`."""

    data: str | None = None
    log_path: str | None = None


@dataclass(frozen=True, slots=True)
class Attachment:
    """`murmur:tool/run.attachment`: claims of the tool, not yet checked (spec/artifacts.md 3)."""

    media_type: str
    path: str


@dataclass(frozen=True, slots=True)
class ToolResult:
    """`murmur:tool/run.tool-result` as returned; `metadata` keeps order and repeats."""

    status: Literal["passed", "failed", "error"]
    summary: str | None = None
    data: str | None = None
    data_path: str | None = None
    truncated: bool = False
    metadata: tuple[tuple[str, str], ...] = ()
    attachments: tuple[Attachment, ...] = ()

    def note(self, key: str) -> str | None:
        """The first non-empty `metadata` value of `key`; an empty value counts as absent."""
        return next((value for name, value in self.metadata if name == key and value), None)


@dataclass(frozen=True, slots=True)
class GuestFailure:
    """A call that did not return: `message` is the text for the model or the log (spec/sessions.md
    25).

    `backtrace` holds the guest's own frames, innermost first; `stderr` the last bytes it wrote
    there. `field` names the `capabilities.limits` key that a `resource` or `deadline` failure is
    about, or the interface that an `unlinked` component imports. `absent` is a function that the
    component need not have and has not.
    """

    kind: FailureKind
    message: str
    backtrace: tuple[str, ...] = ()
    stderr: str = ""
    field: str | None = None


@dataclass(frozen=True, slots=True)
class Returned:
    """What any other function than a tool's returned, as a plain value (`questions`)."""

    value: Any = None


GuestResult = ToolResult | GuestFailure
AnyResult = ToolResult | Returned | GuestFailure


@dataclass(frozen=True, slots=True)
class GuestCall:
    """One call of one artifact's component.

    `compiled` is the compiled form's file, or a descriptor of it that stays the caller's; `key`
    names its content, so that a host keeps it loaded. `input` is for `murmur:tool/run`; any other
    `function` (`interface#name`) takes `arguments`, plain values. `in_task` says whether
    `murmur:task` and `murmur:stream` are served: without a task `request-input` traps and the
    stream functions do nothing. A `lasting` call runs in the one instance that its host keeps of
    the component, made when there is none, with what it was furnished with then; a call that failed
    ends it, and one that is `fresh` begins with a new one. `must_export` names functions of the
    interface without which it does not load. A tool that `manages` is linked with
    `murmur:artifact-manager` besides.
    """

    artifact: str
    role: Role
    compiled: Path | int
    key: str
    input: ToolInput = ToolInput()
    function: str = f"{TOOL_RUN}#run"
    arguments: tuple[Any, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    preopens: tuple[Preopen, ...] = ()
    limits: Limits = Limits()
    gate: GateRules | None = None
    in_task: bool = True
    lasting: bool = False
    fresh: bool = False
    must_export: tuple[str, ...] = ()
    manages: bool = False

    @property
    def host(self) -> str:
        """Which host serves it: drivers share one, tools one; a script capsule, a process driver
        and each hook have their own (design/decisions.md 7).
        """
        if self.role == "hook":
            return hook_host(self.artifact)
        return f"{self.role}s" if self.role in ("tool", "driver") else self.role

    @property
    def is_tool_run(self) -> bool:
        """Whether the function is `murmur:tool/run`, which has an input and result of its own."""
        return self.function == f"{TOOL_RUN}#run"

    @property
    def interface(self) -> str:
        """The exported interface that the function is one of."""
        return self.function.partition("#")[0]

    @property
    def subject(self) -> str:
        """How messages name it."""
        return f"{self.role.replace('-', ' ')} '{self.artifact}'"


def hook_host(artifact: str) -> str:
    """The name of the host that a hook has to itself."""
    return f"hook {artifact}"


def call_facts(call: GuestCall) -> dict[str, Any]:
    """The frame members of a call, without what travels as descriptors."""
    return {
        "artifact": call.artifact,
        "role": call.role,
        "key": call.key,
        "function": call.function,
        "input": asdict(call.input),
        "arguments": pack(call.arguments),
        "env": [list(pair) for pair in call.env],
        "preopens": [[item.guest_path, item.read_only] for item in call.preopens],
        "limits": asdict(call.limits),
        "gate": asdict(call.gate) if call.gate else None,
        "in_task": call.in_task,
        "lasting": call.lasting,
        "fresh": call.fresh,
        "must_export": list(call.must_export),
        "manages": call.manages,
    }


def call_from_facts(
    facts: dict[str, Any], compiled: int, directories: tuple[int, ...]
) -> GuestCall:
    """The inverse of `call_facts` in the host."""
    gate = facts["gate"]
    return GuestCall(
        artifact=facts["artifact"],
        role=facts["role"],
        compiled=compiled,
        key=facts["key"],
        function=facts["function"],
        input=ToolInput(**facts["input"]),
        arguments=unpack(facts["arguments"]),
        env=tuple((name, value) for name, value in facts["env"]),
        preopens=tuple(
            Preopen(descriptor, path, read_only)
            for descriptor, (path, read_only) in zip(directories, facts["preopens"], strict=True)
        ),
        limits=Limits(**facts["limits"]),
        gate=GateRules(**{**gate, "rules": tuple(gate["rules"])}) if gate else None,
        in_task=facts["in_task"],
        lasting=facts["lasting"],
        fresh=facts["fresh"],
        must_export=tuple(facts["must_export"]),
        manages=facts["manages"],
    )


def result_facts(result: AnyResult) -> dict[str, Any]:
    """The frame members of a result or failure."""
    if isinstance(result, Returned):
        return {"returned": True, "value": pack(result.value)}
    return {"returned": isinstance(result, ToolResult), "members": asdict(result)}


def result_from_facts(facts: dict[str, Any]) -> GuestResult:
    """Rebuilds what the host sent. `ValueError`, `KeyError` or `TypeError` when it is not one."""
    if facts["returned"] is not True:
        return _failure_from_facts(facts)
    members = dict(facts["members"])
    if members["status"] not in ("passed", "failed", "error"):
        raise ValueError(f"status {members['status']!r}")
    members["metadata"] = tuple((str(name), str(value)) for name, value in members["metadata"])
    members["attachments"] = tuple(Attachment(**item) for item in members["attachments"])
    return ToolResult(**members)


def returned_from_facts(facts: dict[str, Any]) -> Returned | GuestFailure:
    """As `result_from_facts`, for a call of another function than `murmur:tool/run`."""
    if facts["returned"] is not True:
        return _failure_from_facts(facts)
    return Returned(unpack(facts["value"]))


def _failure_from_facts(facts: dict[str, Any]) -> GuestFailure:
    members = dict(facts["members"])
    members["backtrace"] = tuple(str(line) for line in members["backtrace"])
    return GuestFailure(**members)
