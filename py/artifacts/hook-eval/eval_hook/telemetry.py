"""The verdicts as OTLP log records. spec/observability.md 11.3."""

from collections.abc import Sequence
from dataclasses import dataclass

from murmur_hooking.otlp import attributes, body, service, trace_id

from eval_hook.scoring import Scored

SCOPE = "murmur.hook-eval"
# OTLP's numbers for INFO and WARN.
PASSED, FAILED = 9, 13


@dataclass(frozen=True)
class Scene:
    """Whose verdicts they are."""

    session_id: str = ""
    capsule: str = ""
    version: str = ""


def records(scored: Sequence[Scored], scene: Scene, now_ms: int, case_id: str | None) -> bytes:
    """The body of the request: a record for each verdict, under the session's trace."""
    logs = [
        {
            "timeUnixNano": str(now_ms * 1_000_000),
            "severityNumber": PASSED if each.passed else FAILED,
            "severityText": "INFO" if each.passed else "WARN",
            "body": {"stringValue": each.reason},
            "attributes": attributes(
                {
                    "eval.scorer": each.scorer,
                    "eval.result": each.result,
                    "eval.score": each.score,
                    "eval.case_id": case_id,
                }
            ),
            "traceId": trace_id(scene.session_id),
        }
        for each in scored
    ]
    scope = {"scope": {"name": SCOPE}, "logRecords": logs}
    resource = service(scene.capsule, scene.version)
    return body({"resourceLogs": [{"resource": resource, "scopeLogs": [scope]}]})
