"""An artifact's own manifest, as it ships inside a `.mur.zip`.

seeds/manifest-schema.md, Artifact manifest; spec/artifacts.md 7. Blocks that are read only under
a condition (`upstream_auth`, `models`, `programs`, `harness_needs`, a hook's contract) are taken as
they are; their readers check them where the reference says so.
"""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from murmur.manifest.models.base import Block, Filled, Text, Texts


def _lower_case(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


class PackagedBlock(Block):
    name: Filled
    version: Filled
    runtime: Text | None = None
    implementation: Literal["wasm", "native"] | None = None
    execution: (
        Annotated[Literal["wasm", "native", "static"], BeforeValidator(_lower_case)] | None
    ) = None
    requires_files: Texts | None = None
    description: Text | None = None
    tags: Texts = Field(default_factory=list)
    input_schema: Any = None
    input: Any = None
    output_schema: Any = None
    binding: Any = None
    execution_mode: Any = None
    commit_policy: Any = None
    upstream_auth: Any = None
    models: Any = None
    programs: Any = None
    harness_needs: Any = None
