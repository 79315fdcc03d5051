"""`run-inference`: one call of the primary driver on a hook's behalf. spec/artifacts.md 15.6.

Without tools, streaming and input requests; each call that is made leaves one `inference` line of
its own (spec/observability.md 5.3), whose counts are those of the session.
"""

import dataclasses
import threading
from collections.abc import Mapping
from typing import Any

from murmur.guest.questions import Answer, Err, Ok
from murmur.inference.driver import DriverClient
from murmur.inference.payload import TurnRequest, cache_key
from murmur.inference.reply import Turn
from murmur.inference.retry import RetryNotice
from murmur.inference.spend import SpendMeter, SpendRefused
from murmur.manifest.capsule import Capsule
from murmur.session.hooks.scope import Moment
from murmur.trace.writer import TraceWriter


@dataclasses.dataclass(frozen=True, slots=True)
class HookInference:
    """The driver as hooks reach it.

    `output_cap` is the primary choice's and `compaction_cap` that of a call made while a context is
    compacted, in tokens. `refused` gets, by hook, what a spend ceiling refused one that compacts.
    """

    capsule: Capsule
    client: DriverClient
    trace: TraceWriter
    output_cap: int
    compaction_cap: int
    meter: SpendMeter = dataclasses.field(default_factory=SpendMeter)
    refused: dict[str, SpendRefused] = dataclasses.field(default_factory=dict)

    def run(
        self,
        hook: str,
        request: Mapping[str, Any],
        moment: Moment,
        *,
        compacting: bool,
        cancel: threading.Event,
    ) -> Answer:
        """Answers one `run-inference`; `cancel` ends a call that is under way."""
        inference = self.capsule.inference
        assert inference is not None
        model = request["model"] or inference.model or ""
        cap = self.compaction_cap if compacting else self.output_cap
        asked = TurnRequest(
            model=model,
            max_tokens=cap,
            messages=[_message(each) for each in request["messages"]],
            system=request["system-prompt"] or "",
            prompt_cache_key=cache_key(self.capsule.name, self.capsule.version, moment.context_id),
            context_id=moment.context_id or "",
        )
        about = {"turn": moment.turn, "task_id": moment.task_id, "origin": f"hook:{hook}"}

        def on_retry(notice: RetryNotice) -> None:
            self.trace.write_aside("inference_retry", **about, **dataclasses.asdict(notice))

        try:
            admission = self.meter.admit(asked.input_tokens(), cap)
        except SpendRefused as refused:
            if compacting:
                self.refused[hook] = refused
            self.trace.write_aside("spend_ceiling_reached", **about, **refused.record())
            return Err(str(refused))
        answered = self.client.call(
            asked, inference.retry, cancel=cancel, on_retry=on_retry, admission=admission
        )
        result = answered.result
        if not isinstance(result, Turn) and result.error_code == "canceled":
            return Err("the call was canceled")
        assert inference.driver is not None
        fields = dict(answered.trace_fields())
        fields["input_tokens"] = answered.input_tokens
        if isinstance(result, Turn):
            # What the loop would make of the answer is of no interest here.
            del fields["stop_reason"]
            fields |= {"decision": "text", "tool_name": None}
        self.trace.write_aside(
            "inference",
            **about,
            model=model,
            max_output_tokens=cap,
            driver_config=inference.driver.config,
            **fields,
        )
        if not isinstance(result, Turn):
            return Err(result.error)
        return Ok(
            {
                "text": "".join(str(b["text"]) for b in result.content if b["type"] == "text"),
                "model-used": model,
                "input-tokens": answered.input_tokens,
                "output-tokens": answered.output_tokens or 0,
            }
        )


def _message(given: Mapping[str, Any]) -> dict[str, Any]:
    """Plain text, wrapped as one block. spec/artifacts.md 15.5."""
    return {"role": given["role"], "content": [{"type": "text", "text": given["content"]}]}
