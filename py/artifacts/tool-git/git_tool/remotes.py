"""Operations that know of other repositories: clone, remote, fetch, pull, push."""

import re
from typing import Any

from murmur_tooling.members import Members, ToolError

from git_tool.arguments import address, new_name, path, remote_name
from git_tool.branching import where_head_is
from git_tool.program import Git, failure

_PASSWORD = re.compile(r"(://[^/@:]*):[^/@]*@")


def clone(git: Git, given: Members) -> dict[str, Any]:
    """Copy a repository to `dest` of the work folder; `n` commits deep, if given."""
    url, dest = address(given), path(given, "dest")
    # Without a template none of the host's hooks are copied.
    flags = ["--template=", "--no-recurse-submodules"]
    if given.given("branch"):
        flags.append(f"--branch={new_name(given, 'branch')}")
    if given.given("n"):
        flags.append(f"--depth={given.whole('n', None, 1, 1_000_000)}")
    git.out("clone", "--quiet", *flags, "--", url, dest, reaching=True)
    return {"dest": dest, **where_head_is(git.in_folder(dest))}


def remote(git: Git, given: Members) -> dict[str, Any]:
    """List remotes with their addresses; add or remove one, or give one another address."""
    does = ("list", "add", "remove", "set-url")
    subcommand = given.choice("subcommand", does, "list")
    if subcommand == "list":
        found = {}
        for line in git.out("remote", "--verbose").splitlines():
            name, _, rest = line.partition("\t")
            found[name] = _PASSWORD.sub(r"\1:***@", rest.rpartition(" ")[0])
        return {"remotes": [{"name": name, "url": url} for name, url in found.items()]}
    name = remote_name(given)
    if subcommand == "remove":
        git.out("remote", "remove", "--", name)
        return {"removed": name}
    url = address(given)
    git.out("remote", subcommand, "--", name, url)
    return {"name": name, "url": url}


def fetch(git: Git, given: Members) -> dict[str, Any]:
    """Get what a remote has; mode `prune` also forgets branches that it no longer has."""
    name = _known(git, given)
    prune = given.given("mode") and given.choice("mode", ("prune",)) == "prune"
    what = [new_name(given, "branch")] if given.given("branch") else []
    finished = git("fetch", *(["--prune"] if prune else []), "--", name, *what, reaching=True)
    if finished.exit_code:
        raise failure(finished)
    return {"remote": name, "output": finished.stderr.strip()}


def pull(git: Git, given: Members) -> dict[str, Any]:
    """Fetch, and bring the current branch up to date: by moving it (`ff-only`), by a merge, or by a
    rebase."""
    mode = given.choice("mode", ("ff-only", "merge", "rebase"), "ff-only")
    name = _known(git, given)
    if mode != "ff-only":
        git.refuse_nameless()
    how = {"ff-only": ["--ff-only"], "merge": ["--no-rebase", "--no-edit"], "rebase": ["--rebase"]}
    what = [new_name(given, "branch")] if given.given("branch") else []
    git.out("pull", "--quiet", *how[mode], "--", name, *what, reaching=True)
    return {"remote": name, **where_head_is(git)}


def push(git: Git, given: Members) -> dict[str, Any]:
    """Send a branch, the current one by default, to the branch of that name; `force` replaces what
    is there only if it is what was last fetched."""
    name = _known(git, given)
    mode = given.choice("mode", ("plain", "set-upstream", "force"), "plain")
    flag = {"plain": [], "set-upstream": ["--set-upstream"], "force": ["--force-with-lease"]}[mode]
    branch = new_name(given, "branch") if given.given("branch") else where_head_is(git)["branch"]
    if branch is None:
        raise ToolError("not_found", "HEAD is on no branch: branch says which one to push")
    where = f"refs/heads/{branch}:refs/heads/{branch}"
    git.out("push", "--porcelain", *flag, "--", name, where, reaching=True)
    return {"remote": name, "branch": branch}


def _known(git: Git, given: Members) -> str:
    """A remote that the repository has: git would take any other name for an address."""
    name = remote_name(given, "origin")
    if name not in git.out("remote").split():
        raise ToolError("not_found", f"the repository has no remote {name}; remote add makes one")
    return name
