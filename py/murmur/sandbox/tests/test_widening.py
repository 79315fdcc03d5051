"""Grants that widen what commands reach. spec/containment.md 15.3, 15.4 and 16."""

from pathlib import Path

import pytest

from murmur.core.config import HostPath
from murmur.core.safefs import Root, open_root
from murmur.manifest.grants import InterpreterDirectory, InterpreterRuntime
from murmur.sandbox.compilers import examine_compilers
from murmur.sandbox.credential_locations import is_credential_location
from murmur.sandbox.policy import CommandPolicy, Demands, Folders, derive
from murmur.sandbox.scripts import unreachable_scripts
from murmur.sandbox.widening import UnusableGrant, host_path_grants

from .test_policy import HOST, access, folders, made

__all__ = ["folders"]


def interpreter(path: Path | str, *, list_dir: bool = True) -> tuple[InterpreterRuntime, ...]:
    return (InterpreterRuntime("sh", (InterpreterDirectory(str(path), list_dir),)),)


def test_an_interpreter_runtime_may_be_executed_and_listed_as_declared(
    folders: Folders, tmp_path: Path
) -> None:
    for name, listed in (("a", True), ("b", False)):
        (tmp_path / name).mkdir()
        policy = made(folders, interpreter_runtime=interpreter(tmp_path / name, list_dir=listed))
        wanted = {"EXECUTE", "READ_FILE", *(["READ_DIR"] if listed else [])}
        assert access(policy, str(tmp_path / name)) == wanted


@pytest.mark.parametrize("reach", ["work/inside", "work", ".", ".."])
def test_a_grant_that_would_make_executable_what_commands_write_is_refused(
    folders: Folders, tmp_path: Path, reach: str
) -> None:
    (tmp_path / "work" / "inside").mkdir()
    with pytest.raises(UnusableGrant, match=r"shell\.interpreter_runtime: .*which commands write"):
        made(folders, interpreter_runtime=interpreter(tmp_path / reach))


def host_paths(folders: Folders, *declared: HostPath) -> CommandPolicy:
    return made(folders, host_paths=declared)


def test_host_paths_read_or_write_and_never_execute(folders: Folders, tmp_path: Path) -> None:
    (tmp_path / "r").mkdir()
    (tmp_path / "w").mkdir()
    policy = host_paths(folders, HostPath(f"{tmp_path}/r"), HostPath(f"{tmp_path}/w", "read-write"))
    assert access(policy, f"{tmp_path}/r") == {"READ_FILE", "READ_DIR"}
    assert "EXECUTE" not in access(policy, f"{tmp_path}/w")
    assert "MAKE_REG" in access(policy, f"{tmp_path}/w")
    trees = {tree.target: tree for tree in policy.trees}
    assert not trees[f"{tmp_path}/w"].read_only and trees[f"{tmp_path}/w"].noexec
    assert [each.mechanism for each in policy.host_paths] == ["landlock", "landlock"]


def test_what_commands_may_write_by_a_host_path_is_never_executable(
    folders: Folders, tmp_path: Path
) -> None:
    shared = tmp_path / "shared"
    script(shared, "tool", "#!/bin/sh")
    path = HostPath(str(shared), "read-write")
    with pytest.raises(UnusableGrant, match="which commands write"):
        made(folders, host_paths=(path,), interpreter_runtime=interpreter(shared))
    wanted = Demands(("tool", "sh"), host_paths=(path,))
    policy = derive(HOST, folders, wanted, f"{shared}:/usr/bin:/bin")
    assert set(policy.binaries) == {"sh"}
    readable = Demands(("tool", "sh"), host_paths=(HostPath(str(shared)),))
    assert "tool" in derive(HOST, folders, readable, f"{shared}:/usr/bin:/bin").binaries


def test_what_reaches_the_murmur_home_is_withheld_and_says_why(tmp_path: Path) -> None:
    murmur = tmp_path / "home" / ".murmur"
    (murmur / "records").mkdir(parents=True)
    reached = (murmur, murmur / "records", tmp_path / "home", tmp_path)
    found = host_path_grants(
        [HostPath(str(each)) for each in reached], "Full", (), str(murmur), str(tmp_path / "home")
    )
    assert {(each.mechanism, each.reason) for each in found} == {("none", "it reaches ~/.murmur")}
    assert all(each.credential_location for each in found[:1] + found[2:])


