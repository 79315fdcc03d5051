"""Each code that `mur build`, `publish`, `install` and `config` raise, provoked through them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from murmur.store.tests.components import wasm_zip
from tests.endtoend.capsule import Place, write_manifest
from tests.endtoend.ground import Case, Done, Ground, check_refused, check_warned

Provoke = Callable[[Ground], Done]


def _build(**fields: Any) -> Provoke:
    def provoke(ground: Ground) -> Done:
        ground.tool(**fields)
        return ground.mur("build", "tool")

    return provoke


def _syntax(ground: Ground) -> Done:
    ground.write("tool/murmur.yaml", "name: [")
    return ground.mur("build", "tool")


def _unreadable(ground: Ground) -> Done:
    ground.tool()
    (ground.folder / "tool" / "murmur.yaml").chmod(0)
    return ground.without_rights("build", "tool")


def _twice(ground: Ground) -> Done:
    ground.tool(name="twice")
    ground.mur("build", "tool")
    ground.mur("publish", "tool/twice-0.1.0.mur.zip")
    return ground.mur("publish", "tool/twice-0.1.0.mur.zip")


def _reserved(ground: Ground) -> Done:
    ground.write("latest.mur.zip", wasm_zip("reserved-tool", "latest"))
    return ground.mur("publish", "latest.mur.zip")


def _install(*arguments: str) -> Provoke:
    def provoke(ground: Ground) -> Done:
        return ground.mur("install", *arguments)

    return provoke


def _unanswered(ground: Ground) -> Done:
    nobody = {"MUR_GITHUB_API_BASE": "http://127.0.0.1:9"}
    return ground.mur("install", "-g", "murmur/nowhere@1.0.0", **nobody)


def _flipped(ground: Ground) -> Done:
    ground.tool(name="flipped")
    ground.mur("build", "tool")
    ground.mur("publish", "tool/flipped-0.1.0.mur.zip")
    store = ground.place.home / ".murmur" / "artifacts"
    held = next(store.rglob("flipped-0.1.0*.mur.zip"))
    data = bytearray(held.read_bytes())
    data[len(data) // 2] ^= 1
    held.write_bytes(data)
    write_manifest(
        ground.folder,
        {
            "name": "c",
            "version": "1",
            "artifacts": [{"name": "local/flipped", "version": "0.1.0"}],
        },
    )
    return ground.mur("install", "--no-precompile")


def _other_bytes(ground: Ground) -> Done:
    ground.capsule()
    ground.mur("install", "--no-precompile")
    lock = ground.folder / "murmur.lock"
    digest = next(line.split()[-1] for line in lock.read_text().splitlines() if " any: " in line)
    lock.write_text(lock.read_text().replace(digest, "f" * 64))
    return ground.mur("install", "--no-precompile")


def _misfit(ground: Ground) -> Done:
    ground.write("old.mur.zip", wasm_zip("old-tool", exports=("murmur:tool/run@9.9.9",)))
    return ground.mur("install", "-g", "--no-precompile", "./old.mur.zip")


def _set(*arguments: str) -> Provoke:
    def provoke(ground: Ground) -> Done:
        return ground.mur("config", "set", *arguments)

    return provoke


REFUSED = [
    Case("E-BLD-001", _build(name="Made_Tool"), ("'Made_Tool'",)),
    Case("E-BLD-002", _build(requires_files=["capsule.wasm", "../x"]), ("'../x'",)),
    Case("E-BLD-003", _build(requires_files=["murmur.yaml"])),
    Case("E-BLD-008", _build(programs={"jq": {}}), ("programs.jq: ",)),
    Case("E-CFG-002", _set("nonsense.field", "x"), ("'nonsense.field'", "registry.index_url")),
    Case("E-IO-001", _install(), ("murmur.yaml",)),
    Case("E-IO-002", _unreadable, ("murmur.yaml",)),
    Case("E-IO-003", _build(requires_files=["capsule.wasm", "absent.txt"]), ("absent.txt",)),
    Case("E-IO-004", lambda ground: ground.mur("publish", "x.mur.zip", HOME="a/b"), ("a/b",)),
    Case("E-MAN-001", _build(version=None), ("murmur.yaml", "version")),
    Case("E-MAN-002", _syntax, ("murmur.yaml:",)),
    Case("E-MAN-003", _build(requires_files="capsule.wasm"), ("murmur.yaml:", "requires_files")),
    Case("E-REG-001", _install("-g", "local/nowhere@1.0.0"), ("local/nowhere@1.0.0",)),
    Case("E-REG-002", _flipped, ("local/flipped@0.1.0",)),
    Case("E-REG-003", _twice, ("local/twice@0.1.0",)),
    Case("E-REG-004", _reserved, ("latest",)),
    Case("E-REG-005", _other_bytes, ("local/driver-replay@0.1.0",)),
    Case("E-REG-006", _unanswered, ("murmur/nowhere@1.0.0", "github:murmur-nexus/")),
    Case("E-REG-007", _install("-g", "bare-name@1.0.0"), ("'bare-name",)),
    Case("E-WIT-LEVEL-001", _misfit, ("local/old-tool@0.1.0", "murmur:tool")),
]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.code)
def test_a_refused_command_prints_its_code_and_facts(
    place: Place, project: Path, case: Case
) -> None:
    check_refused(case, case.provoke(Ground(place, project)))


def _target(ground: Ground) -> Done:
    ground.tool(requires_files=["capsule.wasm", "Cargo.toml"])
    ground.write("tool/Cargo.toml", "")
    return ground.mur("build", "tool")


def _two(ground: Ground) -> Done:
    ground.tool(requires_files=["capsule.wasm", "other.wasm"])
    ground.write("tool/other.wasm", b"\0asm\x0d\0\1\0")
    return ground.mur("build", "tool")


WARNED = [
    Case("W-BLD-001", _build(requires_files=["capsule.wasm", "murmur.yaml"]), ("murmur.yaml",)),
    Case("W-BLD-002", _two, ("other.wasm",)),
    Case("W-BLD-003", _target, ("Cargo.toml",)),
    Case(
        "W-MAN-001",
        _build(runtime="driver", inference_auth={"header": "x-key", "value": "{key}"}),
        ("inference_auth", "upstream_auth"),
    ),
    Case(
        "W-SEC-004", _build(extra={"api_key": "sk-ant-0123456789"}), ("extra.api_key", "sk-a****")
    ),
]


@pytest.mark.parametrize("case", WARNED, ids=lambda case: case.code)
def test_a_warned_command_prints_its_code_and_facts_and_succeeds(
    place: Place, project: Path, case: Case
) -> None:
    check_warned(case, case.provoke(Ground(place, project)))
