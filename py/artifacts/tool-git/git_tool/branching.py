"""Operations on branches and work trees: branch, checkout, switch, worktree, create_worktree."""

from typing import Any

from murmur_tooling.members import Members, ToolError, invalid

from git_tool.arguments import new_name, optional_paths, optional_revision, path, revision
from git_tool.looking import COMMITS_SHOWN
from git_tool.program import Git

_FIELD = "\x1f"


def branch(git: Git, given: Members) -> dict[str, Any]:
    """List branches; create, delete or rename one."""
    does = ("list", "create", "delete", "rename")
    subcommand = given.choice("subcommand", does, "list")
    if subcommand == "list":
        names = ("%(refname:short)", "%(objectname)", "%(upstream:short)", "%(HEAD)")
        text = git.out(
            "for-each-ref", f"--format={_FIELD.join(names)}", "refs/heads", "refs/remotes"
        )
        found = [line.split(_FIELD) for line in text.splitlines()]
        branches = [
            {"name": name, "commit": commit, "upstream": upstream or None, "current": head == "*"}
            for name, commit, upstream, head in found
        ]
        cut = len(branches) > COMMITS_SHOWN
        return {"branches": branches[:COMMITS_SHOWN], "truncated": cut}
    name = new_name(given, "name")
    forced = given.given("mode") and given.choice("mode", ("force",)) == "force"
    if subcommand == "create":
        flags = ["--force"] if forced else []
        git.out("branch", *flags, "--no-track", "--", name, *optional_revision(given, "ref"))
        return {"created": name}
    if subcommand == "delete":
        git.out("branch", "--delete", *(["--force"] if forced else []), "--", name)
        return {"deleted": name}
    fresh = new_name(given, "branch")
    git.out("branch", "--move", *(["--force"] if forced else []), "--", name, fresh)
    return {"renamed": name, "name": fresh}


def checkout(git: Git, given: Members) -> dict[str, Any]:
    """Go to a branch or revision; with `paths`, take those files from it instead; with mode
    `create`, make the branch at `ref` first."""
    if given.given("paths"):
        git.out("checkout", *optional_revision(given, "ref"), *optional_paths(given))
        return {"paths": given.value("paths")}
    if given.given("mode"):
        given.choice("mode", ("create",))
        fresh = new_name(given, "branch")
        git.out("checkout", "--quiet", "-b", fresh, *optional_revision(given, "ref"), "--")
        return where_head_is(git)
    if given.given("branch") == given.given("ref"):
        raise invalid("one of branch and ref says where to go")
    key = "branch" if given.given("branch") else "ref"
    git.out("checkout", "--quiet", revision(given, key), "--")
    return where_head_is(git)


def switch(git: Git, given: Members) -> dict[str, Any]:
    """Go to a branch; with mode `create`, make it at `ref` first."""
    name = new_name(given, "branch")
    if not given.given("mode"):
        if given.given("ref"):
            raise invalid("ref goes with mode create: it is where the new branch begins")
        git.out("switch", "--quiet", "--no-guess", name)
        return where_head_is(git)
    given.choice("mode", ("create",))
    git.out("switch", "--quiet", f"--create={name}", *optional_revision(given, "ref"))
    return where_head_is(git)


def worktree(git: Git, given: Members) -> dict[str, Any]:
    """List the repository's work trees; add one for a branch or revision, remove one, forget those
    that are gone."""
    does = ("list", "add", "remove", "prune")
    subcommand = given.choice("subcommand", does, "list")
    if subcommand == "list":
        text = git.out("worktree", "list", "--porcelain")
        trees = []
        for block in text.strip().split("\n\n"):
            facts = dict(line.partition(" ")[::2] for line in block.splitlines())
            trees.append(
                {
                    "path": facts.get("worktree"),
                    "commit": facts.get("HEAD"),
                    "branch": facts["branch"].removeprefix("refs/heads/")
                    if "branch" in facts
                    else None,
                }
            )
        return {"worktrees": trees}
    if subcommand == "prune":
        git.out("worktree", "prune")
        return {}
    dest = path(given, "dest")
    if subcommand == "remove":
        from_top(git).out("worktree", "remove", "--", dest)
        return {"removed": dest}
    from_top(git).out("worktree", "add", "--", dest, revision(given, "ref"))
    return {"dest": dest}


def create_worktree(git: Git, given: Members) -> dict[str, Any]:
    """A new work tree at `dest` with a new branch, beginning at `ref`."""
    dest, name = path(given, "dest"), new_name(given, "branch")
    start = optional_revision(given, "ref")
    from_top(git).out("worktree", "add", "-b", name, "--no-track", "--", dest, *start)
    return {"dest": dest, "branch": name}


def from_top(git: Git) -> Git:
    """The same repository for a command that runs in the work folder: `dest` is relative to it."""
    found = git.out("rev-parse", "--absolute-git-dir").removesuffix("\n")
    if not found.startswith("/"):
        raise ToolError("git_failed", "git does not say where the repository is")
    return git.elsewhere(found)


def where_head_is(git: Git) -> dict[str, Any]:
    """The branch that HEAD is on, if any, and its commit, if there is one."""
    name = git("symbolic-ref", "--quiet", "--short", "HEAD").stdout.strip()
    commit = git("rev-parse", "--verify", "--quiet", "HEAD").stdout.strip()
    return {"branch": name or None, "commit": commit or None}
