"""A hook's contract: which event it hears, how it runs, what it may commit.

seeds/manifest-schema.md, Hook contract fields; spec/artifacts.md 15.1. A bad pairing is refused
at staging with E-IO-003, before the component is compiled.
"""

from dataclasses import dataclass
from typing import Final

# What each event honours beside `none`; the order is the one the events happen in.
BINDINGS: Final[dict[str, str | None]] = {
    "on-stage": "write-manifests",
    "on-session-start": None,
    "on-task-start": "seed-context",
    "on-inference": None,
    "on-tool-call": "deny",
    "on-shell": "deny",
    "on-compaction": "replace-context",
    "on-task-end": "reopen-task",
    "on-session-end": None,
}
MODES: Final = ("blocking", "async")
POLICIES: Final = (
    "none",
    "write-manifests",
    "replace-context",
    "reopen-task",
    "seed-context",
    "deny",
)


@dataclass(frozen=True, slots=True)
class HookContract:
    """A checked contract. `binding` None hears every event."""

    binding: str | None
    execution_mode: str
    commit_policy: str

    @property
    def is_policy(self) -> bool:
        """Whether the hook decides on calls before they are made."""
        return self.commit_policy == "deny"


class BadContract(ValueError):
    """Why a contract is refused; the part of the message after `invalid config: `."""


def parse_contract(binding: object, mode: object, policy: object) -> HookContract:
    """The contract of the three fields as written (None: absent). Raises BadContract."""
    bound = _choice("binding", binding, tuple(BINDINGS), None)
    chosen_mode = _choice("execution_mode", mode, MODES, "blocking") or "blocking"
    chosen_policy = _choice("commit_policy", policy, POLICIES, "none") or "none"
    if bound is None and chosen_policy == "deny":
        raise BadContract(
            "commit_policy 'deny' requires an explicit binding: 'on-shell' or 'on-tool-call'; a "
            "hook with no binding: is dispatched at every event, including decision points it was "
            "not written to decide"
        )
    if bound is not None and chosen_policy not in ("none", BINDINGS[bound]):
        honoured = BINDINGS[bound] or "none"
        raise BadContract(
            f"commit_policy '{chosen_policy}' is not valid for binding '{bound}'; binding "
            f"'{bound}' honors commit_policy '{honoured}'"
        )
    if chosen_mode == "async" and chosen_policy != "none":
        raise BadContract(
            f"execution_mode 'async' requires commit_policy 'none', and it is '{chosen_policy}'"
        )
    if chosen_mode == "async" and bound == "on-stage":
        raise BadContract("binding 'on-stage' requires execution_mode 'blocking'")
    return HookContract(bound, chosen_mode, chosen_policy)


def _choice(key: str, value: object, accepted: tuple[str, ...], default: str | None) -> str | None:
    if value is None:
        return default
    if value not in accepted:
        raise BadContract(f"{key} '{value}' is none of {', '.join(accepted)}")
    return str(value)
