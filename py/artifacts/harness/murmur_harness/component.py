"""The `murmur:driver/process` export, around a driver in plain Python.

    DRIVER = ClaudeCode()

    class Process(HarnessExport):
        driver = DRIVER

The object that answers is made anew for each call; the driver, in its module's variable, stays.
"""

from componentize_py_types import Err
from wit_world import exports
from wit_world.exports import process

from murmur_harness import contract

_INTERRUPTS: dict[contract.Interrupt, process.InterruptMethod] = {
    "stdin-message": process.InterruptMethod.STDIN_MESSAGE,
    "signal-int": process.InterruptMethod.SIGNAL_INT,
    "unsupported": process.InterruptMethod.UNSUPPORTED,
}
_FAILURES: dict[contract.FailureKind, process.FailureKind] = {
    "auth": process.FailureKind.AUTH,
    "quota": process.FailureKind.QUOTA,
    "max-turns": process.FailureKind.MAX_TURNS,
    "canceled": process.FailureKind.CANCELED,
    "harness-error": process.FailureKind.HARNESS_ERROR,
    "other": process.FailureKind.OTHER,
}
_QUOTA_STATES: dict[contract.QuotaState, process.QuotaState] = {
    "ok": process.QuotaState.OK,
    "warning": process.QuotaState.WARNING,
    "exhausted": process.QuotaState.EXHAUSTED,
}


class HarnessExport(exports.Process):
    """Answers for `driver`."""

    driver: contract.HarnessDriver

    def describe(self) -> process.Description:
        """What the harness is."""
        said = self.driver.describe()
        return process.Description(
            harness=said.harness,
            binary=said.binary,
            version_args=list(said.version_args),
            tested_versions=list(said.tested_versions),
            interrupt=_INTERRUPTS[said.interrupt],
            required_env=list(said.required_env),
            streams_text=said.streams_text,
            reports_usage=said.reports_usage,
        )

    def launch(self, request: process.LaunchRequest) -> process.LaunchPlan:
        """How to start it; a refusal is the `err` of the call."""
        try:
            plan = self.driver.launch(_request(request))
        except contract.Refused as refusal:
            raise Err(str(refusal)) from refusal
        return process.LaunchPlan(
            args=list(plan.args),
            env_set=list(plan.env),
            files=[process.DriverFile(name, contents) for name, contents in plan.files],
            stdin=plan.stdin,
            keep_stdin_open=plan.keep_stdin_open,
            interrupt_stdin=plan.interrupt_stdin,
        )

    def parse(self, lines: list[str]) -> list[process.Event]:
        """What its output says."""
        return [_event(event) for line in lines for event in self.driver.read(line)]

    def classify_exit(self, exit: process.ExitStatus) -> process.Event:
        """What its end says."""
        return _event(
            self.driver.classify_exit(
                contract.ExitStatus(
                    exit.code, exit.signal, exit.stderr_tail, exit.interrupted, exit.saw_terminal
                )
            )
        )


def _request(request: process.LaunchRequest) -> contract.LaunchRequest:
    return contract.LaunchRequest(
        task=request.task,
        session_id=request.session.id,
        resumes=request.session.mode is process.SessionMode.RESUME,
        system_prompt=request.system_prompt,
        model=request.model,
        config=request.config,
        bridge=_bridge(request.bridge) if request.bridge else None,
        harness_version=request.harness_version,
    )


def _bridge(bridge: process.Bridge) -> contract.Bridge:
    names = tuple(bridge.tool_names)
    return contract.Bridge(bridge.server_name, bridge.url, bridge.bearer_token, names)


def _event(event: contract.Event) -> process.Event:
    match event:
        case contract.SessionStarted(session, auth, model):
            return process.Event_SessionStarted(process.SessionInfo(session, auth, model))
        case contract.TextDelta(text):
            return process.Event_TextDelta(text)
        case contract.Text(text):
            return process.Event_Text(text)
        case contract.ThinkingDelta(text):
            return process.Event_ThinkingDelta(text)
        case contract.Thinking(text):
            return process.Event_Thinking(text)
        case contract.ToolCall(call, name, given):
            return process.Event_ToolCall(process.ToolCallInfo(call, name, given))
        case contract.ToolResult(call, output, is_error):
            return process.Event_ToolResult(process.ToolResultInfo(call, output, is_error))
        case contract.Retry(attempt, reason):
            return process.Event_Retry(process.RetryInfo(attempt, reason))
        case contract.Usage(given, output, read, created, thinking):
            return process.Event_Usage(process.Usage(given, output, read, created, thinking))
        case contract.TurnEnd(text):
            return process.Event_TurnEnd(text)
        case contract.TurnFailed(kind, message):
            return process.Event_TurnFailed(process.TurnFailure(_FAILURES[kind], message))
        case contract.Note(text):
            return process.Event_Note(text)
        case contract.ToolCallStarted(call, name):
            return process.Event_ToolCallStarted(process.ToolCallStart(call, name))
        case contract.ToolCallProgress(call, size):
            return process.Event_ToolCallProgress(process.ToolCallProgress(call, size))
        case contract.Quota(name, used, resets_at, minutes, state):
            kept = _QUOTA_STATES[state] if state else None
            return process.Event_Quota(process.QuotaWindow(name, used, resets_at, minutes, kept))
