"""`mur precompile` as a program. CLI reference, the chapter's rows one by one."""

import json
import tempfile
from pathlib import Path

import pytest

from murmur.cli.tests.box import Box
from murmur.core.version import VERSION
from murmur.sandbox.mur_sandbox import HelperMissing, find_helper
from murmur.store.archive import Entry, archive_bytes
from murmur.store.tests.components import manifest, native_zip

COMPONENT = b"\0asm\x0d\0\1\0"


@pytest.fixture
def box(tmp_path: Path) -> Box:
    box = Box(tmp_path)
    try:
        helper = find_helper()
    except HelperMissing:
        helper = Path(tempfile.gettempdir(), "murdev", "mur-sandbox")
        if not helper.exists():
            raise
    box.environment["MURMUR_SANDBOX_HELPER"] = str(helper.absolute())
    return box


def write(box: Box, path: str, data: bytes) -> str:
    (box.cwd / path).write_bytes(data)
    return path


def wasm(name: str, data: bytes = COMPONENT, **more: str) -> bytes:
    role = {"runtime": "tool"} | more
    return archive_bytes(
        [
            Entry("murmur.yaml", f"name: {name}\nversion: 1.0.0\n".encode() + _yaml(role)),
            Entry("capsule.wasm", data),
        ]
    )


def _yaml(fields: dict[str, str]) -> bytes:
    return "".join(f"{key}: {value}\n" for key, value in fields.items()).encode()


def forms(box: Box) -> list[Path]:
    return sorted((box.home / ".murmur" / "compiled").glob("*.cwasm"))


def test_each_outcome_stands_on_its_line_in_argument_order_and_a_failure_exits_1(box: Box) -> None:
    paths = [
        write(box, "echo.mur.zip", wasm("tool-echo")),
        write(box, "git.mur.zip", native_zip("tool-git", "0.6.0")),
        write(box, "broken.mur.zip", b"broken"),
        write(box, "empty.mur.zip", archive_bytes([Entry("a", b"a")])),
        write(box, "bad.mur.zip", archive_bytes([Entry("murmur.yaml", b"name: [")])),
        write(box, "no-wasm.mur.zip", archive_bytes([Entry("murmur.yaml", manifest("none"))])),
        write(box, "wrong.mur.zip", wasm("wrong", COMPONENT + b"\x0a\x01\xff")),
        write(box, "capsule.mur.zip", wasm("cap", runtime="capsule")),
        write(box, "skill.mur.zip", wasm("skilled", runtime="skill")),
        write(box, "driver.mur.zip", wasm("driver-x", runtime="driver")),
        write(box, "hook.mur.zip", wasm("hook-x", COMPONENT + b"\0\2\1a", runtime="hook")),
        "./absent.mur.zip",
    ]
    done = box.run("precompile", *paths)
    assert done.returncode == 1
    assert done.stdout.splitlines() == [
        "compiled        tool-echo@1.0.0",
        "not wasm        tool-git@0.6.0",
        "failed          broken.mur.zip",
        "failed          empty.mur.zip",
        "failed          bad.mur.zip",
        "failed          none@0.1.0",
        "failed          wrong@1.0.0",
        "not wasm        cap@1.0.0",
        "not wasm        skilled@1.0.0",
        "compiled        driver-x@1.0.0",
        "compiled        hook-x@1.0.0",
        "failed          ./absent.mur.zip",
    ]
    told = done.stderr.splitlines()
    assert [line.partition(":")[0] for line in told] == [
        "broken.mur.zip",
        "empty.mur.zip",
        "bad.mur.zip",
        "no-wasm.mur.zip",
        "wrong.mur.zip",
        "./absent.mur.zip",
    ]
    assert len(forms(box)) == 3
    assert box.ok("precompile", *paths[:2]) == [
        "already stored  tool-echo@1.0.0",
        "not wasm        tool-git@0.6.0",
    ]


