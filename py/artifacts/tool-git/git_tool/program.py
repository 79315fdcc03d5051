"""The host's git as this tool runs it: nothing that a repository says makes it run another program.

`Git` runs one command in one repository. What a repository's configuration could have git execute
is either overruled on the command line, or refused before (`refuse_programs`); hooks never run.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from murmur_tooling.members import ToolError

OUTPUT_CHARACTERS = 64 * 1024
"""Of a text that a result holds."""

_PROTOCOLS = ("http", "https", "ssh", "git", "file")
_OVERRULED = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.editor=:",
    "sequence.editor=:",
    "core.askPass=",
    "core.sshCommand=ssh",
    "core.quotePath=false",
    "credential.helper=",
    "commit.gpgSign=false",
    "tag.gpgSign=false",
    "tag.forceSignAnnotated=false",
    "push.gpgSign=false",
    "merge.verifySignatures=false",
    "log.showSignature=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
    "fetch.recurseSubmodules=false",
    "push.recurseSubmodules=no",
    "color.ui=false",
    "diff.noprefix=false",
    "diff.mnemonicPrefix=false",
    "protocol.allow=never",
    *(f"protocol.{name}.allow=always" for name in _PROTOCOLS),
)
# Git's own programs lie beside it and may not be executed, unless the manifest grants their folder.
# Told of no such folder, git finds `git` where the shell does: enough for all but remotes.
_NO_FOLDER = "--exec-path=/nonexistent"

_RUNS_PROGRAMS = re.compile(
    r"filter\..*\.(clean|smudge|process)"
    r"|merge\..*\.driver"
    r"|remote\..*\.(uploadpack|receivepack|vcs)"
    r"|submodule\..*\.update"
    r"|trailer\..*\.(command|cmd)"
    r"|core\.(gitproxy|alternaterefscommand)",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Finished:
    """A program's end. `exit_code` counts a signal as shells do."""

    exit_code: int
    stdout: str
    stderr: str
    truncated: bool = False


RunGit = Callable[[Sequence[str], bytes | None], Finished]
"""Runs git with arguments and standard input. Raises ToolError where it may not."""


@dataclass(frozen=True, slots=True)
class Author:
    """Who commits."""

    name: str
    email: str


class Git:
    """Git in one repository of the work folder, which `repo` names relative to it."""

    def __init__(
        self, run: RunGit, repo: str, author: Author | None = None, git_dir: str | None = None
    ) -> None:
        self._run = run
        self.repo = repo
        self._author = author
        self._git_dir = git_dir
        self._settings: frozenset[str] | None = None

    def in_folder(self, repo: str) -> "Git":
        """Git in another repository."""
        return Git(self._run, repo, self._author)

    def elsewhere(self, git_dir: str) -> "Git":
        """Git about the repository whose files are in `git_dir`, run in the work folder."""
        return Git(self._run, ".", self._author, git_dir)

    def __call__(
        self,
        *arguments: str,
        reaching: bool = False,
        literal: bool = True,
        given: bytes | None = None,
    ) -> Finished:
        """Run a command to its end, whatever that is.

        `reaching` says that it talks to a remote, `literal` that its paths are no patterns.
        """
        fixed = ["--no-pager", *(["--literal-pathspecs"] if literal else [])]
        if not reaching:
            fixed.append(_NO_FOLDER)
        settings = list(_OVERRULED)
        if self._author is not None:
            settings += [f"user.name={self._author.name}", f"user.email={self._author.email}"]
        for setting in settings:
            fixed += ["-c", setting]
        where = ["-C", self.repo] if self._git_dir is None else [f"--git-dir={self._git_dir}"]
        return self._run([*fixed, *where, *arguments], given)

    def out(
        self,
        *arguments: str,
        reaching: bool = False,
        literal: bool = True,
        given: bytes | None = None,
    ) -> str:
        """The output of a command that succeeds. Raises ToolError saying what git said."""
        finished = self(*arguments, reaching=reaching, literal=literal, given=given)
        if finished.exit_code:
            raise failure(finished)
        return finished.stdout

    def refuse_strange(self) -> None:
        """Raise ToolError for what is no repository of the work folder, or one that would have git
        run programs of its choice.
        """
        depth = self.repo.count("/") + 1 if self.repo != "." else 0
        climbs = self.out("rev-parse", "--show-cdup").count("../")
        if climbs > depth:
            raise ToolError(
                "not_a_repository",
                f"{self.repo} belongs to a repository above the work folder, which is out of reach",
            )
        for key in sorted(self.settings()):
            if _RUNS_PROGRAMS.fullmatch(key):
                raise ToolError(
                    "repository_runs_programs",
                    f"the configuration of {self.repo} has git run a program of its own ({key}); "
                    "this tool runs git alone. Remove the setting, or use git in a shell",
                )

    def refuse_nameless(self) -> None:
        """Raise ToolError `no_identity` where nobody is there to commit as."""
        if self._author is None and not {"user.name", "user.email"} <= self.settings():
            raise ToolError(
                "no_identity",
                "nobody is named as the author: the operator sets config.author {name, email} in "
                "this artifact's manifest entry, or the repository has user.name and user.email",
            )

    def settings(self) -> frozenset[str]:
        """The keys of the repository's configuration, sections and names in lower case."""
        if self._settings is None:
            listed = self.out("config", "--list", "--name-only", "-z")
            self._settings = frozenset(filter(None, listed.split("\0")))
        return self._settings


_KINDS = (
    ("not_a_repository", r"not a git repository|cannot change to"),
    ("programs_not_granted", r"cannot exec|Permission denied\b.*(git-|remote-)|shared libraries"),
    ("nothing_to_commit", r"nothing (added )?to commit|no changes added to commit"),
    ("conflict", r"CONFLICT|needs merge|unmerged|would be overwritten|conflict"),
    ("rejected", r"\[rejected\]|\[remote rejected\]|non-fast-forward|Not possible to fast-forward"),
    (
        "not_found",
        r"unknown revision|bad revision|did not match any|pathspec|invalid reference|not a valid"
        r"|[Nn]o such|does not exist|not found|couldn't find|does not appear to be|no upstream"
        r"|ambiguous argument|bad object|No stash entries|is not a commit|no tracking information",
    ),
    ("exists", r"already exists|already checked out|is already used"),
    ("network", r"unable to access|Could not resolve|Connection|could not read Username|timed out"),
    ("not_allowed", r"transport '.*' not allowed"),
)


def failure(finished: Finished) -> ToolError:
    """What a command that failed is told as: git's own words, and a kind as far as they say one."""
    said = "\n".join(filter(None, (finished.stderr.strip(), finished.stdout.strip())))
    said = shortened(said or f"git ended with status {finished.exit_code}", 4000)[0]
    kind = next((kind for kind, words in _KINDS if re.search(words, said)), "git_failed")
    if kind == "programs_not_granted":
        said += (
            "\nTo talk to a remote, git executes programs beside it (`git --exec-path`): the "
            "operator grants that folder by capabilities.shell.interpreter_runtime of git, and "
            "`sh` in capabilities.shell.allow for a repository on this machine"
        )
    return ToolError(kind, said)


def shortened(text: str, most: int = OUTPUT_CHARACTERS) -> tuple[str, bool]:
    """As much of a text as a result holds, and whether something is missing."""
    return text[:most], len(text) > most
