"""The wire models and the dataclasses that they turn into name the same fields."""

import dataclasses
import inspect

import pytest

from murmur.manifest.models import capabilities, capsule, inference, session
from murmur.manifest.models.base import Block

_BLOCKS = sorted(
    {
        block
        for module in (capabilities, capsule, inference, session)
        for _, block in inspect.getmembers(module, inspect.isclass)
        if issubclass(block, Block) and block is not Block
    },
    key=lambda block: (block.__module__, block.__name__),
)
# Fields that exist on one side only: computed by `result`, or refused before it.
_RESULT_ONLY = {"declared", "driver_implied", "ignored_version"}
_WIRE_ONLY: dict[type[Block], frozenset[str]] = {
    capsule.CapsuleBlock: capsule.CapsuleBlock.packaging
}


@pytest.mark.parametrize("block", _BLOCKS, ids=lambda block: block.__name__)
def test_a_block_and_its_result_have_the_same_fields(block: type[Block]) -> None:
    wire = set(block.model_fields) - _WIRE_ONLY.get(block, frozenset())
    result = {field.name for field in dataclasses.fields(block.result_type)} - _RESULT_ONLY
    assert wire == result


@pytest.mark.parametrize("block", _BLOCKS, ids=lambda block: block.__name__)
def test_a_result_is_frozen_and_free_of_pydantic(block: type[Block]) -> None:
    assert block.result_type.__dataclass_params__.frozen
    assert "pydantic" not in inspect.getsource(inspect.getmodule(block.result_type))  # type: ignore[arg-type]
