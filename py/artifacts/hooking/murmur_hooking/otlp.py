"""What hooks send to an OpenTelemetry collector: ids that follow from the session's, attributes in
OTLP's JSON. spec/observability.md 12.4.
"""

import json
from collections.abc import Mapping

_FNV_OFFSET, _FNV_PRIME = 0xCBF29CE484222325, 0x100000001B3
_MASK = (1 << 64) - 1

Value = str | int | float | bool


def fnv1a(data: bytes) -> int:
    """The 64-bit FNV-1a hash."""
    value = _FNV_OFFSET
    for byte in data:
        value = ((value ^ byte) * _FNV_PRIME) & _MASK
    return value


def trace_id(session_id: str) -> str:
    """32 hex digits: one trace for whatever hooks send of a session."""
    high = fnv1a(session_id.encode())
    return f"{high:016x}{fnv1a(high.to_bytes(8, 'little')):016x}"


def attributes(values: Mapping[str, Value | None]) -> list[dict[str, object]]:
    """Attributes in order; those that are None are left out."""
    return [
        {"key": key, "value": _value(value)} for key, value in values.items() if value is not None
    ]


def service(capsule: str, version: str) -> dict[str, object]:
    """The resource that everything a session sends belongs to."""
    return {"attributes": attributes({"service.name": capsule, "service.version": version})}


def body(value: object) -> bytes:
    """The body of a request."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def _value(value: Value) -> dict[str, object]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    return {"stringValue": value}
