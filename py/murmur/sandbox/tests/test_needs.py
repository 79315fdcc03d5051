"""What a tool's host programs need, and which copy is run. Formations digest A15."""

import os
import sys
from pathlib import Path

import pytest

from murmur.manifest.programs import Download, Need, Program
from murmur.sandbox.binaries import resolve
from murmur.sandbox.needs import ToolProgram, choose_programs, pinned_grants, resolve_needs
from murmur.sandbox.policy import CommandPolicy, Folders

from .test_policy import access, folders, made

__all__ = ["folders"]

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux only")

DOWNLOAD = Download("linux-x86_64", "https://x.example/mine", "a" * 64)


def tool(*needs: Need, name: str = "sh", **more: object) -> ToolProgram:
    return ToolProgram("local/t", Program(name, needs), **more)  # type: ignore[arg-type]


def paths(*needs: Need, trust: tuple[str, ...] = ()) -> dict[str, bool]:
    found = resolve(["sh"], "/usr/bin:/bin", ())
    return {
        each.grant.path: each.grant.list_dir for each in resolve_needs([tool(*needs)], found, trust)
    }


def test_a_library_comes_with_all_that_it_loads_as_the_loader_finds_it() -> None:
    found = paths(Need("library", "libc.so.6"))
    libc = next(each for each in found if os.path.basename(each).startswith("libc.so"))
    assert os.path.isfile(libc) and not found[libc]
    assert any("ld-linux" in each or "ld-" in os.path.basename(each) for each in found)


def test_a_file_stands_beside_the_library_that_is_named() -> None:
    folder = os.path.dirname(next(iter(paths(Need("library", "libc.so.6")))))
    beside = next(name for name in sorted(os.listdir(folder)) if name.endswith(".so.1"))
    wanted = Need("library", "libc.so.6"), Need("file", beside, "libc.so.6")
    assert os.path.realpath(os.path.join(folder, beside)) in paths(*wanted)
    assert not paths(Need("file", "no-such-file", "libc.so.6"))


def test_folders_of_programs_of_etc_and_of_the_system_are_listed() -> None:
    assert paths(Need("program_folder", "../share")) == {"/usr/share": True}
    assert paths(Need("etc", "hosts")) == {os.path.realpath("/etc/hosts"): False}
    assert paths(Need("etc", "no-such-thing")) == {}
    assert paths(Need("system", "ca_bundle"), trust=("/etc/ssl",)) == {"/etc/ssl": True}
    assert set(paths(Need("system", "fonts"))) <= {
        os.path.realpath(each)
        for each in (
            "/etc/fonts",
            "/usr/share/fonts",
            "/usr/local/share/fonts",
            "/usr/share/fontconfig",
            "/var/cache/fontconfig",
        )
    }


def test_a_need_that_does_not_resolve_grants_nothing() -> None:
    for need in (
        Need("library", "libnowhere.so.9"),
        Need("program_folder", "no/such/folder"),
        Need("file", "x", "libnowhere.so.9"),
    ):
        assert paths(need) == {}
    assert resolve_needs([tool(Need("etc", "hosts"), name="absent")], {}, ()) == ()


def stored(tmp_path: Path) -> Path:
    folder = tmp_path / "programs" / DOWNLOAD.sha256
    (folder / "files" / "bin").mkdir(parents=True)
    (folder / "bin").mkdir()
    real = folder / "files" / "bin" / "mine"
    real.write_text("#!/bin/sh\n")
    real.chmod(0o700)
    (folder / "bin" / "mine").symlink_to("../files/bin/mine")
    return folder / "bin" / "mine"


def test_the_hosts_program_wins_then_the_stored_copy_then_there_is_none(tmp_path: Path) -> None:
    here = resolve(["sh"], "/usr/bin:/bin", ())
    copy = stored(tmp_path)
    host, pinned, missing = choose_programs(
        [
            tool(name="sh", download=DOWNLOAD, stored=copy),
            tool(name="mine", download=DOWNLOAD, stored=copy),
            tool(name="other", download=DOWNLOAD),
            tool(name="sh"),
        ],
        here,
    )  # a program without a download for this platform has no row
    assert (host.source, host.path) == ("host", here["sh"].path)
    assert (pinned.source, pinned.path) == ("pinned", os.path.realpath(copy))
    assert (missing.source, missing.path) == ("missing", None)
    assert "mur install" in str(missing.reason) and pinned.reason is None
    assert [each.path for each in pinned_grants([host, pinned, missing])] == [
        str(copy.parents[1] / "files")
    ]


def with_copy(folders: Folders, copy: Path) -> CommandPolicy:
    programs = (tool(name="mine", download=DOWNLOAD, stored=copy),)
    return made(folders, "sh", "mine", programs=programs)


def test_a_stored_copy_may_be_executed_and_what_it_brought_be_read(
    folders: Folders, tmp_path: Path
) -> None:
    copy = stored(tmp_path)
    policy = with_copy(folders, copy)
    assert policy.binaries["mine"].path == os.path.realpath(copy)
    assert "EXECUTE" in access(policy, os.path.realpath(copy))
    assert access(policy, str(copy.parents[1] / "files")) == {"READ_FILE", "READ_DIR"}


def test_a_copy_that_commands_could_write_is_not_run(folders: Folders) -> None:
    copy = stored(Path(folders.workdir))
    assert "mine" not in with_copy(folders, copy).binaries
