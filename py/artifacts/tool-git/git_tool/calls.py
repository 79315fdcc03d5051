"""One call of the tool: the input's operation, its members, and the result (spec 16.3)."""

from collections.abc import Callable, Mapping
from typing import Any

from murmur_tooling.members import Members, ToolError, read_members
from murmur_tooling.outcome import Notes, Outcome, passed, refused
from murmur_tooling.settings import configured

from git_tool import branching, committing, looking, remotes
from git_tool.arguments import repository
from git_tool.program import Author, Git, RunGit

Does = Callable[[Git, Members], dict[str, Any]]

OPERATIONS: Mapping[str, tuple[Does, tuple[str, ...]]] = {
    "status": (looking.status, ("repo",)),
    "add": (committing.add, ("repo", "paths")),
    "diff": (looking.diff, ("repo", "mode", "ref", "paths")),
    "restore": (committing.restore, ("repo", "paths", "ref", "mode")),
    "stash": (committing.stash, ("repo", "subcommand", "message", "paths", "n")),
    "log": (looking.log, ("repo", "ref", "paths", "n")),
    "show": (looking.show, ("repo", "ref", "path")),
    "symbol_history": (looking.symbol_history, ("repo", "path", "symbol_id", "n")),
    "commit": (committing.commit, ("repo", "message", "paths", "mode")),
    "cherry_pick": (committing.cherry_pick, ("repo", "subcommand", "ref")),
    "branch": (branching.branch, ("repo", "subcommand", "name", "branch", "ref", "mode")),
    "checkout": (branching.checkout, ("repo", "branch", "ref", "paths", "mode")),
    "switch": (branching.switch, ("repo", "branch", "ref", "mode")),
    "reset": (committing.reset, ("repo", "mode", "ref", "paths")),
    "fetch": (remotes.fetch, ("repo", "name", "branch", "mode")),
    "pull": (remotes.pull, ("repo", "name", "branch", "mode")),
    "push": (remotes.push, ("repo", "name", "branch", "mode")),
    "clone": (remotes.clone, ("url", "dest", "branch", "n")),
    "remote": (remotes.remote, ("repo", "subcommand", "name", "url")),
    "tag": (committing.tag, ("repo", "subcommand", "name", "ref", "message")),
    "merge": (committing.merge, ("repo", "subcommand", "branch", "ref", "mode", "message")),
    "worktree": (branching.worktree, ("repo", "subcommand", "dest", "ref")),
    "create_worktree": (branching.create_worktree, ("repo", "dest", "branch", "ref")),
}
_READING = ("status", "diff", "log", "show", "symbol_history")
_LISTING = ("stash", "branch", "remote", "tag", "worktree")


def carry_out(data: str | None, environ: Mapping[str, str], run: RunGit) -> Outcome:
    """Carry one operation out by `run`. Never raises for what an input may hold."""
    metadata: Notes = ()
    try:
        members = {name: known for name, (_, known) in OPERATIONS.items()}
        operation, given = read_members(data, members)
        metadata = (("state_effect", _effect(operation, given)),)
        author = configured(environ, ("author",), _author)
        repo = repository(given)
        git = Git(run, repo, author)
        if operation != "clone":
            git.refuse_strange()
        result = OPERATIONS[operation][0](git, given)
    except ToolError as problem:
        return refused(problem, metadata)
    metadata += (("resource_id", f"repository:{result.get('dest', repo)}"),)
    return passed(f"{operation} {repo}", result, metadata, bool(result.get("truncated")))


def _effect(operation: str, given: Members) -> str:
    lists = operation in _LISTING and given.value("subcommand") in ("list", "show")
    # A stash without a subcommand is one that is pushed; the others list.
    listed = operation in _LISTING[1:] and not given.given("subcommand")
    return "read" if operation in _READING or lists or listed else "mutate"


def _author(block: Members) -> Author | None:
    if not block.given("author"):
        return None
    named = Members(block.mapping("author"))
    return Author(named.text("name"), named.text("email"))
