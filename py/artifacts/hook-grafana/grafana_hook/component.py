"""The component: it keeps what it hears in memory, and sends it when the session ends."""

import os
import time

from murmur_hooking.collector import VARIABLE, Unsent, send
from murmur_hooking.component import NOTHING, QuietHook, failure
from murmur_hooking.otlp import Value
from wit_world.imports import lifecycle

from grafana_hook.spans import Recording, export, shown

# The component lasts as long as the session; the object that answers is made for each call.
_recording = Recording()


class Lifecycle(QuietHook):
    """The export."""

    def on_session_start(self, ctx: lifecycle.SessionContext) -> lifecycle.HookOutput:
        """Whose spans they are."""
        _recording.session_id = ctx.session_id
        _recording.capsule, _recording.version = ctx.capsule_name, ctx.capsule_version
        _recording.model, _recording.began_ns = ctx.model, time.time_ns()
        return NOTHING

    def on_inference(self, event: lifecycle.InferenceEvent) -> lifecycle.HookOutput:
        """A model call."""
        attributes: dict[str, Value | None] = {
            "turn": event.turn,
            "gen_ai.usage.input_tokens": event.input_tokens,
            "gen_ai.usage.output_tokens": event.output_tokens,
            "gen_ai.prompt": shown(event.prompt),
            "gen_ai.completion": shown(event.output),
            "decision": event.decision,
        }
        _recording.add("inference", time.time_ns(), 0, attributes)
        return NOTHING

    def on_tool_call(self, event: lifecycle.ToolEvent) -> lifecycle.HookOutput:
        """A tool call that was made."""
        if event.outcome is not None:
            attributes: dict[str, Value | None] = {
                "turn": event.turn,
                "tool_name": event.tool_name,
            }
            failed = event.outcome.status != "ok"
            duration = event.outcome.duration_ms
            _recording.add("tool_call", time.time_ns(), duration, attributes, failed=failed)
        return NOTHING

    def on_shell(self, event: lifecycle.ShellEvent) -> lifecycle.HookOutput:
        """A command that has ended."""
        if event.outcome is not None:
            attributes: dict[str, Value | None] = {
                "turn": event.turn,
                "binary": event.binary,
                "command": event.command,
                "exit_code": event.outcome.exit_code,
                "stdout": shown(event.outcome.stdout),
                "stderr": shown(event.outcome.stderr),
            }
            failed = event.outcome.exit_code != 0
            duration = event.outcome.duration_ms
            _recording.add("shell", time.time_ns(), duration, attributes, failed=failed)
        return NOTHING

    def on_session_end(self, event: lifecycle.SessionEndEvent) -> lifecycle.HookOutput:
        """Send everything, where there is somewhere to send it to."""
        endpoint = os.environ.get(VARIABLE, "")
        if not endpoint:
            return NOTHING
        ending: dict[str, Value] = {
            "exit_status": event.exit_status,
            "total_turns": event.total_turns,
            "total_input_tokens": event.total_input_tokens,
            "total_output_tokens": event.total_output_tokens,
        }
        formation = os.environ.get("MURMUR_FORMATION_ID")
        body = export(_recording, time.time_ns(), ending, formation)
        try:
            send(endpoint, "/v1/traces", body)
        except Unsent as problem:
            raise failure(str(problem)) from None
        return NOTHING
