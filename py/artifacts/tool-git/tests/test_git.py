"""tool-git: its 23 operations on real repositories, by the real git (spec 16.3)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml
from git_tool.calls import OPERATIONS, carry_out

if TYPE_CHECKING:
    from tests.conftest import Work


def test_the_operations_are_those_of_the_reference() -> None:
    looking = ["status", "add", "diff", "restore", "stash", "log", "show", "symbol_history"]
    changing = ["commit", "cherry_pick", "branch", "checkout", "switch", "reset"]
    remote = ["fetch", "pull", "push", "clone", "remote"]
    rest = ["tag", "merge", "worktree", "create_worktree"]

    assert list(OPERATIONS) == [*looking, *changing, *remote, *rest]


def test_status_names_every_path_that_differs_and_how(work: Work) -> None:
    work.committed(a="1\n", b="a file of some length\n", gone="x")
    work.write(a="2\n")
    (work.folder / "r/new é").write_text("")
    (work.folder / "r/gone").unlink()
    work.git("-C", "r", "mv", "b", "c")

    outcome = work.outcome("status", repo="r")

    data = json.loads(outcome.data)
    assert (data["branch"], data["clean"], data["upstream"]) == ("main", False, None)
    assert data["entries"] == [
        {"path": "a", "unstaged": "modified"},
        {"path": "c", "staged": "renamed", "original_path": "b"},
        {"path": "gone", "unstaged": "deleted"},
        {"path": "new é", "untracked": True},
    ]
    assert outcome.metadata == (("state_effect", "read"), ("resource_id", "repository:r"))


def test_changes_are_staged_shown_committed_and_found_in_the_log(work: Work) -> None:
    first = work.committed(a="1\n")
    work.write(a="2\n", b="new\n")
    assert "-1\n+2\n" in work.do("diff", repo="r")["diff"]
    assert work.do("add", repo="r", paths=["a"]) == {"ok": True, "staged": ["a"]}
    assert work.do("diff", repo="r")["diff"] == ""
    assert "+2" in work.do("diff", repo="r", mode="staged", paths=["a"])["diff"]
    second = work.do("commit", repo="r", message="Two\n\nbecause of it\n# not a comment")
    assert second["subject"] == "Two"

    commits = work.do("log", repo="r")["commits"]
    assert [each["commit"] for each in commits] == [second["commit"], first]
    assert (commits[0]["author"], commits[0]["email"]) == ("Ada", "ada@example.com")
    assert commits[0]["parents"] == [first] and "HEAD -> main" in commits[0]["refs"]
    assert len(work.do("log", repo="r", n=1, ref="main", paths=["a"])["commits"]) == 1
    shown = work.do("show", repo="r")
    assert shown["message"].endswith("# not a comment") and "+2" in shown["diff"]
    assert work.do("show", repo="r", ref="HEAD~1", path="a")["content"] == "1\n"
    assert "+2" in work.do("diff", repo="r", ref=f"{first}..HEAD")["diff"]


def test_commit_takes_all_or_some_or_replaces_the_last(work: Work) -> None:
    work.committed(a="1", b="1")
    work.write(a="2", b="2")
    work.do("commit", repo="r", message="only b", paths=["b"])
    assert work.do("status", repo="r")["entries"] == [{"path": "a", "unstaged": "modified"}]
    work.do("commit", repo="r", message="all", mode="all")
    assert work.do("status", repo="r")["clean"]
    assert work.do("commit", repo="r", message="again", mode="amend")["subject"] == "again"
    assert len(work.do("log", repo="r")["commits"]) == 3
    work.refused("nothing_to_commit", "commit", repo="r", message="nothing")
    work.refused("invalid_input", "commit", repo="r", message="  ")
    work.refused("invalid_input", "commit", repo="r", message="x", mode="all", paths=["a"])


def test_restore_and_reset_take_back(work: Work) -> None:
    first = work.committed(a="1")
    work.committed(a="2")
    work.write(a="3")
    work.do("restore", repo="r", paths=["a"])
    assert (work.folder / "r/a").read_text() == "2"
    work.do("restore", repo="r", paths=["a"], ref=first, mode="both")
    assert work.do("status", repo="r")["entries"] == [{"path": "a", "staged": "modified"}]
    assert work.do("reset", repo="r", paths=["a"])["staged"] == []
    assert work.do("reset", repo="r", mode="hard", ref=first)["commit"] == first
    assert (work.folder / "r/a").read_text() == "1"
    work.refused("invalid_input", "reset", repo="r", mode="hard", paths=["a"])


def test_stash_puts_aside_and_brings_back(work: Work) -> None:
    work.committed(a="1\n")
    work.write(a="2\n", new="x")
    assert work.do("stash", repo="r", message="for later")["stashed"] is True
    assert work.do("status", repo="r")["clean"]
    assert "for later" in work.do("stash", repo="r", subcommand="list")["entries"][0]
    assert "+2" in work.do("stash", repo="r", subcommand="show")["diff"]
    work.do("stash", repo="r", subcommand="apply", n=0)
    assert (work.folder / "r/a").read_text() == "2\n" and (work.folder / "r/new").exists()
    work.do("stash", repo="r", subcommand="drop")
    work.refused("not_found", "stash", repo="r", subcommand="pop")
    assert work.outcome("stash", repo="r", subcommand="list").metadata[0][1] == "read"


def test_branches_are_listed_made_gone_to_renamed_and_deleted(work: Work) -> None:
    first = work.committed(a="1")
    second = work.committed(a="2")
    work.do("branch", repo="r", subcommand="create", name="old", ref=first)
    assert work.do("switch", repo="r", branch="old") == {
        "ok": True,
        "branch": "old",
        "commit": first,
    }
    work.do("switch", repo="r", branch="new/one", mode="create", ref="main")
    work.do("checkout", repo="r", branch="main")
    assert work.do("checkout", repo="r", ref=first)["branch"] is None
    assert work.do("checkout", repo="r", branch="third", mode="create")["branch"] == "third"
    work.do("checkout", repo="r", ref="main", paths=["a"])
    assert (work.folder / "r/a").read_text() == "2"
    work.do("reset", repo="r", mode="hard")
    work.do("branch", repo="r", subcommand="rename", name="old", branch="older")
    work.do("branch", repo="r", subcommand="delete", name="older")
    work.refused("git_failed", "branch", repo="r", subcommand="delete", name="new/one")
    work.do("branch", repo="r", subcommand="delete", name="new/one", mode="force")
    branches = work.do("branch", repo="r")["branches"]
    assert branches == [
        {"name": "main", "commit": second, "upstream": None, "current": False},
        {"name": "third", "commit": first, "upstream": None, "current": True},
    ]
    work.refused("not_found", "switch", repo="r", branch="none")
    work.refused("exists", "branch", repo="r", subcommand="create", name="main")


def test_merge_and_cherry_pick_say_which_files_conflict(work: Work) -> None:
    work.committed(a="1\n")
    work.do("switch", repo="r", branch="side", mode="create")
    other = work.committed(a="side\n")
    work.do("switch", repo="r", branch="main")
    assert work.do("merge", repo="r", branch="side", mode="no-ff", message="m")["subject"] == "m"
    work.do("reset", repo="r", mode="hard", ref="HEAD~1")
    work.committed(a="main\n")

    for operation, given in (("merge", {"branch": "side"}), ("cherry_pick", {"ref": other})):
        assert "conflicts in a;" in work.refused("conflict", operation, repo="r", **given)
        assert work.do("status", repo="r")["entries"] == [{"path": "a", "conflict": True}]
        work.do(operation, repo="r", subcommand="abort")
        assert work.do("status", repo="r")["clean"]
    work.refused("conflict", "cherry_pick", repo="r", ref=other)
    work.write(a="both\n")
    work.do("add", repo="r", paths=["a"])
    assert work.do("cherry_pick", repo="r", subcommand="continue")["subject"] == "change a"


def test_tags_are_listed_made_and_deleted(work: Work) -> None:
    first = work.committed(a="1")
    work.do("tag", repo="r", subcommand="create", name="v1", ref=first)
    work.do("tag", repo="r", subcommand="create", name="v2", message="two")
    assert set(work.do("tag", repo="r")["tags"]) == {"v1", "v2"}
    assert work.git("-C", "r", "cat-file", "-t", "v2").strip() == "tag"
    work.do("tag", repo="r", subcommand="delete", name="v1")
    assert work.do("tag", repo="r", subcommand="list")["tags"] == ["v2"]


def test_work_trees_are_made_inside_the_work_folder(work: Work) -> None:
    work.committed(a="1")
    made = work.outcome("create_worktree", repo="r", dest="trees/x", branch="x", ref="main")
    assert json.loads(made.data) == {"ok": True, "dest": "trees/x", "branch": "x"}
    assert made.metadata[1] == ("resource_id", "repository:trees/x")
    assert (work.folder / "trees/x/a").read_text() == "1"
    work.do("branch", repo="r", subcommand="create", name="y")
    work.do("worktree", repo="trees/x", subcommand="add", dest="trees/y", ref="y")
    trees = work.do("worktree", repo="r")["worktrees"]
    assert [each["branch"] for each in trees] == ["main", "x", "y"]
    work.do("worktree", repo="r", subcommand="remove", dest="trees/y")
    assert not (work.folder / "trees/y").exists()
    work.do("worktree", repo="r", subcommand="prune")
    work.refused("outside_workdir", "create_worktree", repo="r", dest="../out", branch="z")


def test_repositories_are_cloned_fetched_pulled_and_pushed(work: Work) -> None:
    work.committed(a="1")
    work.git("clone", "--quiet", "--bare", "r", "origin.git")
    assert work.do("clone", url="origin.git", dest="copy")["branch"] == "main"
    assert work.do("clone", url="origin.git", dest="named", branch="main")["ok"]
    work.refused("exists", "clone", url="origin.git", dest="copy")

    work.do("remote", repo="r", subcommand="add", name="hub", url="https://example.com/x.git")
    work.do("remote", repo="r", subcommand="set-url", name="hub", url="https://example.com/y")
    assert work.do("remote", repo="r")["remotes"] == [
        {"name": "hub", "url": "https://example.com/y"}
    ]
    work.do("remote", repo="r", subcommand="remove", name="hub")
    work.git("-C", "r", "remote", "add", "origin", str(work.folder / "origin.git"))

    second = work.committed(a="2")
    assert work.do("push", repo="r", mode="set-upstream")["branch"] == "main"
    assert work.do("status", repo="r")["upstream"] == "origin/main"
    assert work.do("fetch", repo="copy", mode="prune")["remote"] == "origin"
    assert work.do("status", repo="copy")["behind"] == 1
    assert work.do("pull", repo="copy")["commit"] == second
    work.do("reset", repo="r", mode="hard", ref="HEAD~1")
    work.committed(a="3")
    work.refused("rejected", "push", repo="r")
    work.do("push", repo="r", mode="force")
    work.refused("rejected", "pull", repo="copy")
    work.do("pull", repo="copy", mode="rebase")
    work.refused("not_found", "fetch", repo="r", name="nowhere")


def test_symbol_history_shows_the_commits_of_one_function(work: Work) -> None:
    work.committed(**{"m.py": "def one():\n    return 1\n\n\ndef two():\n    return 2\n"})
    work.committed(**{"m.py": "def one():\n    return 1\n\n\ndef two():\n    return 22\n"})
    last = work.committed(**{"m.py": "def one():\n    return 11\n\n\ndef two():\n    return 22\n"})

    one = work.do("symbol_history", repo="r", path="m.py", symbol_id="one", n=1)
    assert [each["commit"] for each in one["commits"]] == [last]
    assert "+    return 11" in one["commits"][0]["diff"] and "22" not in one["commits"][0]["diff"]
    two = work.do("symbol_history", repo="r", symbol_id="m.py::two")
    assert [each["subject"] for each in two["commits"]] == ["change m.py"] * 2
    work.refused("invalid_input", "symbol_history", repo="r", symbol_id="one")
    work.refused("git_failed", "symbol_history", repo="r", path="m.py", symbol_id="none")


def test_a_repository_without_an_author_says_who_can_name_one(work: Work) -> None:
    work.config = {}
    work.write(a="1")
    work.do("add", repo="r", paths=["a"])
    assert "config.author" in work.refused("no_identity", "commit", repo="r", message="x")
    work.git("-C", "r", "config", "user.name", "Own")
    work.git("-C", "r", "config", "user.email", "own@example.com")
    work.do("commit", repo="r", message="x")
    assert work.do("log", repo="r")["commits"][0]["author"] == "Own"
    work.config = {"author": {"name": "x"}}
    assert "config.email is missing" in work.refused("config_invalid", "log", repo="r")


def test_what_is_no_repository_is_said(work: Work) -> None:
    (work.folder / "plain").mkdir()
    work.refused("not_a_repository", "status", repo="plain")
    work.refused("not_a_repository", "status", repo="none")
    (work.folder / "r/sub").mkdir()
    outer, inner = work.in_folder("r"), work.in_folder("r/sub")
    assert outer.do("status", repo="sub")["branch"] == "main"
    assert "above the work folder" in inner.refused("not_a_repository", "status")


@pytest.mark.parametrize(
    "members",
    [
        {"operation": "rebase"},
        {"operation": "status", "url": "x"},
        {"operation": "add"},
        {"operation": "add", "paths": []},
        {"operation": "log", "n": 0},
        {"operation": "restore", "paths": ["a"], "mode": "all"},
        {"operation": "checkout"},
        {"operation": "checkout", "branch": "a", "ref": "b"},
        {"operation": "switch", "branch": "a", "ref": "b"},
    ],
)
def test_input_that_makes_no_sense_is_an_error(work: Work, members: dict[str, object]) -> None:
    if members["operation"] not in ("rebase", "status"):
        members = {"repo": "r", **members}
    outcome = carry_out(json.dumps(members), {}, work.run)

    assert outcome.status == "error"
    assert json.loads(outcome.data)["error_kind"] == "invalid_input"


def test_the_schema_names_every_operation_and_member() -> None:
    text = (Path(__file__).parent.parent / "murmur.yaml").read_text()
    schema = yaml.safe_load(text)["input_schema"]

    assert schema["properties"]["operation"]["enum"] == list(OPERATIONS)
    known = {member for _, members in OPERATIONS.values() for member in members}
    assert set(schema["properties"]) == {"operation", *known}
    assert schema["murmur-destinations"] == ["{dest}"]
