"""The component: it counts calls, and scores when the session ends."""

import os
import sys
import time

from murmur_hooking.collector import VARIABLE, Unsent, send
from murmur_hooking.component import NOTHING, QuietHook, failure
from wit_world.imports import lifecycle

from eval_hook.scoring import (
    FILE,
    BadConfig,
    Scored,
    Session,
    lines,
    problem_line,
    read_scorers,
    score,
    unscored,
)
from eval_hook.telemetry import Scene, records

# The component lasts as long as the session; the object that answers is made for each call.
_called: list[str] = []
_scene: list[Scene] = []


class Lifecycle(QuietHook):
    """The export."""

    def on_session_start(self, ctx: lifecycle.SessionContext) -> lifecycle.HookOutput:
        """Whose verdicts they will be."""
        _scene[:] = [Scene(ctx.session_id, ctx.capsule_name, ctx.capsule_version)]
        return NOTHING

    def on_tool_call(self, event: lifecycle.ToolEvent) -> lifecycle.HookOutput:
        """A tool has answered."""
        if event.outcome is not None:
            _called.append(event.tool_name)
        return NOTHING

    def on_shell(self, event: lifecycle.ShellEvent) -> lifecycle.HookOutput:
        """A command has ended: its tool is called as its binary is."""
        if event.outcome is not None and event.argv:
            _called.append(event.argv[0].rpartition("/")[2])
        return NOTHING

    def on_session_end(self, event: lifecycle.SessionEndEvent) -> lifecycle.HookOutput:
        """Score what happened."""
        now = int(time.time() * 1000)
        try:
            scorers = read_scorers(os.environ)
        except BadConfig as bad:
            _write(problem_line(bad, now, os.environ))
            raise failure(str(bad)) from None
        if not scorers:
            print("hook-eval: observability.eval lists no scorer: nothing to do", file=sys.stderr)
            return NOTHING
        for kind in unscored(scorers):
            print(f"hook-eval: {kind} scores nothing", file=sys.stderr)
        tokens = event.total_input_tokens + event.total_output_tokens
        session = Session(event.exit_status, event.total_turns, tokens, tuple(_called))
        scored = score(scorers, session)
        _write(lines(scored, event.total_turns, now, os.environ))
        _tell(scored, now)
        return NOTHING


def _tell(scored: list[Scored], now: int) -> None:
    """Send the verdicts, where there is somewhere to send them to; a failure is a warning alone."""
    endpoint = os.environ.get(VARIABLE, "")
    if not endpoint or not scored or not _scene:
        return
    try:
        body = records(scored, _scene[0], now, os.environ.get("MURMUR_CASE_ID"))
        send(endpoint, "/v1/logs", body)
    except Unsent as problem:
        print(f"hook-eval: {problem}", file=sys.stderr)


def _write(text: str) -> None:
    try:
        with open(FILE, "a", encoding="utf-8") as out:
            out.write(text)
    except OSError as problem:
        raise failure(
            f"{FILE} cannot be written ({problem.strerror}): grant the hook filesystem.records"
        ) from None
