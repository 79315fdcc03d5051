"""Attempts under `transport: process`: one run of the harness each. spec/artifacts.md 13.

Beside the agent loop, and in its place: the harness makes the turns, this hands it the task, and
says how its run ended.
"""

import contextlib
import dataclasses
import json
from collections.abc import Callable, Mapping
from typing import Final

from murmur.core.diagnostics import Diagnostic, MurmurError, error, warning
from murmur.core.ids import new_id
from murmur.core.safefs import Root
from murmur.inference.spend import SpendMeter, SpendRefused
from murmur.session.attempt import (
    KILLED,
    Attempt,
    Ending,
    canceled,
    harness_failed,
    out_of_tokens,
    out_of_turns,
    unanswered,
)
from murmur.session.deadline import Notice
from murmur.session.dispatch import Dispatcher
from murmur.session.harness.bridge import Post, ToolBridge
from murmur.session.harness.calls import HarnessCalls
from murmur.session.harness.contract import (
    Bridge,
    LaunchPlan,
    LaunchRequest,
    TurnEnd,
    TurnFailed,
)
from murmur.session.harness.driver import CallFailed
from murmur.session.harness.inbox import Inbox
from murmur.session.harness.load import LoadedHarness
from murmur.session.harness.process import HarnessProcess, NotStarted
from murmur.session.harness.run import (
    INACTIVITY_SECONDS,
    HarnessRun,
    Outcome,
    Silent,
    Stopped,
    Unanswered,
)
from murmur.session.harness.sessions import Chosen, HarnessSessions
from murmur.session.harness.turns import HarnessTurns, Settings, TooManyTurns
from murmur.session.harness.version import Probed
from murmur.session.history import History
from murmur.session.hooks.turns import TurnHooks
from murmur.trace.writer import TraceWriter

_HINTS: Final[Mapping[str, str]] = {
    "auth": "sign the harness in, then run again",
    "quota": "wait until the subscription's window starts over, or use another account",
    "max-turns": "raise inference.max_turns, or give it a smaller task",
    "canceled": "run it again when it may finish",
    "harness-error": "the trace says what it did last",
    "other": "the trace says what it did last",
}


@dataclasses.dataclass(frozen=True, slots=True)
class HarnessSettings:
    """What does not change during a session.

    `files` is the folder of the harness's files, at `files_path`; `env` its environment but for
    what the driver sets and `runtime_dir` says. `before_run` raises what ends the session instead
    of another run, or another call of a tool.
    """

    loaded: LoadedHarness
    model: str | None
    system: str
    driver_config: Mapping[str, object] | None
    max_turns: int | None
    meter: SpendMeter
    hooks: TurnHooks | None
    files: Root
    files_path: str
    env: Mapping[str, str]
    runtime_dir: str
    warn: Callable[[Diagnostic], None]
    notice: Notice
    before_run: Callable[[], None] = lambda: None
    inactivity: float = INACTIVITY_SECONDS


@dataclasses.dataclass(frozen=True, slots=True)
class Means:
    """What a run is made with: starting the harness, asking its version, reaching the tools.

    `bridge` None is a capsule without tools.
    """

    start: Callable[[list[str], Mapping[str, str], LaunchPlan, Inbox], HarnessProcess]
    version: Callable[[], Probed]
    bridge: Callable[[], ToolBridge] | None


