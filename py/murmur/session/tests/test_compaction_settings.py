"""What a launch makes of `inference.compaction`: prompt and cap. spec/sessions.md 6.4 and 17.1."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from murmur.core.diagnostics import MurmurError
from murmur.core.home import Home
from murmur.manifest.parse import load_capsule
from murmur.session.gateways import driver_limits
from murmur.session.launch import Flags, Launch
from murmur.session.prompt import ConfiguredPrompt, read_prompt

MANIFEST = """
name: demo
version: 0.1.0
artifacts:
- {{name: local/driver, version: 0.1.0, runtime: driver}}
context: {{max_tokens: 1000}}
inference:
  model: m
  max_tokens: 100
  driver: {{artifact: local/driver}}
  compaction: {{{compaction}}}
"""


def _read(folder: Path, compaction: str) -> ConfiguredPrompt:
    capsule = load_capsule(MANIFEST.format(compaction=compaction), "murmur.yaml").capsule
    launch = Launch(Flags(), folder / "murmur.yaml", "", {}, Home(folder), 0.0)
    return read_prompt(launch, capsule)


def test_without_one_the_hooks_own_serves(tmp_path: Path) -> None:
    assert _read(tmp_path, "").compaction is None


def test_it_is_the_text_or_the_file_that_the_manifest_names(tmp_path: Path) -> None:
    (tmp_path / "summary.md").write_text("shorten\n")
    assert _read(tmp_path, "system_prompt: be brief").compaction == "be brief"
    assert _read(tmp_path, "system_prompt_file: summary.md").compaction == "shorten\n"


def test_a_file_that_cannot_be_read_is_refused_by_its_field(tmp_path: Path) -> None:
    with pytest.raises(MurmurError) as refused:
        _read(tmp_path, "system_prompt_file: missing.md")
    assert refused.value.code == "E-RUN-009"
    assert "inference.compaction.system_prompt_file" in refused.value.message


def _limits(compaction: str) -> None:
    capsule = load_capsule(MANIFEST.format(compaction=compaction), "murmur.yaml").capsule
    prepared = cast(Any, SimpleNamespace(capsule=capsule))
    driver_limits(prepared, {"local/driver": cast(Any, SimpleNamespace(models=None))})


def test_a_summary_whose_cap_leaves_no_input_is_refused() -> None:
    _limits("max_tokens: 999")
    with pytest.raises(MurmurError) as refused:
        _limits("max_tokens: 1000, model: small")
    assert refused.value.code == "E-RUN-055"
    assert "compaction (local/driver@0.1.0, model small)" in refused.value.message
    assert "output cap of 1000" in refused.value.message
