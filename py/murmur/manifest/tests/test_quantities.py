"""Durations and sizes. seeds/manifest-schema.md, Retention."""

import pytest

from murmur.manifest.quantities import BYTES, SECONDS, parse_quantity


@pytest.mark.parametrize(
    ("value", "units", "number"),
    [
        (90, SECONDS, 90),
        ("90", SECONDS, 90),
        ("90s", SECONDS, 90),
        ("15m", SECONDS, 900),
        ("1h", SECONDS, 3600),
        ("14d", SECONDS, 14 * 86400),
        (10, BYTES, 10),
        ("10Mi", BYTES, 10485760),
        ("1Ki", BYTES, 1024),
        ("2Gi", BYTES, 2 << 30),
        (0, BYTES, 0),
    ],
)
def test_a_quantity_is_an_integer_or_one_with_a_unit(
    value: object, units: dict[str, int], number: int
) -> None:
    assert parse_quantity(value, units) == number


@pytest.mark.parametrize(
    "value", ["", "s", "1.5h", "1 h", "-1", "10MB", "1m30s", "٣m", -1, 1.5, True, None, [], 1 << 63]
)
def test_anything_else_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="an integer, or one followed by"):
        parse_quantity(value, SECONDS)
