"""Every environment variable that this build reads or hands over, for its reference page.

spec/sessions.md 8, spec/registry.md 27. tests/registry holds the table to the source.
"""

import dataclasses
from typing import Final


@dataclasses.dataclass(frozen=True, slots=True)
class Variable:
    """One variable and its meaning; `given_to` names who is handed it, nobody for one mur reads."""

    name: str
    meaning: str
    given_to: str = ""


READ: Final = (
    Variable("HOME", "Holds `~/.murmur`; an absolute path."),
    Variable("PATH", "Where the binaries of `shell.allow` are looked up."),
    Variable(
        "MURMUR_A2A_TIMEOUT_SECS",
        "Seconds that a session without a task waits for its first one; 30 by default.",
    ),
    Variable(
        "MURMUR_MAX_ARTIFACT_DECOMPRESSED_BYTES",
        "Size that one entry of an artifact's archive may unpack to.",
    ),
    Variable(
        "GITHUB_TOKEN",
        "Sent to a source of `mur install` whose entry in config.yaml has no `token:`.",
    ),
    Variable(
        "MUR_GITHUB_API_BASE",
        "GitHub's API, if not `https://api.github.com`; https, or http on this machine itself.",
    ),
    Variable(
        "HTTPS_PROXY",
        "The proxy, `http://` or `https://`, for what guests ask of https hosts and for downloads; "
        "as `https_proxy` too, which wins, also when it is empty.",
    ),
    Variable("HTTP_PROXY", "The proxy for http hosts, likewise. This machine is never behind one."),
    Variable("ALL_PROXY", "The proxy for whichever of the two names none."),
    Variable(
        "NO_PROXY",
        "Names with all below them, addresses and networks that are reached without a proxy, with "
        "or without a port, separated by commas; `*` for all.",
    ),
    Variable("TERM", "Whether a terminal can show how downloads go."),
    Variable("SOURCE_DATE_EPOCH", "The moment that `mur index` writes into an index."),
    Variable(
        "MURMUR_DOOR_TOKEN",
        "The door token that `mur watch --url` and `mur cancel --url` present.",
    ),
    Variable("MURMUR_SANDBOX_HELPER", "Path of `mur-sandbox`, when it is not beside `mur`."),
    Variable("MURMUR_LOCKDOWN_LIBRARY", "Path of the guests' lockdown library, likewise."),
    Variable(
        "DBUS_SESSION_BUS_ADDRESS",
        "How the user's systemd is reached, which is asked for a cgroup of the session's own.",
    ),
    Variable("XDG_RUNTIME_DIR", "Where its bus is looked for without that address."),
    Variable("MURMUR_ROOST_URL", "Where mur-roost listens; `mur doctor` asks whether it does."),
)

_GUESTS_AND_COMMANDS: Final = "tools, drivers, commands"

GIVEN: Final = (
    Variable("MURMUR_CAPSULE_NAME", "The capsule's name.", _GUESTS_AND_COMMANDS),
    Variable("MURMUR_CAPSULE_VERSION", "The capsule's version.", _GUESTS_AND_COMMANDS),
    Variable("MURMUR_SESSION_ID", "The session's id.", _GUESTS_AND_COMMANDS),
    Variable("MURMUR_CAPSULE_URL", "Where the door listens.", _GUESTS_AND_COMMANDS),
    Variable("MURMUR_INFERENCE_TRANSPORT", "`inference.transport`.", _GUESTS_AND_COMMANDS),
    Variable("MURMUR_INFERENCE_MODEL", "`inference.model`.", _GUESTS_AND_COMMANDS),
    Variable("MURMUR_INFERENCE_DRIVER", "The driver's full name.", _GUESTS_AND_COMMANDS),
    Variable(
        "MURMUR_INFERENCE_ENDPOINT",
        "The address of the driver's gateway for the driver, empty for everybody else.",
        _GUESTS_AND_COMMANDS,
    ),
    Variable(
        "MURMUR_INFERENCE_DRIVER_CONFIG",
        "`inference.driver.config` as JSON, when it is declared.",
        _GUESTS_AND_COMMANDS,
    ),
    Variable(
        "MURMUR_GATEWAY_ENDPOINT",
        "The address of an entry's gateway.",
        "the artifact that declares `gateway:`",
    ),
    Variable(
        "MURMUR_ARTIFACT_CONFIG",
        "The entry's `config:` as JSON.",
        "the artifact that declares it",
    ),
    Variable("MURMUR_RUNTIME_DIR", "The session's runtime directory.", "commands"),
    Variable("MURMUR_OTEL_ENDPOINT", "`observability.otel_endpoint`, when it is set.", "hooks"),
    Variable(
        "MURMUR_EVAL_CONFIG",
        "`observability.eval` as JSON: `dataset_id` and `scorers`.",
        "hooks",
    ),
    Variable("MURMUR_DATASET_ID", "`observability.eval.dataset_id`, when it is set.", "hooks"),
    Variable("MURMUR_CASE_ID", "The case that `mur eval run` runs, as mur was given it.", "hooks"),
    Variable("MURMUR_FORMATION_ID", "The formation, as mur was given it.", "hooks"),
)
