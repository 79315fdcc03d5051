"""Operations on the index and on commits: add, restore, stash, commit, cherry_pick, reset, merge,
tag."""

from typing import Any

from murmur_tooling.members import Members, ToolError, invalid

from git_tool.arguments import (
    new_name,
    optional_paths,
    optional_revision,
    paths,
    revision,
)
from git_tool.looking import COMMITS_SHOWN
from git_tool.program import Finished, Git, failure, shortened


def add(git: Git, given: Members) -> dict[str, Any]:
    """Stage paths as they are now, deletions included."""
    git.out("add", "--all", "--", *paths(given))
    return {"staged": _staged(git)}


def restore(git: Git, given: Members) -> dict[str, Any]:
    """Give paths back the content they have in the index or in a revision."""
    mode = given.choice("mode", ("worktree", "staged", "both"), "worktree")
    where = {"worktree": ["--worktree"], "staged": ["--staged"], "both": ["--staged", "--worktree"]}
    source = [f"--source={revision(given, 'ref')}"] if given.given("ref") else []
    chosen = paths(given)
    git.out("restore", *where[mode], *source, "--", *chosen)
    return {"restored": chosen}


def stash(git: Git, given: Members) -> dict[str, Any]:
    """Put changes aside and bring them back; `n` counts entries from the newest, 0."""
    does = ("push", "list", "show", "pop", "apply", "drop")
    subcommand = given.choice("subcommand", does, "push")
    if subcommand == "list":
        lines = git.out("stash", "list").splitlines()
        return {"entries": lines[:COMMITS_SHOWN], "truncated": len(lines) > COMMITS_SHOWN}
    if subcommand == "push":
        git.refuse_nameless()
        message = [f"--message={_message(given)}"] if given.given("message") else []
        # Literal for each path: told so for all, git leaves the untracked files where they are.
        chosen = [f":(literal){each}" for each in paths(given)] if given.given("paths") else []
        pushed = ("stash", "push", "--include-untracked", *message, "--", *chosen)
        said = git.out(*pushed, literal=False)
        return {"stashed": "No local changes" not in said, "output": said.strip()}
    entry = f"stash@{{{given.whole('n', 0, 0, 10_000)}}}"
    if subcommand == "show":
        text, cut = shortened(
            git.out("stash", "show", "--patch", "--no-ext-diff", "--no-textconv", entry)
        )
        return {"diff": text, "truncated": cut}
    return _done(git("stash", subcommand, entry), git)


def commit(git: Git, given: Members) -> dict[str, Any]:
    """Commit what is staged (`staged`), every tracked change (`all`), or the named paths; `amend`
    replaces the last commit."""
    mode = given.choice("mode", ("staged", "all", "amend"), "staged")
    git.refuse_nameless()
    message = _message(given)
    flags = {"staged": [], "all": ["--all"], "amend": ["--amend"]}[mode]
    if mode == "all" and given.given("paths"):
        raise invalid("paths are given, and mode is all: one of the two says what is committed")
    git.out("commit", "--file=-", *flags, *optional_paths(given), given=message.encode())
    return _head(git)


def cherry_pick(git: Git, given: Members) -> dict[str, Any]:
    """Apply a commit's change on top of HEAD; `abort` and `continue` end one that met conflicts."""
    subcommand = given.choice("subcommand", ("pick", "abort", "continue"), "pick")
    git.refuse_nameless()
    what = [revision(given, "ref")] if subcommand == "pick" else [f"--{subcommand}"]
    _done(git("cherry-pick", *what), git)
    return _head(git)


def reset(git: Git, given: Members) -> dict[str, Any]:
    """Move HEAD (`soft`), the index as well (`mixed`), the work tree as well (`hard`); or take
    `paths` out of the index."""
    if given.given("paths"):
        if given.given("mode"):
            raise invalid("mode is given with paths: paths are only taken out of the index")
        git.out("reset", "--quiet", *optional_revision(given, "ref"), *optional_paths(given))
        return {"staged": _staged(git)}
    mode = given.choice("mode", ("soft", "mixed", "hard"), "mixed")
    git.out("reset", "--quiet", f"--{mode}", revision(given, "ref", "HEAD"), "--")
    return _head(git)


def merge(git: Git, given: Members) -> dict[str, Any]:
    """Merge a branch or revision into HEAD; `abort` and `continue` end one that met conflicts."""
    subcommand = given.choice("subcommand", ("merge", "abort", "continue"), "merge")
    git.refuse_nameless()
    if subcommand != "merge":
        _done(git("merge", f"--{subcommand}"), git)
        return _head(git)
    mode = given.choice("mode", ("ff", "no-ff", "ff-only", "squash"), "ff")
    key = "branch" if given.given("branch") else "ref"
    message = ["-m", _message(given)] if given.given("message") else []
    _done(git("merge", "--no-edit", f"--{mode}", *message, revision(given, key)), git)
    return _head(git)


def tag(git: Git, given: Members) -> dict[str, Any]:
    """List tags; make one, annotated where there is a message; delete one."""
    subcommand = given.choice("subcommand", ("list", "create", "delete"), "list")
    if subcommand == "list":
        lines = git.out("tag", "--list", "--sort=-creatordate").splitlines()
        return {"tags": lines[:COMMITS_SHOWN], "truncated": len(lines) > COMMITS_SHOWN}
    name = new_name(given, "name")
    if subcommand == "delete":
        git.out("tag", "--delete", "--", name)
        return {"deleted": name}
    where = optional_revision(given, "ref")
    if not given.given("message"):
        git.out("tag", "--no-sign", "--", name, *where)
        return {"created": name}
    git.refuse_nameless()
    annotated = ("tag", "--annotate", "--no-sign", "--file=-", "--", name, *where)
    git.out(*annotated, given=_message(given).encode())
    return {"created": name}


def _message(given: Members) -> str:
    message = given.text("message")
    if not message.strip():
        raise invalid("message is empty; it must say what was changed")
    return message


def _staged(git: Git) -> list[str]:
    """Paths whose index differs from HEAD."""
    text = git.out("diff", "--cached", "--name-only", "-z", "--no-ext-diff", "--no-textconv")
    return [name for name in text.split("\0") if name][:COMMITS_SHOWN]


def _head(git: Git) -> dict[str, Any]:
    """Where HEAD is by now; nothing in a repository that has no commit yet."""
    found = git("log", "--max-count=1", "--format=%H%n%s")
    if found.exit_code:
        return {"commit": None, "subject": None}
    commit_id, _, subject = found.stdout.strip().partition("\n")
    return {"commit": commit_id, "subject": subject}


def _done(finished: Finished, git: Git) -> dict[str, Any]:
    """A command that may meet conflicts: the refusal names the files that have them."""
    if finished.exit_code == 0:
        return {"output": shortened(finished.stdout.strip())[0]}
    unmerged = git("diff", "--name-only", "--diff-filter=U", "-z", "--no-ext-diff").stdout
    files = [name for name in unmerged.split("\0") if name]
    if files:
        raise ToolError(
            "conflict",
            f"there are conflicts in {', '.join(files[:50])}; mend and add them, then continue "
            f"(merge, cherry_pick) or commit, or abort",
        )
    raise failure(finished)
