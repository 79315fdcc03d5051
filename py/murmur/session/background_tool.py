"""The runtime-provided tool `background-command`. spec/sessions.md 15.2."""

import json
from collections.abc import Mapping
from typing import Any, Final

from murmur.session.answers import Answer, refusal
from murmur.session.attempt import Attempt
from murmur.session.background import Background, Detached
from murmur.session.background_text import limit_line

LONGEST_WAIT_S: Final = 600
_OPERATIONS: Final = ("status", "wait", "stop")


class BackgroundCommandTool:
    """Answers with one JSON object: `work_id`, `command`, `state` (`running` or `ended`),
    `elapsed_ms`, `log`, `log_bytes`; once ended `status`, `exit_code`, `signal` of a killed one,
    `resource_limit`, and `output`, its last 16384 bytes."""

    def __init__(self, background: Background, records_path: str) -> None:
        self._background = background
        self._records_path = records_path

    def __call__(self, arguments: Mapping[str, object], attempt: Attempt, turn: int) -> Answer:
        operation = arguments.get("operation")
        if operation not in _OPERATIONS:
            return refusal(f"operation is {operation!r}, and may be {', '.join(_OPERATIONS)}")
        seconds = arguments.get("wait_secs", LONGEST_WAIT_S)
        if isinstance(seconds, bool) or not isinstance(seconds, int) or seconds < 0:
            return refusal(
                f"wait_secs is {seconds!r}, and may be a whole number from 0 to {LONGEST_WAIT_S}"
            )
        work_id = arguments.get("work_id")
        found = self._background.find(work_id) if isinstance(work_id, str) else None
        if found is None:
            return refusal(f"no command of this session is known as {work_id!r}")
        if operation == "wait":
            ended = self._background.wait(found, min(seconds, LONGEST_WAIT_S), attempt.cancel)
        elif operation == "stop":
            ended = self._background.stop(found)
        else:
            ended = self._background.read(found)
        return self._answer(found, ended)

    def _answer(self, found: Detached, ended: bool) -> Answer:
        shown: dict[str, Any] = {
            "work_id": found.work_id,
            "command": found.command,
            "state": "ended" if ended else "running",
            "elapsed_ms": found.elapsed_ms,
            "log": f"{self._records_path}/{found.log}",
            "log_bytes": found.output.written,
        }
        if found.output.lost is not None:
            shown["log_lost"] = found.output.lost
        note = None
        if ended:
            result = found.result
            assert result is not None
            shown |= {"status": "ok" if found.ok else "error", "exit_code": result.exit_code}
            if result.exit_code > 128:
                shown["signal"] = result.exit_code - 128
            if result.set_up_failure is not None:
                shown["wait_error"] = result.set_up_failure
            if result.resource_limit is not None:
                shown["resource_limit"] = result.resource_limit
                note = limit_line(result.resource_limit)
            shown["output"] = found.output.tail.decode("utf-8", "replace")
        return Answer(json.dumps(shown, ensure_ascii=False), note=note)
