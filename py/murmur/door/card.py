"""The agent card: public and extended. spec/door.md 15."""

from dataclasses import dataclass
from typing import Any, Final, Literal

from murmur.core.tasks import Acceptance
from murmur.door import extensions, methods
from murmur.door.wire import FRAME_NAMES

_MODES: Final = ["text/plain", "application/json"]
_SCHEME: Final = "bearer"


@dataclass(frozen=True, slots=True)
class CardFacts:
    """What a card says, and what the door's checks go by.

    `address` is `localhost:<port>`. `streams_text` is whether the capsule's transport can stream
    the model's text. `tools` are the installed artifacts a model can call, by name; `planes` the
    declared ones of `files`, `peer_files`. `shell` and `network` say that the allow-list holds
    something.
    """

    name: str
    version: str
    address: str
    session_id: str
    acceptance: Acceptance
    transport: Literal["http", "process"] = "http"
    streams_text: bool = True
    conversation_mode: Literal["stateless", "threaded"] = "stateless"
    accepts_peer_tasks: bool = False
    authenticated: bool = False
    tools: tuple[str, ...] = ()
    shell: bool = False
    network: bool = False
    planes: tuple[str, ...] = ()


def public_card(facts: CardFacts) -> dict[str, Any]:
    """The card at the well-known path, as ProtoJSON of lf.a2a.v1.AgentCard."""
    shown = [_door(facts), _stream(facts)]
    if not facts.authenticated:
        shown.insert(1, _capsule(facts))
    return _card(facts, shown)


def extended_card(facts: CardFacts) -> dict[str, Any]:
    """The card behind a token: the public one plus the capsule extension."""
    return _card(facts, [_door(facts), _capsule(facts), _stream(facts)])


def _card(facts: CardFacts, shown: list[dict[str, Any]]) -> dict[str, Any]:
    sends = facts.acceptance is not Acceptance.NONE
    return {
        "name": facts.name,
        "description": f"Murmur capsule {facts.name} {facts.version}",
        "supportedInterfaces": [
            {
                "url": f"http://{facts.address}",
                "protocolBinding": "JSONRPC",
                "protocolVersion": "1.0",
            }
        ],
        "version": facts.version,
        "capabilities": {
            "streaming": sends and facts.streams_text,
            "pushNotifications": False,
            "extensions": shown,
            "extendedAgentCard": facts.authenticated,
        },
        "securitySchemes": _security_schemes() if facts.authenticated else {},
        "securityRequirements": [_requirement([])] if facts.authenticated else [],
        "defaultInputModes": _MODES,
        "defaultOutputModes": _MODES,
        "skills": [_skill(facts)] if sends else [],
    }


def _skill(facts: CardFacts) -> dict[str, Any]:
    skill: dict[str, Any] = {
        "id": "task",
        "name": "Run a task",
        "description": "Runs one task given as a text message and reports its outcome.",
        "tags": ["task"],
    }
    if facts.authenticated:
        skill["securityRequirements"] = [
            _requirement([method.name]) for method in methods.METHODS if method.sending
        ]
    return skill


def _security_schemes() -> dict[str, Any]:
    scheme = {"description": "A door token, which `mur token` prints.", "scheme": "Bearer"}
    return {_SCHEME: {"httpAuthSecurityScheme": scheme}}


def _requirement(scopes: list[str]) -> dict[str, Any]:
    return {"schemes": {_SCHEME: {"list": scopes}}}


def _door(facts: CardFacts) -> dict[str, Any]:
    return _extension(
        extensions.DOOR,
        "The methods this door answers, and whether it takes tasks from other capsules.",
        {
            "methods": list(methods.served(facts.acceptance, facts.authenticated)),
            "peerTasks": facts.accepts_peer_tasks,
        },
    )


def _capsule(facts: CardFacts) -> dict[str, Any]:
    return _extension(
        extensions.CAPSULE,
        "The session behind this door and what its agent can reach.",
        {
            "sessionId": facts.session_id,
            "tools": list(facts.tools),
            "shell": facts.shell,
            "network": facts.network,
            "planes": list(facts.planes),
        },
    )


def _stream(facts: CardFacts) -> dict[str, Any]:
    sends = facts.acceptance is not Acceptance.NONE
    frames = [name for name in FRAME_NAMES if sends or name != "error"]
    return _extension(
        extensions.STREAM,
        "The frames this capsule's streams can carry beside A2A's own events.",
        {"frames": frames},
    )


def _extension(uri: str, description: str, params: dict[str, Any]) -> dict[str, Any]:
    return {"uri": uri, "description": description, "required": False, "params": params}