class HarnessLoop:
    """Runs attempts, one after another, each as one run of the harness."""

    def __init__(
        self,
        settings: HarnessSettings,
        means: Means,
        sessions: HarnessSessions,
        dispatcher: Dispatcher,
        trace: TraceWriter,
    ) -> None:
        self._settings = settings
        self._means = means
        self._sessions = sessions
        self._dispatcher = dispatcher
        self._trace = trace
        self._turn_settings = Settings(
            trace=trace,
            meter=settings.meter,
            hooks=settings.hooks,
            max_turns=settings.max_turns,
            driver_config=settings.driver_config,
            warn_auth=self._warn_auth,
        )

    def compact_loaded(self, attempt: Attempt) -> Ending | None:
        """There is nothing here to compact: the harness holds the conversation."""
        return None

    def run(self, attempt: Attempt) -> Ending:
        """Runs one attempt to its end; its history ends with the messages that it answers."""
        settings = self._settings
        settings.before_run()
        turn = attempt.turns.taken
        if attempt.cancel.is_set():
            return canceled("turn", turn)
        if settings.max_turns is not None and turn >= settings.max_turns:
            return out_of_turns(settings.max_turns)
        calls = HarnessCalls(
            self._dispatcher,
            attempt,
            settings.notice,
            settings.before_run,
        )
        turns = HarnessTurns(self._turn_settings, attempt, calls)
        refused = settings.meter.exhausted()
        if refused is not None:
            turns.refuse(refused, turn)
            return out_of_tokens(refused, turn)
        chosen = self._sessions.choose(attempt.history.context_id, attempt.task_id)
        return self._run(attempt, turns, calls, chosen)

    def _run(
        self, attempt: Attempt, turns: HarnessTurns, calls: HarnessCalls, chosen: Chosen
    ) -> Ending:
        settings = self._settings
        probed = self._probe()
        inbox, run_id = Inbox(), new_id("run")
        bridge = self._open_bridge(inbox.post)
        try:
            asked = self._request(attempt.history, chosen, probed, bridge)
            try:
                plan = settings.loaded.driver.launch(asked).placed(
                    f"{settings.files_path}/{run_id}"
                )
            except CallFailed as failed:
                return self._ending(attempt, turns, chosen, failed)
            self._write_files(run_id, plan)
            argv = [settings.loaded.binary, *plan.args]
            env = {**settings.env, **dict(plan.env_set), "MURMUR_RUNTIME_DIR": settings.runtime_dir}
            self._trace_start(plan, env, chosen, probed)
            run = HarnessRun(
                settings.loaded.driver,
                settings.loaded.description,
                plan,
                inbox,
                attempt,
                turns,
                calls,
                self._trace,
                settings.inactivity,
            )
            outcome = run.run(lambda inbox: self._means.start(argv, env, plan, inbox))
        except NotStarted as failure:
            outcome = TurnFailed("harness-error", f"it could not be started: {failure}")
        finally:
            self._shut_bridge()
            self._remove_files(run_id)
        return self._ending(attempt, turns, chosen, outcome)

    def _request(
        self, history: History, chosen: Chosen, probed: Probed, bridge: Bridge | None
    ) -> LaunchRequest:
        settings = self._settings
        config = settings.driver_config
        return LaunchRequest(
            model=settings.model,
            system_prompt=settings.system,
            config=None
            if config is None
            else json.dumps(config, separators=(",", ":"), ensure_ascii=False),
            bridge=bridge,
            session_id=chosen.id,
            session_mode=chosen.mode,
            harness_version=probed.version,
            task=task_of(history),
        )

    def _probe(self) -> Probed:
        probed = self._means.version()
        found = probed.warning(self._settings.loaded.description)
        if found is not None:
            self._settings.warn(found)
            self._trace.write("harness_warning", code=found.code, message=found.message)
        return probed

    def _warn_auth(self, auth: str) -> str:
        found = warning("W-SEC-031", auth=auth)
        self._settings.warn(found)
        return found.message

    def _open_bridge(self, post: Post) -> Bridge | None:
        if self._means.bridge is None:
            return None
        return self._means.bridge().open(post)

    def _shut_bridge(self) -> None:
        if self._means.bridge is not None:
            self._means.bridge().shut()

    def _write_files(self, run_id: str, plan: LaunchPlan) -> None:
        try:
            with self._settings.files.sub(run_id, create=True, mode=0o700) as folder:
                for name, text in plan.files:
                    folder.write_exclusive(name, text.encode("utf-8", "replace"))
        except OSError as failure:
            reason = failure.strerror or str(failure)
            raise NotStarted(f"its files cannot be written: {reason}") from None

    def _remove_files(self, run_id: str) -> None:
        # There are none, or they go with the session's runtime directory.
        with contextlib.suppress(OSError):
            self._settings.files.remove_tree(run_id)

    def _trace_start(
        self, plan: LaunchPlan, env: Mapping[str, str], chosen: Chosen, probed: Probed
    ) -> None:
        """Names and sizes only: values of arguments, variables and files may be secret."""
        loaded = self._settings.loaded
        entry = loaded.driver.artifact.entry
        bridge = self._means.bridge
        self._trace.write(
            "harness_start",
            driver=entry.name,
            driver_version=entry.version,
            harness=loaded.description.harness,
            binary=loaded.binary,
            binary_source=loaded.source,
            harness_version=probed.version,
            version_tested=probed.tested,
            harness_session_id=chosen.id,
            session_mode=chosen.mode,
            args_count=len(plan.args),
            env_names=sorted(env),
            files=[name for name, _ in plan.files],
            bridge_tools=list(bridge().names) if bridge is not None else [],
            stdin_bytes=len(plan.stdin or b""),
            keep_stdin_open=plan.keep_stdin_open,
        )

    def _ending(
        self, attempt: Attempt, turns: HarnessTurns, chosen: Chosen, outcome: Outcome
    ) -> Ending:
        """How the attempt ended, with its lines and what is remembered of the session."""
        self._remember(attempt, turns, chosen, outcome)
        match outcome:
            case TurnEnd(text):
                turns.end(outcome)
                attempt.history.add(_assistant(text))
                return Ending(status="ok", said="session ended", result=text, response=text)
            case TurnFailed():
                turns.fail(outcome)
                return self._failed(attempt, turns, chosen, outcome, "harness")
            case CallFailed(call, reason):
                label = self._settings.loaded.driver.label
                turns.fail(TurnFailed("other", str(outcome)), "driver_failed")
                refused = error("E-RUN-034", artifact=label, call=call, reason=reason)
                return self._broken(attempt, refused)
            case Silent(seconds):
                refused = error("E-RUN-035", seconds=seconds)
                said = refused.diagnostic.message
                turns.fail(TurnFailed("other", said), "harness_inactive")
                return self._broken(attempt, refused)
            case TooManyTurns():
                turns.leave()
                limit = self._settings.max_turns
                said = f"it began a turn beyond the {limit} of inference.max_turns"
                failure = TurnFailed("max-turns", said)
                return self._failed(attempt, turns, chosen, failure, "runtime")
            case SpendRefused():
                turns.leave()
                return out_of_tokens(outcome, attempt.turns.taken)
            case Unanswered():
                turns.leave()
                return unanswered(max(0, attempt.turns.taken - 1))
            case Stopped(killed):
                turns.leave()
                ending = canceled("harness", max(0, attempt.turns.taken - 1))
                return dataclasses.replace(ending, said=KILLED) if killed else ending

    def _remember(
        self, attempt: Attempt, turns: HarnessTurns, chosen: Chosen, outcome: Outcome
    ) -> None:
        """A run that failed without naming its session has none to go back to."""
        reported = turns.session.id if turns.session is not None else None
        if reported is None and not isinstance(outcome, TurnEnd):
            self._sessions.lose()
            return
        self._sessions.keep(attempt.history.context_id, attempt.task_id, reported or chosen.id)

    def _failed(
        self,
        attempt: Attempt,
        turns: HarnessTurns,
        chosen: Chosen,
        failure: TurnFailed,
        source: str,
    ) -> Ending:
        kind, message = failure.kind, failure.message
        self._trace.write("harness_failed", kind=kind, message=message, source=source)
        number = max(0, attempt.turns.taken - 1)
        lost = chosen.mode == "resume" and turns.session is None
        if lost and kind in ("harness-error", "other"):
            return harness_failed(self._lost(attempt, chosen), number, cause="driver_error")
        refused = error("E-RUN-033", kind=kind, message=message, hint=_HINTS[kind])
        if kind == "max-turns":
            return harness_failed(refused, number, status="max_turns_reached", cause=None)
        return harness_failed(refused, number, cause="driver_error")

    def _broken(self, attempt: Attempt, refused: MurmurError) -> Ending:
        message = refused.diagnostic.message
        self._trace.write("harness_failed", kind="other", message=message, source="runtime")
        return harness_failed(refused, max(0, attempt.turns.taken - 1), cause="driver_error")

    def _lost(self, attempt: Attempt, chosen: Chosen) -> MurmurError:
        context_id = attempt.history.context_id
        path = self._sessions.path(context_id)
        return error(
            "E-RUN-036",
            harness=self._settings.loaded.description.harness,
            session=chosen.id,
            context=context_id,
            map=path if path is not None else "memory",
        )


def task_of(history: History) -> str:
    """The messages that nothing has answered yet, as one text."""
    texts: list[str] = []
    for message in reversed(history.messages):
        if message["role"] != "user":
            break
        texts += [str(block["text"]) for block in message["content"] if "text" in block]
    return "\n\n".join(reversed(texts))


def _assistant(text: str) -> dict[str, object]:
    return {"role": "assistant", "content": [{"type": "text", "text": text}]}