def test_json_is_exactly_one_line_with_these_keys(box: Box) -> None:
    good = write(box, "echo.mur.zip", wasm("tool-echo"))
    write(box, "broken.mur.zip", b"x")
    done = box.run("precompile", "--json", "./echo.mur.zip", "./broken.mur.zip")
    assert done.returncode == 1
    assert done.stdout == (
        f'{{"mur_version":"{VERSION}","decompression_ceiling":524288000,"artifacts":['
        '{"path":"./echo.mur.zip","name":"tool-echo","version":"1.0.0","outcome":"compiled"},'
        '{"path":"./broken.mur.zip","name":null,"version":null,"outcome":"failed"}]}\n'
    )
    found = json.loads(box.ok("precompile", "--json", good)[0])
    assert found["artifacts"][0]["outcome"] == "already_stored"
    native = write(box, "n.mur.zip", native_zip())
    found = json.loads(box.ok("precompile", "--json", native)[0])
    assert found["artifacts"][0]["outcome"] == "not_wasm"
    commands = json.loads(box.run("version", "--json").stdout)["commands"]
    assert commands["precompile --json"] == 1


def test_the_ceiling_is_reported_and_a_form_is_used_under_the_same_one_alone(box: Box) -> None:
    good = write(box, "echo.mur.zip", wasm("tool-echo"))
    box.ok("precompile", good)
    box.environment["MURMUR_MAX_ARTIFACT_DECOMPRESSED_BYTES"] = "1000"
    found = json.loads(box.ok("precompile", "--json", good)[0])
    assert found["decompression_ceiling"] == 1000
    assert found["artifacts"][0]["outcome"] == "compiled" and len(forms(box)) == 2
    box.environment["MURMUR_MAX_ARTIFACT_DECOMPRESSED_BYTES"] = "7"
    assert box.run("precompile", good).returncode == 1


def test_nothing_is_stored_where_the_commands_of_that_workdir_could_reach(box: Box) -> None:
    good = write(box, "echo.mur.zip", wasm("tool-echo"))
    for _ in range(2):
        assert box.ok("precompile", "--workdir", str(box.home), good) == [
            "compiled        tool-echo@1.0.0"
        ]
    assert forms(box) == []
    assert box.ok("precompile", "--workdir", str(box.cwd), good)[0].startswith("compiled ")
    assert len(forms(box)) == 1


def test_what_cannot_be_stored_is_compiled_all_the_same(box: Box) -> None:
    good = write(box, "echo.mur.zip", wasm("tool-echo"))
    (box.home / ".murmur").mkdir(mode=0o700)
    (box.home / ".murmur" / "compiled").write_text("in the way")
    assert box.ok("precompile", good) == ["compiled        tool-echo@1.0.0"]


def test_one_file_named_twice_is_compiled_once(box: Box) -> None:
    good = write(box, "echo.mur.zip", wasm("tool-echo"))
    lines = box.ok("precompile", good, good)
    assert sorted(lines) == ["already stored  tool-echo@1.0.0", "compiled        tool-echo@1.0.0"]
    assert len(forms(box)) == 1


def test_it_installs_nothing_and_writes_no_lock(box: Box) -> None:
    (box.cwd / "murmur.yaml").write_text("name: c\nversion: 0.1.0\nruntime: capsule\n")
    good = write(box, "echo.mur.zip", wasm("tool-echo"))
    box.ok("precompile", good)
    assert sorted(path.name for path in box.cwd.iterdir()) == ["echo.mur.zip", "murmur.yaml"]
    assert [path.name for path in (box.home / ".murmur").iterdir()] == ["compiled"]


def test_files_are_required_and_a_home_that_can_hold_the_forms(box: Box) -> None:
    assert "ZIP" in box.usage("precompile")
    del box.environment["HOME"]
    box.refused("E-IO-004", "precompile", "x.mur.zip")
