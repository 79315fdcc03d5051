"""What `mur install` compiles, in contained throw-away hosts. spec/registry.md 12 and 16."""

import os
import tempfile
from pathlib import Path

import pytest

from murmur.cli.compiling import compiler, precompile
from murmur.core.home import Home
from murmur.sandbox.mur_sandbox import HelperMissing, find_helper
from murmur.store.archive import Entry, archive_bytes
from murmur.store.payload import Payload, open_payload

COMPONENT = b"\0asm\x0d\0\1\0"
MANIFEST = b"name: x\nversion: 1.0.0\nruntime: tool\n"


@pytest.fixture(autouse=True)
def helper(monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        found = find_helper()
    except HelperMissing:
        found = Path(tempfile.gettempdir(), "murdev", "mur-sandbox")  # tools/dev/build_helper.sh
        if not found.exists():
            raise
    monkeypatch.setenv("MURMUR_SANDBOX_HELPER", str(found))


@pytest.fixture
def home(tmp_path: Path) -> Home:
    (tmp_path / ".murmur").mkdir(mode=0o700)
    return Home(tmp_path / ".murmur")


def payload(component: bytes) -> Payload:
    data = archive_bytes([Entry("murmur.yaml", MANIFEST), Entry("capsule.wasm", component)])
    return open_payload(data, "x", {})


def test_a_component_is_compiled_into_the_cache_once(home: Home) -> None:
    good = payload(COMPONENT)
    assert precompile([good], home) == [True]
    forms = sorted(home.compiled.iterdir())
    assert len(forms) == 2 and forms[0].name.startswith(good.sha256)
    assert forms[0].read_bytes().startswith(b"\x7fELF")
    before = forms[0].stat().st_ino
    assert precompile([good], home) == [True]
    assert forms[0].stat().st_ino == before


def test_a_compile_that_fails_fails_alone_and_silently(
    home: Home, capfd: pytest.CaptureFixture[str]
) -> None:
    broken = payload(COMPONENT + b"\x0a\x01\xff")
    good = payload(COMPONENT)
    assert precompile([broken, good], home) == [False, True]
    assert {path.name[:64] for path in home.compiled.iterdir()} == {good.sha256}
    assert capfd.readouterr() == ("", "")


def test_without_a_helper_nothing_is_compiled_and_nothing_fails(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MURMUR_SANDBOX_HELPER", "/nonexistent/mur-sandbox")
    assert precompile([payload(COMPONENT)], home) == [False]
    assert not home.compiled.exists()


def test_no_process_is_left_behind() -> None:
    def children() -> set[str]:
        return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())

    before = children()
    with compiler() as (key, _):
        assert len(key) == 16 and children() > before
    assert children() == before
