"""The `switch-driver` tool: the agent's own change of the driver choice. spec/sessions.md 15.7."""

import dataclasses
import json
from collections.abc import Mapping

from murmur.core.control import ControlRefused
from murmur.session.answers import Answer, refusal
from murmur.session.attempt import Attempt
from murmur.session.control import SessionControls


@dataclasses.dataclass(frozen=True, slots=True)
class SwitchDriver:
    """Accepts a choice of the manifest; the next call of the agent's model is made with it."""

    controls: SessionControls

    def __call__(self, arguments: Mapping[str, object], attempt: Attempt, turn: int) -> Answer:
        try:
            change = self.controls.switch_driver(arguments.get("driver"))
        except ControlRefused as refused:
            return refusal(refused.message)
        shown = {
            "driver": change.value,
            "previous": change.previous,
            "applies_from": "next_inference_call",
        }
        return Answer(json.dumps(shown, separators=(",", ":")))
