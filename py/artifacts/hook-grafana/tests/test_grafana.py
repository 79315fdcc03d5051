"""The spans of a session, as a collector takes them."""

import json
from typing import Any

from grafana_hook.spans import TEXT_CHARACTERS, Recording, export, shown


def _spans(recording: Recording, **ending: Any) -> list[dict[str, Any]]:
    body = json.loads(export(recording, 9_000_000_000, {"exit_status": "ok", **ending}, None))
    spans: list[dict[str, Any]] = body["resourceSpans"][0]["scopeSpans"][0]["spans"]
    return spans


def test_a_session_is_a_root_with_its_calls_below() -> None:
    recording = Recording("ses_1", "demo", "0.1.0", "m", began_ns=1_000_000_000)
    recording.add("shell", 5_000_000_000, 1500, {"turn": 0, "gone": None}, failed=True)
    root, child = _spans(recording, total_turns=3)
    assert root["spanId"] == f"{root['traceId'][:12]}0000" == child["parentSpanId"]
    assert "parentSpanId" not in root and root["status"] == {"code": 1}
    keys = [each["key"] for each in root["attributes"]]
    assert keys[:3] == ["service.name", "service.version", "murmur.session_id"]
    assert {"key": "total_turns", "value": {"intValue": "3"}} in root["attributes"]
    assert child["startTimeUnixNano"] == "3500000000"
    assert child["attributes"] == [{"key": "turn", "value": {"intValue": "0"}}]
    assert child["status"] == {"code": 2}


def test_a_session_that_failed_is_marked() -> None:
    (root,) = _spans(Recording("ses_1"), exit_status="failed")
    assert root["status"] == {"code": 2}


def test_a_formation_is_named() -> None:
    body = export(Recording("ses_1"), 1, {"exit_status": "ok"}, "frm_1")
    assert b'"murmur.formation_id"' in body


def test_long_texts_are_cut() -> None:
    assert shown("x" * 9999) == "x" * TEXT_CHARACTERS and shown(None) is None
