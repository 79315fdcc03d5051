"""Every field takes what the reference says, and refuses the rest by its name and its place."""

import json
from collections.abc import Iterator
from typing import Any, get_args

import pytest

from murmur.core.diagnostics import MurmurError
from murmur.manifest.models.base import Block
from murmur.manifest.models.capsule import CapsuleBlock
from murmur.manifest.parse import load_capsule
from murmur.manifest.tests.fields_capabilities import CAPABILITIES
from murmur.manifest.tests.fields_capsule import IDENTITY
from murmur.manifest.tests.fields_inference import INFERENCE
from murmur.manifest.tests.fields_session import SESSION
from murmur.manifest.tests.rows import ABSENT, Code, Means, Row

ROWS = (*IDENTITY, *CAPABILITIES, *INFERENCE, *SESSION)


def placed(holder: Any, place: str, value: object) -> None:
    """Puts `value` at the dotted place, making what is missing on the way."""
    *above, last = place.split(".")
    for at_step, step in enumerate(above, 1):
        fresh: Any = [] if [*above, last][at_step].isdigit() else {}
        if isinstance(holder, list):
            if int(step) == len(holder):
                holder.append(fresh)
            holder = holder[int(step)]
        else:
            holder = holder.setdefault(step, fresh)
    if isinstance(holder, list):
        holder[int(last) : int(last) + 1] = [] if value is ABSENT else [value]
    elif value is ABSENT:
        holder.pop(last, None)
    else:
        holder[last] = value


def manifest(row: Row, value: object) -> str:
    whole: dict[str, Any] = {"name": "demo", "version": "1"}
    for place, given in row.also.items():
        placed(whole, place, json.loads(json.dumps(given)))
    placed(whole, row.place, value)
    return json.dumps(whole).replace("Infinity", ".inf")


def at(result: Any, place: str) -> object:
    for step in place.split("."):
        result = result[int(step)] if step.isdigit() else result[step]
    return result


GOOD = [(row, value) for row in ROWS for value in row.good]
BAD = [(row, value) for row in ROWS for value in row.bad]


def named(value: object) -> str:
    if isinstance(value, Row):
        return value.place
    inner = value.value if isinstance(value, Means | Code) else value
    return "absent" if inner is ABSENT else json.dumps(inner)[:40]


@pytest.mark.parametrize(("row", "value"), GOOD, ids=named)
def test_a_field_takes_this_value(row: Row, value: object) -> None:
    given, expected = (value.value, value.result) if isinstance(value, Means) else (value, value)
    loaded = load_capsule(manifest(row, given), "murmur.yaml")
    assert "W-SEC-019" not in [warning.code for warning in loaded.warnings]
    found = at(json.loads(json.dumps(loaded.capsule.as_dict())), row.result or row.place)
    assert found == expected and type(found) in (type(expected), int, float)


@pytest.mark.parametrize(("row", "value"), BAD, ids=named)
def test_a_field_refuses_this_value(row: Row, value: object) -> None:
    given, code = (value.value, value.code) if isinstance(value, Code) else (value, "E-MAN-003")
    with pytest.raises(MurmurError) as caught:
        load_capsule(manifest(row, given), "murmur.yaml")
    refusal = caught.value
    assert refusal.code == code, refusal.message
    key = row.field.partition(".")[2]
    assert key in refusal.message or row.place.split(".")[-2] in refusal.message
    if code.startswith("E-MAN"):
        assert refusal.message.startswith("murmur.yaml"), refusal.message


def _inner(annotation: Any) -> Iterator[type[Block]]:
    if isinstance(annotation, type) and issubclass(annotation, Block):
        yield annotation
    for part in get_args(annotation):
        yield from _inner(part)


def _blocks(block: type[Block], seen: dict[type[Block], None]) -> dict[type[Block], None]:
    if block not in seen:
        seen[block] = None
        for field in block.model_fields.values():
            for below in _inner(field.annotation):
                _blocks(below, seen)
    return seen


def test_every_field_of_every_block_has_a_row() -> None:
    blocks = list(_blocks(CapsuleBlock, {}))
    names = [block.__name__ for block in blocks]
    fields = set()
    for block in blocks:
        name = block.__name__
        if names.count(name) > 1:
            name += "@" + block.__module__.rpartition(".")[2]
        fields |= {f"{name}.{key}" for key in block.known_keys()}
    assert {row.field for row in ROWS} == fields
