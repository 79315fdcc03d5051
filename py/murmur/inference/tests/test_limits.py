"""Model limits: spec/artifacts.md 12.4, spec/formations-and-newer-manifest.md A11."""

import pytest

from murmur.core.diagnostics import MurmurError
from murmur.inference.limits import Choice, check_budget, resolve_limits

CHOICE = Choice("primary", "murmur/driver-x", "1.2.0", "demo-1")
TABLE = {
    "demo-1": {"max_output_tokens": 64000, "context_window": 200000, "max_input_tokens": 190000}
}


def test_the_driver_table_gives_what_the_manifest_does_not() -> None:
    limits, warnings = resolve_limits(CHOICE, TABLE, max_tokens=None, context_max_tokens=None)
    assert limits.record() == {
        "max_output_tokens": 64000,
        "max_output_tokens_source": "driver",
        "context_window": 200000,
        "context_window_source": "driver",
        "max_input_tokens": 190000,
        "max_input_tokens_source": "driver",
        "input_budget": 136000,
        "input_budget_basis": "context_window_less_output_cap",
    }
    assert warnings == ()


def test_the_manifest_keys_win_and_are_not_clamped_to_the_table() -> None:
    limits, _ = resolve_limits(CHOICE, TABLE, max_tokens=1000, context_max_tokens=900_000)
    assert (limits.max_output_tokens, limits.max_output_tokens_source) == (1000, "manifest")
    assert (limits.context_window, limits.context_window_source) == (900_000, "manifest")
    assert limits.input_budget() == (190000, "max_input_tokens")
    assert limits.input_budget(899_000) == (1000, "context_window_less_output_cap")


def test_without_a_window_there_is_no_budget_and_a_warning() -> None:
    limits, warnings = resolve_limits(CHOICE, None, max_tokens=1000, context_max_tokens=None)
    assert limits.input_budget() == (None, "none")
    assert limits.record()["context_window_source"] == "none"
    assert [warning.code for warning in warnings] == ["W-RUN-009"]
    assert "primary (murmur/driver-x@1.2.0, model demo-1)" in warnings[0].message


def test_both_manifest_keys_silence_the_warning_about_an_unlisted_model() -> None:
    _, warnings = resolve_limits(CHOICE, {}, max_tokens=1000, context_max_tokens=5000)
    assert warnings == ()


@pytest.mark.parametrize(
    "table",
    [
        None,
        {"demo": TABLE["demo-1"]},
        [],
        {"demo-1": {"max_output_tokens": 0, "context_window": 1}},
        {"demo-1": {"max_output_tokens": 1 << 32, "context_window": 1}},
        {"demo-1": {"max_output_tokens": True, "context_window": 1}},
        {"demo-1": {"max_output_tokens": 5}},
        {"other": {"max_output_tokens": 1, "context_window": 2, "novel": 3}},
    ],
)
def test_no_output_cap_and_a_malformed_table_are_refused(table: object) -> None:
    with pytest.raises(MurmurError) as refused:
        resolve_limits(CHOICE, table, max_tokens=None, context_max_tokens=None)
    assert refused.value.code == "E-RUN-052"
    assert str(CHOICE) in refused.value.message


def test_a_malformed_table_is_refused_even_where_the_manifest_sets_both_keys() -> None:
    with pytest.raises(MurmurError) as refused:
        resolve_limits(CHOICE, {"x": 1}, max_tokens=1, context_max_tokens=2)
    assert refused.value.code == "E-RUN-052"
    assert "murmur/driver-x@1.2.0" in refused.value.message


def test_a_budget_of_zero_is_refused_with_its_numbers() -> None:
    with pytest.raises(MurmurError) as refused:
        resolve_limits(CHOICE, TABLE, max_tokens=200_000, context_max_tokens=None)
    assert refused.value.code == "E-RUN-055"
    assert "200000" in refused.value.message
    limits, _ = resolve_limits(CHOICE, TABLE, max_tokens=None, context_max_tokens=None)
    check_budget(limits, CHOICE, 199_999)
    with pytest.raises(MurmurError):
        check_budget(limits, CHOICE, 250_000)
