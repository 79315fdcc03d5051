"""What a composed root is planned to hold. spec/containment.md 13."""

import dataclasses
import os
from pathlib import Path

import pytest

from murmur.sandbox.binaries import resolve
from murmur.sandbox.identity import group_text, passwd_text
from murmur.sandbox.launchspec import Tree
from murmur.sandbox.policy import Demands, Folders, derive
from murmur.sandbox.sealed_root import RootPlan
from murmur.sandbox.widening import PathGrant, grant

from .test_policy import HOST, folders

__all__ = ["folders"]


def by_target(plan: RootPlan) -> dict[str, Tree]:
    return {tree.target: tree for tree in plan.trees()}


def sealed_trees(folders: Folders, tmp_path: Path, **demands: object) -> dict[str, Tree]:
    identity = tmp_path / "sealed-etc"
    identity.mkdir()
    (identity / "passwd").write_text("")
    (identity / "group").write_text("")
    within = dataclasses.replace(folders, identity=str(identity))
    wanted = Demands(("sh",), sealed=True, **demands)  # type: ignore[arg-type]
    policy = derive(HOST, within, wanted, "/usr/bin:/bin")
    assert policy.tier == "Sealed"
    return {tree.target: tree for tree in policy.trees}


def test_system_folders_are_read_only_and_a_merged_one_is_the_link_that_it_is() -> None:
    plan = RootPlan()
    plan.system()
    trees = by_target(plan)
    assert trees["/usr"].read_only and not trees["/usr"].noexec
    for name in ("/bin", "/lib"):
        if os.path.islink(name):
            assert trees[name].link and trees[name].source == os.readlink(name)
    for name in ("/etc/shadow", "/etc", "/root", "/home", "/var", "/sys"):
        assert name not in trees
    assert trees["/etc/ld.so.cache"].read_only and trees["/etc/ld.so.cache"].optional


def test_the_sessions_folders_are_required_and_only_three_can_be_written(
    folders: Folders, tmp_path: Path
) -> None:
    trees = sealed_trees(folders, tmp_path)
    written = {target for target, tree in trees.items() if not tree.read_only and not tree.link}
    assert written == {folders.workdir, folders.home, folders.temp, "/tmp"}
    assert trees["/tmp"].source == folders.temp
    for target in (*written, folders.runtime, folders.records, "/etc/passwd", "/etc/group"):
        assert not trees[target].optional
        assert trees[target].inode == os.stat(trees[target].source).st_ino
        assert trees[target].noexec
    assert trees["/etc/passwd"].source.endswith("sealed-etc/passwd")


def test_a_work_folder_that_is_tmp_stays_there_and_the_temporary_folder_too(
    folders: Folders, tmp_path: Path
) -> None:
    trees = sealed_trees(dataclasses.replace(folders, workdir="/tmp"), tmp_path)
    assert trees["/tmp"].source == "/tmp" and not trees["/tmp"].read_only
    assert not trees[folders.temp].read_only


def test_what_lies_deeper_is_attached_later(folders: Folders, tmp_path: Path) -> None:
    targets = list(sealed_trees(folders, tmp_path))
    for index, target in enumerate(targets):
        assert not [each for each in targets[index + 1 :] if target.startswith(each + "/")]


def test_a_program_elsewhere_brings_its_folder_and_the_names_it_goes_by(tmp_path: Path) -> None:
    real = tmp_path / "opt" / "tool-1"
    real.mkdir(parents=True)
    (real / "tool").write_text("#!/bin/sh\n")
    (real / "tool").chmod(0o755)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "tool").symlink_to(real / "tool")
    plan = RootPlan()
    plan.system()
    plan.programs(resolve(["tool", "sh"], f"{tmp_path}/bin:/usr/bin:/bin", []).values(), ())
    trees = by_target(plan)
    assert trees[str(real)].read_only
    name = trees[str(tmp_path / "bin" / "tool")]
    assert (name.link, name.source) == (True, str(real / "tool"))
    assert not [each for each in trees if each.startswith("/usr/")]


def test_a_program_beside_the_sessions_folders_comes_alone(tmp_path: Path) -> None:
    (tmp_path / "tool").write_text("#!/bin/sh\n")
    (tmp_path / "tool").chmod(0o755)
    plan = RootPlan()
    plan.programs(resolve(["tool"], str(tmp_path), []).values(), (str(tmp_path / "work"),))
    assert list(by_target(plan)) == [str(tmp_path / "tool")]


def test_a_grant_that_leads_through_a_link_is_reached_by_its_own_name(tmp_path: Path) -> None:
    (tmp_path / "v2").mkdir()
    (tmp_path / "current").symlink_to("v2")
    plan = RootPlan()
    plan.grants([grant(str(tmp_path / "current"))], noexec=True)
    trees = by_target(plan)
    assert trees[str(tmp_path / "v2")].read_only
    assert trees[str(tmp_path / "current")].source == str(tmp_path / "v2")


def test_what_is_needed_wins_over_what_may_be_missing() -> None:
    plan = RootPlan()
    plan.grants([PathGrant("/opt/x", "/opt/x"), grant("/opt/x", execute=True, required=True)],
                noexec=True)  # fmt: skip
    assert not by_target(plan)["/opt/x"].optional


def test_only_what_exists_is_planned_unless_it_is_needed() -> None:
    plan = RootPlan()
    plan.grants([grant("/no/such/one")], noexec=True)
    assert by_target(plan) == {}


def test_a_grant_for_writing_is_attached_over_what_shows_it_already() -> None:
    plan = RootPlan()
    plan.system()
    plan.grants([grant("/usr/share"), grant("/usr/local", write=True)], noexec=True)
    trees = by_target(plan)
    assert "/usr/share" not in trees
    assert not trees["/usr/local"].read_only and trees["/usr/local"].noexec


def test_passwd_and_group_hold_the_documented_lines() -> None:
    assert passwd_text(1000, 100, "/h") == (
        "root:x:0:0:root:/root:/bin/sh\ncapsule:x:1000:100:Murmur capsule:/h:/bin/sh\n"
    )
    assert passwd_text(0, 0, "/h") == "root:x:0:0:root:/h:/bin/sh\n"
    assert group_text(100) == "root:x:0:\ncapsule:x:100:\n"


@pytest.mark.parametrize("home", ["/a:b", "/a\nroot2:x:0:0::/:/bin/sh"])
def test_a_home_that_no_line_can_hold_is_refused(home: str) -> None:
    with pytest.raises(ValueError, match="colon"):
        passwd_text(1000, 1000, home)
