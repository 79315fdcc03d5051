"""The cache of compiled forms. spec/registry.md 16."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from murmur.core.home import Home
from murmur.store.compiled import CompiledCache, build_facts, compiled_path, is_withheld

from .components import everything_below

SHA, KEY = "ab" * 32, "0123456789abcdef"
NAME = f"{SHA}-{KEY}.cwasm"


class Compiler:
    """Counts its runs; the form tells which run made it."""

    def __init__(self) -> None:
        self.runs = 0

    def __call__(self, component: bytes, target: int) -> None:
        self.runs += 1
        os.write(target, b"form %d of " % self.runs + component)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    root = tmp_path / ".murmur"
    root.mkdir(mode=0o700)
    return Home(root)


@pytest.fixture
def compiler() -> Compiler:
    return Compiler()


def ensure(cache: CompiledCache, compiler: Compiler, scratch: Path | None = None) -> bytes:
    return cache.ensure(SHA, KEY, lambda: b"component", compiler, scratch).path.read_bytes()


def test_a_form_is_compiled_once_and_then_loaded(home: Home, compiler: Compiler) -> None:
    first = CompiledCache(home).ensure(SHA, KEY, lambda: b"component", compiler)
    assert (first.fresh, first.kept, first.path) == (True, True, home.compiled / NAME)

    def unread() -> bytes:
        raise AssertionError("a warm launch does not unpack the component")

    second = CompiledCache(home).ensure(SHA, KEY, unread, compiler)
    assert (second.fresh, second.kept, second.path) == (False, True, first.path)
    assert compiler.runs == 1 and compiled_path(home, SHA, KEY) == first.path


def test_the_directory_is_0700_and_its_files_0600(home: Home, compiler: Compiler) -> None:
    old = os.umask(0)
    try:
        ensure(CompiledCache(home), compiler)
    finally:
        os.umask(old)
    assert home.compiled.stat().st_mode & 0o777 == 0o700
    assert {p.name: p.stat().st_mode & 0o777 for p in home.compiled.iterdir()} == {
        NAME: 0o600,
        NAME + ".sha256": 0o600,
    }


def flip(form: Path, _: Path) -> None:
    data = bytearray(form.read_bytes())
    data[0] ^= 1
    form.write_bytes(data)


def truncate(form: Path, _: Path) -> None:
    os.truncate(form, 3)


def lose_form(form: Path, _: Path) -> None:
    form.unlink()


def lose_sidecar(_: Path, sidecar: Path) -> None:
    sidecar.unlink()


def empty_sidecar(_: Path, sidecar: Path) -> None:
    sidecar.write_bytes(b"")


def widen_form(form: Path, _: Path) -> None:
    form.chmod(0o640)


def widen_sidecar(_: Path, sidecar: Path) -> None:
    sidecar.chmod(0o604)


def link_form(form: Path, _: Path) -> None:
    aside = form.parent.parent / "aside"
    form.rename(aside)
    form.symlink_to(aside)


def pipe_form(form: Path, _: Path) -> None:
    form.unlink()
    os.mkfifo(form, 0o600)


@pytest.mark.parametrize(
    "damage",
    [
        flip,
        truncate,
        lose_form,
        lose_sidecar,
        empty_sidecar,
        widen_form,
        widen_sidecar,
        link_form,
        pipe_form,
    ],
)
def test_whatever_is_wrong_with_an_entry_it_is_compiled_again_and_rewritten(
    home: Home, compiler: Compiler, damage: Callable[[Path, Path], None]
) -> None:
    cache = CompiledCache(home)
    ensure(cache, compiler)
    damage(home.compiled / NAME, home.compiled / (NAME + ".sha256"))
    assert cache.find(SHA, KEY) is None
    assert ensure(cache, compiler) == b"form 2 of component"
    assert ensure(cache, compiler) == b"form 2 of component"
    assert sorted(p.name for p in home.compiled.iterdir()) == [NAME, NAME + ".sha256"]
    aside = home.root / "aside"
    assert not aside.exists() or aside.read_bytes() == b"form 1 of component"


def test_another_engine_key_is_another_entry(home: Home, compiler: Compiler) -> None:
    cache = CompiledCache(home)
    ensure(cache, compiler)
    assert cache.find(SHA, "f" * 16) is None


def test_a_directory_found_wide_is_narrowed_and_emptied_of_non_directories(
    home: Home, compiler: Compiler
) -> None:
    cache = CompiledCache(home)
    ensure(cache, compiler)
    (home.compiled / "folder").mkdir()
    home.compiled.chmod(0o770)
    assert cache.find(SHA, KEY) is None
    assert home.compiled.stat().st_mode & 0o777 == 0o700
    assert [p.name for p in home.compiled.iterdir()] == ["folder"]


def test_a_directory_that_is_a_link_is_neither_read_nor_written(
    home: Home, compiler: Compiler, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    home.compiled.symlink_to(elsewhere)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    compiled = CompiledCache(home).ensure(SHA, KEY, lambda: b"component", compiler, scratch)
    assert not compiled.kept and compiled.path.parent == scratch
    assert everything_below(elsewhere) == {}


def test_a_withheld_cache_is_neither_read_nor_written(
    home: Home, compiler: Compiler, tmp_path: Path
) -> None:
    ensure(CompiledCache(home), compiler)
    before = everything_below(home.root)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    withheld = CompiledCache(home, withheld=True)
    assert withheld.find(SHA, KEY) is None
    assert ensure(withheld, compiler, scratch) == b"form 2 of component"
    assert everything_below(home.root) == before


def test_it_is_withheld_when_a_sessions_commands_could_reach_it(tmp_path: Path) -> None:
    home = Home(tmp_path / "a" / ".murmur")
    home.root.mkdir(parents=True)
    assert not is_withheld(home, None)
    assert not is_withheld(home, tmp_path / "a" / "work")
    assert not is_withheld(home, tmp_path / "a" / ".mur")
    for root in (tmp_path, tmp_path / "a", home.root):
        assert is_withheld(home, root)
    (tmp_path / "link").symlink_to(tmp_path / "a")
    assert is_withheld(home, tmp_path / "link")
    outside = tmp_path / "b" / "compiled"
    outside.mkdir(parents=True)
    home.compiled.symlink_to(outside)
    assert is_withheld(home, tmp_path / "b")


@pytest.mark.parametrize(("sha", "key"), [("AB" * 32, KEY), (SHA, "0123"), ("../x", KEY), ("", "")])
def test_an_invalid_key_compiles_and_caches_nothing(
    home: Home, compiler: Compiler, tmp_path: Path, sha: str, key: str
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    compiled = CompiledCache(home).ensure(sha, key, lambda: b"c", compiler, scratch)
    assert compiled.path.parent == scratch and not compiled.kept
    assert not home.compiled.exists() and compiled_path(home, sha, key) is None


def test_a_compile_that_fails_is_the_callers_and_leaves_nothing(home: Home) -> None:
    def broken(_: bytes, target: int) -> None:
        os.write(target, b"half")
        raise RuntimeError("does not compile")

    with pytest.raises(RuntimeError, match="does not compile"):
        CompiledCache(home).ensure(SHA, KEY, lambda: b"c", broken)
    assert everything_below(home.compiled) == {}


def test_a_directory_that_cannot_be_made_does_not_fail_a_launch(
    home: Home, compiler: Compiler, tmp_path: Path
) -> None:
    home.compiled.write_text("a file")
    assert ensure(CompiledCache(home), compiler, tmp_path) == b"form 1 of component"


def test_what_nothing_touched_for_30_days_is_removed_on_a_write(
    home: Home, compiler: Compiler
) -> None:
    cache = CompiledCache(home)
    home.compiled.mkdir(mode=0o700)
    day = 24 * 3600
    now = time.time()
    for name, accessed, modified in (
        ("old", 31, 40),
        ("read-lately", 29, 90),
        ("written-lately", 90, 29),
    ):
        path = home.compiled / name
        path.write_text("x")
        os.utime(path, (now - accessed * day, now - modified * day))
    (home.compiled / "folder").mkdir()
    os.utime(home.compiled / "folder", (0, 0))
    ensure(cache, compiler)
    left = {path.name for path in home.compiled.iterdir()}
    assert left == {"read-lately", "written-lately", "folder", NAME, NAME + ".sha256"}


def test_a_form_in_use_stays_young(home: Home, compiler: Compiler) -> None:
    cache = CompiledCache(home)
    ensure(cache, compiler)
    long_ago = time.time() - 29 * 24 * 3600
    for name in (NAME, NAME + ".sha256"):
        os.utime(home.compiled / name, (long_ago, long_ago))
    assert cache.find(SHA, KEY)
    for name in (NAME, NAME + ".sha256"):
        assert time.time() - (home.compiled / name).stat().st_atime < 3600


def test_the_build_and_the_ceiling_are_part_of_the_key() -> None:
    variable = "MURMUR_MAX_ARTIFACT_DECOMPRESSED_BYTES"
    assert build_facts({}) == build_facts({variable: "524288000"})
    assert build_facts({}) != build_facts({variable: "5"})
