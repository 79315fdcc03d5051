"""A small component does what a whole one does, and says what it was left without."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from wasmtime import Engine, Store, WasiConfig, WasmtimeError
from wasmtime.component import Component, Linker

from tools.wasm import binary, slim

COMPONENTIZE = Path("tools/wasm/componentize.py").absolute()
WORLD = "package test:slim;\nworld slim { export say: func(what: string) -> string; }\n"
SOURCE = '''\
"""What is said."""
import collections, dataclasses, enum, hashlib, json, random, re, traceback, typing
import wit_world

@dataclasses.dataclass(frozen=True)
class Point:
    """A point."""
    x: int
    y: int = 2

def fails(at: int) -> None:
    """Fails."""
    raise ValueError(f"failed at {at}")

class WitWorld(wit_world.WitWorld):
    def say(self, what: str) -> str:
        return str(getattr(self, what)())

    def works(self):
        long = "".join(random.choice("ab") for _ in range(100000))
        counted = collections.Counter(long)
        return json.dumps([
            dataclasses.asdict(dataclasses.replace(Point(1), x=3)), repr(Point(7)),
            sum(counted.values()), hashlib.sha256(b"x").hexdigest()[:8],
            re.sub("(b+)", "<\\\\1>", "abba"), "\u00dc".lower(), sorted({"z": 1, "a": 2}),
            len([bytearray(300000) for _ in range(20)]), f"{1/3:.3f}", 2**100 % 97,
        ])

    def fails(self):
        try:
            fails(7)
        except ValueError:
            return traceback.format_exc()

    def lets_fail(self):
        fails(8)

    def undocumented(self):
        return [fails.__doc__, Point.__doc__, json.dumps.__doc__, __doc__]

    def executes(self):
        try:
            exec("1")
        except NotImplementedError as failure:
            return type(failure).__name__

    def compares_trees(self):
        try:
            compile(3, "x", "eval")
        except NotImplementedError as failure:
            return type(failure).__name__

    def imports(self):
        found = []
        for name in ("zlib", "_sqlite3", "unicodedata", "_elementtree", "_codecs_jp", "inspect"):
            try:
                __import__(name)
            except ImportError:
                found.append(name)
        return " ".join(found)

    def declares(self):
        try:
            @dataclasses.dataclass(slots=True)
            class Late:
                x: int
        except (ImportError, NotImplementedError) as failure:
            return failure
'''


def build(folder: Path, source: str) -> subprocess.CompletedProcess[str]:
    """componentize.py on one module; the component is at `folder`/component.wasm."""
    library = os.environ.get("STILL_LIBRARY")
    if library is None:
        library = str(folder / "libstill.so")
        command = ["cc", "-shared", "-fPIC", "-O2", "-o", library, "tools/wasm/still.c"]
        subprocess.run(command, check=True)
    (folder / "app.py").write_text(source)
    (folder / "world.wit").write_text(WORLD)
    command = [sys.executable, str(COMPONENTIZE), "--still", library]
    command += ["--wit", str(folder / "world.wit"), "--world", "slim", "--module", "app"]
    command += [f"--source=app.py={folder / 'app.py'}", "--output", str(folder / "component.wasm")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(command, env=environment, capture_output=True, text=True)


@pytest.fixture(scope="module")
def component(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("slim")
    built = build(folder, SOURCE)
    assert built.returncode == 0, built.stderr
    return folder / "component.wasm"


class Guest:
    """The compiled component; each call is one of a fresh copy."""

    def __init__(self, component: Path, stderr: Path) -> None:
        self.engine = Engine()
        self.compiled = Component(self.engine, component.read_bytes())
        self.stderr = stderr

    def __call__(self, what: str) -> str:
        store = Store(self.engine)
        wasi = WasiConfig()
        wasi.stderr_file = str(self.stderr)
        store.set_wasi(wasi)
        linker = Linker(self.engine)
        linker.add_wasip2()
        instance = linker.instantiate(store, self.compiled)
        function = instance.get_func(store, "say")
        assert function is not None
        said: str = function(store, what)
        return said


@pytest.fixture(scope="module")
def say(component: Path) -> Guest:
    return Guest(component, component.with_name("stderr"))


def test_it_is_less_than_nine_million_bytes(component: Path) -> None:
    assert 4_000_000 < component.stat().st_size < 9_000_000


def test_the_standard_library_works_in_it(say: Guest) -> None:
    assert say("works") == (
        '[{"x": 3, "y": 2}, "Point(x=7, y=2)", 100000, "2d711642", "a<bb>a", "\\u00fc", '
        '["a", "z"], 20, "0.333", 16]'
    )


def test_a_traceback_names_functions_and_lines(say: Guest) -> None:
    lines = say("fails").splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert any(line.endswith('/app.py", line 13, in fails') for line in lines)
    assert lines[-1] == "ValueError: failed at 7"


def test_an_error_that_nobody_handles_is_written_to_stderr(say: Guest) -> None:
    with pytest.raises(WasmtimeError):
        say("lets_fail")
    lines = say.stderr.read_text().splitlines()
    assert any(line.endswith('/app.py", line 13, in fails') for line in lines)
    assert "ValueError: failed at 8" in lines


def test_docstrings_are_gone(say: Guest) -> None:
    assert say("undocumented") == "[None, None, None, None]"


def test_there_is_no_compiler_and_it_says_so(say: Guest) -> None:
    assert say("executes") == "NotImplementedError"
    assert say("compares_trees") == "NotImplementedError"


def test_native_modules_that_were_not_imported_cannot_be(say: Guest) -> None:
    names = "zlib _sqlite3 unicodedata _elementtree _codecs_jp inspect"
    assert say("imports") == names


def test_a_data_class_made_in_a_call_is_refused(say: Guest) -> None:
    assert "while modules are imported" in say("declares")


def test_an_artifact_that_imports_the_parser_is_not_built(tmp_path: Path) -> None:
    built = build(tmp_path, "import ast\n" + SOURCE)
    assert built.returncode == 1
    assert "it imports ast, which only an artifact with `parser = True` has" in built.stderr
    assert not (tmp_path / "component.wasm").exists()


def test_another_component_is_refused() -> None:
    with pytest.raises(binary.Unreadable, match="0 of its modules export Py_Initialize"):
        slim.slim(b"\0asm\x0d\0\1\0")
