"""What a collector is told of a session's verdicts."""

import json

from eval_hook.scoring import Scored
from eval_hook.telemetry import Scene, records
from murmur_hooking.otlp import trace_id


def test_each_verdict_is_a_record_of_the_sessions_trace() -> None:
    scored = [Scored("exit_ok", True, "exit_status=ok"), Scored("cheap", False, "tokens=9 max=1")]
    told = json.loads(records(scored, Scene("ses_1", "demo", "0.1.0"), 5, "case-7"))
    (resource,) = told["resourceLogs"]
    assert resource["resource"]["attributes"][0]["value"] == {"stringValue": "demo"}
    (scope,) = resource["scopeLogs"]
    passed, failed = scope["logRecords"]
    assert passed["traceId"] == failed["traceId"] == trace_id("ses_1")
    assert passed["timeUnixNano"] == "5000000" and passed["body"]["stringValue"] == "exit_status=ok"
    assert (passed["severityNumber"], failed["severityNumber"]) == (9, 13)
    assert {each["key"]: each["value"] for each in failed["attributes"]} == {
        "eval.scorer": {"stringValue": "cheap"},
        "eval.result": {"stringValue": "fail"},
        "eval.score": {"doubleValue": 0.0},
        "eval.case_id": {"stringValue": "case-7"},
    }


def test_a_session_outside_of_a_dataset_names_no_case() -> None:
    told = records([Scored("exit_ok", True, "")], Scene("ses_1"), 5, None)
    assert b"case_id" not in told
