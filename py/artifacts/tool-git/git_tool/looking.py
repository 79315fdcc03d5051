"""Operations that change nothing: status, diff, log, show, symbol_history."""

import re
from typing import Any

from murmur_tooling.members import Members, invalid

from git_tool.arguments import optional_paths, optional_revision, path, revision
from git_tool.program import Git, shortened

ENTRIES_SHOWN = 1000
COMMITS_SHOWN = 200

# A repository's own settings may name programs for both.
_PLAIN = ("--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty")
_FIELD, _RECORD = "\x1f", "\x1e"
_FORMAT = "--format=" + _FIELD.join(("%H", "%P", "%an", "%ae", "%aI", "%D", "%s")) + _RECORD
_STATES = {
    "M": "modified",
    "T": "type_changed",
    "A": "added",
    "D": "deleted",
    "R": "renamed",
    "C": "copied",
    "U": "unmerged",
}


def status(git: Git, given: Members) -> dict[str, Any]:
    """The branch, and every path that differs: `staged` and `unstaged` say how."""
    text = git.out("status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all", _PLAIN[2])
    facts: dict[str, Any] = {"branch": None, "upstream": None, "ahead": 0, "behind": 0}
    entries: list[dict[str, Any]] = []
    fields = iter(text.split("\0"))
    for field in fields:
        if field.startswith("# branch.head "):
            head = field.removeprefix("# branch.head ")
            facts["branch"] = None if head == "(detached)" else head
        elif field.startswith("# branch.upstream "):
            facts["upstream"] = field.removeprefix("# branch.upstream ")
        elif field.startswith("# branch.ab "):
            ahead, behind = field.removeprefix("# branch.ab ").split()
            facts["ahead"], facts["behind"] = int(ahead), -int(behind)
        elif field and field[0] in "12u?":
            entries.append(_entry(field, next(fields) if field[0] == "2" else None))
    facts["clean"] = not entries
    facts["entries"] = entries[:ENTRIES_SHOWN]
    return {**facts, "truncated": len(entries) > ENTRIES_SHOWN}


def diff(git: Git, given: Members) -> dict[str, Any]:
    """A unified diff of the work tree (`unstaged`) or the index (`staged`), or with a revision."""
    mode = given.choice("mode", ("unstaged", "staged"), "unstaged")
    arguments = ["diff", *_PLAIN, *(["--cached"] if mode == "staged" else [])]
    arguments += [*optional_revision(given, "ref"), *_paths_or_end(given)]
    text, cut = shortened(git.out(*arguments))
    return {"diff": text, "truncated": cut}


def log(git: Git, given: Members) -> dict[str, Any]:
    """Commits, newest first."""
    most = given.whole("n", 20, 1, COMMITS_SHOWN)
    arguments = ["log", _FORMAT, f"--max-count={most}", *optional_revision(given, "ref")]
    return {"commits": _commits(git.out(*arguments, *_paths_or_end(given)))}


def show(git: Git, given: Members) -> dict[str, Any]:
    """A commit with its diff; with `path`, that file as it was in the revision."""
    ref = revision(given, "ref", "HEAD")
    if given.given("path"):
        name = path(given, "path")
        text, cut = shortened(git.out("show", *_PLAIN[:2], f"{ref}:./{name}"))
        return {"ref": ref, "path": name, "content": text, "truncated": cut}
    commits = _commits(git.out("log", _FORMAT, "--max-count=1", ref, "--"))
    if not commits:
        raise invalid(f"ref {ref} names no commit")
    message = git.out("log", "--format=%B", "--max-count=1", ref, "--").strip()
    text, cut = shortened(git.out("show", *_PLAIN, "--format=", ref, "--"))
    return {"ref": ref, **commits[0], "message": message, "diff": text, "truncated": cut}


def symbol_history(git: Git, given: Members) -> dict[str, Any]:
    """The commits that changed a function or class, each with its diff of that part.

    `symbol_id` is its name, or `path::name` as code indexes spell it; git finds the lines.
    """
    symbol = given.text("symbol_id")
    name = symbol
    file = path(given, "path") if given.given("path") else None
    if file is None:
        before, separator, name = symbol.partition("::")
        if not separator:
            raise invalid("path is missing: the file that holds the symbol")
        file = path(Members({"path": before}), "path")
    name = re.split(r"::|\.", name.rpartition("::")[2])[-1] or name
    if not name or not name.isprintable() or "\n" in name:
        raise invalid(f"symbol_id is {symbol!r}; it must be a name, or path::name")
    most = given.whole("n", 10, 1, COMMITS_SHOWN)
    # A word in a line that git takes for a heading of the file's language.
    pattern = rf"\b{re.escape(name)}\b".replace(":", r"\:").replace("/", r"\/")
    text = git.out(
        "log", f"--max-count={most}", f"-L:{pattern}:{file}", _FORMAT + "%n", *_PLAIN[:2]
    )
    commits = []
    for piece in re.split(r"(?m)^(?=[0-9a-f]{40}" + _FIELD + ")", text):
        record, separator, diff_text = piece.partition(_RECORD)
        if separator:
            shown, cut = shortened(diff_text.strip("\n"), 8000)
            commits.append({**_commits(record)[0], "diff": shown, "truncated": cut})
    return {"path": file, "symbol": name, "commits": commits}


def _commits(text: str) -> list[dict[str, Any]]:
    commits = []
    for record in text.split(_RECORD):
        fields = record.strip("\n").split(_FIELD)
        if len(fields) != 7:
            continue
        commit, parents, author, email, date, refs, subject = fields
        commits.append(
            {
                "commit": commit,
                "parents": parents.split(),
                "author": author,
                "email": email,
                "date": date,
                "refs": [ref for ref in refs.split(", ") if ref],
                "subject": subject,
            }
        )
    return commits


def _entry(field: str, original: str | None) -> dict[str, Any]:
    if field[0] == "?":
        return {"path": field[2:], "untracked": True}
    kind, states, *_ = field.split(" ", 2)
    # What stands between the two states and the path depends on the kind of entry.
    name = field.split(" ", {"1": 8, "2": 9, "u": 10}[kind])[-1]
    entry: dict[str, Any] = {"path": name}
    if kind == "u":
        return {**entry, "conflict": True}
    for key, state in zip(("staged", "unstaged"), states, strict=True):
        if state != ".":
            entry[key] = _STATES.get(state, state)
    return {**entry, "original_path": original} if original is not None else entry


def _paths_or_end(given: Members) -> list[str]:
    """The `--` without which git may take a revision for a path."""
    return optional_paths(given) or ["--"]