@pytest.mark.parametrize(
    ("tier", "path", "reason"),
    [
        ("Seccomp-only", "/usr", "no mechanism"),
        ("Environment-only", "/usr", "no mechanism"),
        ("Full", "/no/such/path", "does not exist"),
        ("Full", "/", "~/.murmur"),
        ("Sealed", "/dev/null", "root"),
        ("Sealed", "/proc/self", "root"),
    ],
)
def test_a_host_path_that_cannot_be_granted_says_so(tier: str, path: str, reason: str) -> None:
    found = host_path_grants([HostPath(path)], tier, (), "/h/.murmur", "/h")  # type: ignore[arg-type]
    assert found[0].mechanism == "none" and reason in found[0].reason


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/h/.ssh", True),
        ("/h/.ssh/id_ed25519", True),
        ("/h", True),
        ("/etc", True),
        ("/etc/shadow", True),
        ("/etc/ssl/certs", False),
        ("/h/projects", False),
        ("/usr/share", False),
        ("/h/.sshd", False),
    ],
)
def test_a_place_of_credentials_is_one_that_lies_in_or_holds_one(path: str, expected: bool) -> None:
    assert is_credential_location(path, "/h") is expected


def script(folder: Path, name: str, line: str) -> str:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(line + "\n")
    path.chmod(0o755)
    return str(path)


def test_a_script_is_reachable_where_a_root_tree_or_a_grant_covers_it(tmp_path: Path) -> None:
    path = script(tmp_path / "bin", "tool", "#!/usr/bin/env -S python3 -x")
    located = {"tool": path, "cat": "/usr/bin/cat"}
    assert [(each.name, each.interpreter) for each in unreachable_scripts(located, (), ())] == [
        ("tool", "python3")
    ]
    assert unreachable_scripts(located, (str(tmp_path / "bin"),), ()) == ()
    assert unreachable_scripts(located, (), ("python3",)) == ()
    assert unreachable_scripts(located, (), ("tool",)) == ()
    assert unreachable_scripts({"tool": "/usr/bin/ldd"}, (), ()) == ()


def test_a_helper_is_covered_by_a_grant_or_an_entry_and_not_by_lying_under_usr(
    tmp_path: Path,
) -> None:
    helpers = tmp_path / "lib"
    for name in ("cc1", "as"):
        script(helpers, name, "#!/bin/sh")
    driver = script(
        tmp_path / "bin",
        "gcc",
        "#!/bin/sh\nname=${1#*=}\n"
        f"case $name in cc1|as) echo {helpers}/$name;; *) echo $name;; esac",
    )
    located = {"gcc": driver}
    found = examine_compilers(located, (), "/nowhere")
    assert [(each.driver, each.helper) for each in found.uncovered] == [
        ("gcc", "cc1"),
        ("gcc", "as"),
    ]
    assert found.unprobed == ()
    assert examine_compilers(located, (str(helpers),), "/nowhere").uncovered == ()
    listed = {"gcc": driver, "as": str(helpers / "as")}
    assert [each.helper for each in examine_compilers(listed, (), "").uncovered] == ["cc1"]


def test_a_drivers_answers_are_kept_until_it_or_a_helper_changes(tmp_path: Path) -> None:
    helpers = tmp_path / "lib"
    for name in ("cc1plus", "as", "ld", "collect2"):
        script(helpers, name, "#!/bin/sh")
    asked = tmp_path / "asked"
    driver = script(
        tmp_path / "bin", "g++", f"#!/bin/sh\necho x >> {asked}\necho {helpers}/${{1#*=}}"
    )
    (tmp_path / "facts").mkdir()

    def count(facts: Root) -> int:
        before = asked.read_text().count("x") if asked.exists() else 0
        found = examine_compilers({"g++": driver}, (), "/nowhere", facts)
        assert [each.helper for each in found.uncovered] == ["cc1plus", "as", "ld", "collect2"]
        return asked.read_text().count("x") - before

    with open_root(tmp_path / "facts") as facts:
        assert [count(facts) for _ in range(3)] == [4, 0, 0]
        script(helpers, "ld", "#!/bin/sh\ntrue")
        assert [count(facts) for _ in range(2)] == [4, 0]
        (name,) = facts.list()
        for damage in (b"", b"{}", facts.read_bytes(name).replace(b"/lib/as", b"/lib/ld")):
            facts.write_atomic(name, damage)
            assert count(facts) == 4
        (helpers / "collect2").rename(helpers / "gone")
        script(helpers, "collect2", "#!/bin/sh")
        assert count(facts) == 4


@pytest.mark.parametrize(
    ("text", "reason"),
    [("no program", "Exec format error"), ("#!/bin/sh\nkill -9 $$", "SIGKILL")],
)
def test_a_driver_that_cannot_be_asked_is_never_counted_as_covered(
    tmp_path: Path, text: str, reason: str
) -> None:
    driver = script(tmp_path / "bin", "c++", text)
    found = examine_compilers({"c++": driver, "sh": "/bin/sh"}, (), "")
    assert found.uncovered == ()
    (one,) = found.unprobed
    assert (one.driver, one.helpers) == ("c++", ("cc1plus", "as", "ld", "collect2"))
    assert reason in one.reason
