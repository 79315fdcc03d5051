"""spec/registry.md 15 and spec/artifacts.md 2."""

import pytest

from murmur.store.component import Contracts
from murmur.store.levels import (
    built_at_level,
    known_levels,
    misfits,
    parse_levels,
    served_level,
)


def test_levels_1_and_2_hold_15_packages_and_level_3_holds_16() -> None:
    levels = known_levels()
    assert [len(level.packages) for level in levels[:3]] == [15, 15, 16]
    one, two, three = (dict(level.packages) for level in levels[:3])
    assert {p for p in one if one[p] != two[p]} == {"murmur:driver"}
    assert (one["murmur:driver"], two["murmur:driver"]) == ("0.3.0", "0.4.0")
    assert three["murmur:process"] == "0.1.0" and three["murmur:tool"] == "0.2.0"


def test_mur_serves_the_newest_level_it_knows() -> None:
    assert served_level() is known_levels()[-1]
    assert next(iter(served_level().packages)) == "murmur:artifact-manager"
    assert list(served_level().packages)[-1] == "murmur:tool-registry"


@pytest.mark.parametrize(
    "table",
    [
        "",
        "2 murmur:a@0.1.0",
        "1 murmur:a@0.1.0\n3 murmur:a@0.2.0",
        "1 murmur:b@0.1.0\n1 murmur:a@0.1.0",
        "1 murmur:a@0.1.0\n1 murmur:a@0.1.0",
        "1 murmur:a@0.1.0\n2 murmur:a@0.1.0",
        "1 wasi:a@0.1.0",
        "1 murmur:a",
    ],
)
def test_a_table_that_breaks_a_rule_is_refused(table: str) -> None:
    with pytest.raises(ValueError):
        parse_levels(table)


def test_only_the_exact_served_version_fits_and_wasi_is_not_compared() -> None:
    contracts = Contracts(
        ("murmur:hook/lifecycle@0.8.0", "murmur:tool/run@0.2.0"),
        ("murmur:nothing/x@1.0.0", "murmur:task/task", "wasi:io/poll@9.9.9"),
    )
    assert [str(misfit) for misfit in misfits(contracts, known_levels()[2])] == [
        "exports murmur:hook/lifecycle@0.8.0 — this mur serves murmur:hook@0.9.0",
        "imports murmur:nothing/x@1.0.0 — this mur serves no version of murmur:nothing",
        "imports murmur:task/task (unversioned) — this mur serves murmur:task@0.1.0",
    ]


def test_the_built_at_level_is_the_newest_that_fits() -> None:
    assert built_at_level(None) == served_level().number
    assert built_at_level(Contracts(("murmur:tool/run@0.1.0",), ())) == 2
    assert built_at_level(Contracts(("murmur:driver/process@0.3.0",), ())) == 1
    assert built_at_level(Contracts(("murmur:hook/lifecycle@0.1.0",), ())) is None
