"""Ids and attributes, as a collector takes them."""

from murmur_hooking.otlp import attributes, fnv1a, trace_id


def test_the_hash_is_fnv_1a() -> None:
    assert fnv1a(b"") == 0xCBF29CE484222325
    assert fnv1a(b"a") == 0xAF63DC4C8601EC8C


def test_the_trace_follows_from_the_session() -> None:
    first = fnv1a(b"ses_1")
    second = fnv1a(first.to_bytes(8, "little"))
    assert trace_id("ses_1") == f"{first:016x}{second:016x}"


def test_a_value_says_its_kind_and_none_is_left_out() -> None:
    told = attributes({"a": True, "b": 1, "c": 0.5, "d": "x", "e": None})
    assert [each["value"] for each in told] == [
        {"boolValue": True},
        {"intValue": "1"},
        {"doubleValue": 0.5},
        {"stringValue": "x"},
    ]
