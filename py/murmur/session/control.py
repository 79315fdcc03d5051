"""What a controller, or the agent, changes while the session runs. spec/door.md 19.

`murmur.core.control.Controls` for one session. Each call of the loop reads every setting once;
compaction and hooks' own calls read none. Secrets stay in memory, and nothing outlives the session.
"""

import threading
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from murmur.core.control import ControlRefused, ControlToken, Kind, SettingChange
from murmur.core.diagnostics import MurmurError
from murmur.inference.credentials import InjectedCredential
from murmur.inference.limits import Choice, check_budget
from murmur.inference.secret import Secret
from murmur.manifest.session import Control
from murmur.session.choices import PRIMARY, DriverChoice, InUse
from murmur.session.stage import Staged
from murmur.trace.writer import TraceWriter

MAX_TOKENS: Final = "inference.max_tokens"
DRIVER: Final = "inference.driver"

_MOST_TOKENS: Final = (1 << 32) - 1

Principal = Literal["controller", "agent"]


class SessionControls:
    """The settings and secrets of one session. Safe to use from any thread."""

    def __init__(
        self,
        session_id: str,
        declared: Control,
        choices: Mapping[str, DriverChoice],
        injected: Sequence[InjectedCredential],
        trace: TraceWriter,
    ) -> None:
        """`choices` holds the primary one under its name; `injected` one object per entry."""
        self.token: Final = ControlToken(session_id)
        self._session_id = session_id
        self._declared = declared
        self._choices = choices
        self._injected = {
            name: [each for each in injected if each.name == name] for name in declared.secrets
        }
        self._trace = trace
        self._lock = threading.Lock()
        self._driver = PRIMARY
        self._max_tokens: int | None = None
        # Without choices, a harness calls the model, and neither setting can be declared.
        self._applied: dict[str, object] = {DRIVER: PRIMARY}
        if choices:
            self._applied[MAX_TOKENS] = choices[PRIMARY].limits.max_output_tokens
        self._changes: dict[str, str] = {}

    @property
    def settings(self) -> tuple[str, ...]:
        return self._declared.settings

    @property
    def secrets(self) -> tuple[str, ...]:
        return self._declared.secrets

    def shown(self) -> Mapping[str, Any]:
        with self._lock:
            settings: list[dict[str, Any]] = []
            for name in self.settings:
                row: dict[str, Any] = {"name": name, "value": self._value(name)}
                if name == DRIVER:
                    row["choices"] = [each.shown() for each in self._choices.values()]
                settings.append(row)
            secrets = [{"name": name, "set": self._held(name)} for name in self.secrets]
        return {"session_id": self._session_id, "settings": settings, "secrets": secrets}

    def change(self, name: str, value: object) -> SettingChange:
        with self._lock:
            return self._change(name, value, "controller")

    def switch_driver(self, name: object) -> SettingChange:
        """The agent's own change of the driver. Raises ControlRefused, and traces it."""
        with self._lock:
            try:
                return self._change(DRIVER, name, "agent")
            except ControlRefused as refused:
                self._trace_refusal("agent", refused.status, refused.reason, "setting", DRIVER)
                raise

    def supply(self, name: str, value: bytes) -> bool:
        try:
            secret = Secret(value.decode("ascii").strip(" "))
        except ValueError:
            raise ControlRefused(
                422, "invalid_value", "a secret is visible ASCII characters and spaces, not empty"
            ) from None
        with self._lock:
            replaced = self._held(name)
            for each in self._injected[name]:
                each.supply(secret)
            self._trace_change("controller", "secret", name, "set", replaced=replaced)
        return replaced

    def forget(self, name: str) -> None:
        with self._lock:
            if self._keys_the_choice_in_use(name):
                raise ControlRefused(409, "in_use", "the driver choice in use is keyed by it")
            for each in self._injected[name]:
                each.forget()
            self._trace_change("controller", "secret", name, "forget")

    def note_refusal(self, status: int, reason: str, kind: Kind | None, name: str | None) -> None:
        self._trace_refusal("controller", status, reason, kind, name)

    def for_call(self, turn: int, task_id: str | None) -> InUse:
        """What the loop's next call is made with, each setting read once.

        A value that differs from the previous call's is traced, with the change behind it.
        """
        with self._lock:
            choice = self._choices[self._driver]
            using = InUse(choice, self._cap(choice))
            for name in (MAX_TOKENS, DRIVER):
                value = self._value(name)
                if value == self._applied[name]:
                    continue
                self._applied[name] = value
                if name not in self._changes:
                    continue  # Another driver's own output cap, which nobody set.
                self._trace.write_aside(
                    "control_applied",
                    turn=turn,
                    task_id=task_id,
                    name=name,
                    value=value,
                    change_id=self._changes[name],
                )
        return using

    # Under the lock.

    def _value(self, name: str) -> object:
        return self._cap(self._choices[self._driver]) if name == MAX_TOKENS else self._driver

    def _cap(self, choice: DriverChoice) -> int:
        return choice.limits.max_output_tokens if self._max_tokens is None else self._max_tokens

    def _held(self, name: str) -> bool:
        return any(each.held for each in self._injected[name])

    def _keys_the_choice_in_use(self, name: str) -> bool:
        using = self._choices.get(self._driver)  # none where a harness calls the model
        credential = using.credential if using is not None else None
        return any(each is credential and each.held for each in self._injected[name])

    def _change(self, name: str, value: object, principal: Principal) -> SettingChange:
        previous = self._value(name)
        if name == MAX_TOKENS:
            self._max_tokens = self._tokens(value)
        else:
            self._driver = self._available(value)
        now = self._value(name)
        self._trace_change(
            principal,
            "setting",
            name,
            "set",
            previous=previous,
            value=now,
            applies_from="next_inference_call",
        )
        return SettingChange(name, previous, now)

    def _tokens(self, value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _MOST_TOKENS:
            raise ControlRefused(
                422,
                "invalid_value",
                f"{MAX_TOKENS} is a whole number from 1 to {_MOST_TOKENS}",
            )
        choice = self._choices[self._driver]
        try:
            named = Choice(choice.name, choice.driver, "", choice.model)
            check_budget(choice.limits, named, value)
        except MurmurError:
            raise ControlRefused(
                422, "invalid_value", f"an output cap of {value} leaves no room for any input"
            ) from None
        return value

    def _available(self, value: object) -> str:
        if not isinstance(value, str) or value not in self._choices:
            raise ControlRefused(
                422, "undeclared_driver", f"{DRIVER} is one of {', '.join(self._choices)}"
            )
        if not self._choices[value].available:
            raise ControlRefused(
                409, "credential_unresolvable", f"the credential of {value} has no value now"
            )
        return value

    def _trace_change(
        self, principal: Principal, kind: Kind, name: str, action: str, **fields: object
    ) -> None:
        by = self.token.id if principal == "controller" else None
        try:
            self._changes[name] = self._trace.write(
                "control_change",
                principal=principal,
                token_id=by,
                kind=kind,
                name=name,
                action=action,
                **fields,
            )
        except MurmurError:
            pass  # The trace is lost; the task that runs ends for it (E-RUN-007).

    def _trace_refusal(
        self, principal: Principal, status: int, reason: str, kind: Kind | None, name: str | None
    ) -> None:
        known = principal == "controller" and reason != "unauthenticated"
        self._trace.write_aside(
            "control_refused",
            principal=principal,
            status=status,
            reason=reason,
            kind=kind,
            name=name,
            token_id=self.token.id if known else None,
        )


def open_controls(
    staged: Staged, choices: Mapping[str, DriverChoice], trace: TraceWriter
) -> SessionControls | None:
    """What may be changed while the session runs; None where `control:` lists nothing."""
    declared = staged.capsule.control
    if declared is None or not (declared.has_surface or declared.agent_settings):
        return None
    credentials = [each.credential for each in staged.gateways.values()]
    injected = [each for each in credentials if isinstance(each, InjectedCredential)]
    return SessionControls(staged.session_id, declared, choices, injected, trace)


def declared_control(declared: Control | None) -> dict[str, object] | None:
    """`session_start.control`: names, and never a value."""
    if declared is None:
        return None
    names = {"settings": list(declared.settings), "secrets": list(declared.secrets)}
    agent = {"agent_settings": list(declared.agent_settings)} if declared.agent_settings else {}
    return {**names, **agent}
