"""`inference`: which model, through which driver. spec/formations-and-newer-manifest.md A9."""

import re
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from murmur.manifest import inference as results
from murmur.manifest.models.base import Block, Filled, Flag, Positive, Text, Whole, refuse, require

_ALTERNATE = re.compile(r"[a-z][a-z0-9-]{0,62}")


class DriverBlock(Block):
    result_type = results.Driver
    artifact: Filled
    config: dict[str, Any] | None = None


class RetryBlock(Block):
    result_type = results.Retry
    max_retries: Whole | None = None
    initial_delay_ms: Positive | None = None
    max_delay_ms: Positive | None = None


class CompactionBlock(Block):
    result_type = results.Compaction
    threshold: Annotated[float, Field(strict=True, gt=0, le=1, allow_inf_nan=False)] | None = None
    model: Filled | None = None
    max_tokens: Positive | None = None
    system_prompt: Text | None = None
    system_prompt_file: Filled | None = None
    dump_summaries: Flag = False

    @model_validator(mode="after")
    def _has_one_prompt(self) -> Self:
        one_source(self, ("system_prompt", "system_prompt_file"))
        return self


class AlternateDriverBlock(Block):
    result_type = results.Driver
    artifact: Filled
    config: Any = None

    @model_validator(mode="after")
    def _has_no_config(self) -> Self:
        if "config" in self.model_fields_set:
            refuse("an alternate takes no driver settings of its own", "config")
        return self


class AlternateBlock(Block):
    result_type = results.Alternate
    name: Text
    model: Filled
    driver: AlternateDriverBlock

    @model_validator(mode="after")
    def _has_a_name_of_its_own(self) -> Self:
        if not _ALTERNATE.fullmatch(self.name) or self.name == "primary":
            refuse(
                "it must begin with a letter, hold lowercase letters, digits and hyphens only, "
                "be at most 63 characters and not be 'primary'",
                "name",
            )
        return self


class InferenceBlock(Block):
    result_type = results.Inference
    transport: Literal["http", "process"] = "http"
    model: Filled | None = None
    driver: DriverBlock | None = None
    command: Filled | None = None
    max_tokens: Positive | None = None
    max_turns: Positive | None = None
    max_session_tokens: Positive | None = None
    system_prompt: Text | None = None
    system_prompt_file: Filled | None = None
    system_prompt_artifact: Filled | None = None
    instruction_files: list[Filled] = Field(default_factory=list)
    retry: RetryBlock | None = None
    tool_refresh: Literal["compaction", "immediate"] | None = None
    alternates: list[AlternateBlock] = Field(default_factory=list)
    compaction: CompactionBlock | None = None

    @model_validator(mode="after")
    def _has_one_prompt(self) -> Self:
        one_source(self, ("system_prompt", "system_prompt_file", "system_prompt_artifact"))
        return self

    @model_validator(mode="after")
    def _fits_its_transport(self) -> Self:
        if self.transport == "http" and self.model is None:
            require("model")
        other: tuple[str, ...] = ("command",)
        if self.transport == "process":
            other = ("max_tokens", "tool_refresh", "alternates")
        for name in other:
            if name in self.model_fields_set and getattr(self, name) not in (None, []):
                refuse(f"it has no meaning under transport: {self.transport}", name)
        names = [alternate.name for alternate in self.alternates]
        for index, name in enumerate(names):
            if name in names[:index]:
                refuse(f"'{name}' is used twice", f"alternates[{index}].name")
        return self

    def result(self) -> results.Inference:
        given = self.given()
        if "system_prompt" in given:
            # Inline text is trimmed, file content is not: seeds/manifest-schema.md,
            # inference.system_prompt.
            given["system_prompt"] = given["system_prompt"].strip() or None
        return results.Inference(**given)


def one_source(block: Block, fields: tuple[str, ...]) -> None:
    """Refuses a block that sets more than one of `fields`."""
    found = [name for name in fields if name in block.model_fields_set]
    if len(found) > 1:
        refuse(
            f"set together with {found[0]}; at most one of the prompt sources may be set", found[1]
        )
