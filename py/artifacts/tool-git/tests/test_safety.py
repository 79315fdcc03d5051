"""tool-git: no input becomes an option or a program, and no repository makes git run one."""

from __future__ import annotations

import stat
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from git_tool import arguments
from git_tool.program import _OVERRULED
from hypothesis import given
from hypothesis import strategies as st
from murmur_tooling.members import Members, ToolError

if TYPE_CHECKING:
    from tests.conftest import Work


# What git would run on the way of one of the operations below.
OVERRULED = (
    "core.fsmonitor",
    "core.editor",
    "core.pager",
    "core.sshCommand",
    "core.askPass",
    "diff.external",
    "diff.x.command",
    "diff.x.textconv",
    "gpg.program",
    "credential.helper",
    "sequence.editor",
)


def test_a_hook_of_the_repository_never_runs(work: Work) -> None:
    work.committed(a="1")
    for name in ("pre-commit", "post-commit", "post-checkout", "pre-push", "post-merge"):
        hook = work.folder / "r/.git/hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch {work.folder}/ran-{name}\nexit 1\n")
        hook.chmod(hook.stat().st_mode | stat.S_IXUSR)
    work.git("-C", "r", "config", "core.hooksPath", str(work.folder / "r/.git/hooks"))

    work.committed(a="2")
    work.do("checkout", repo="r", branch="side", mode="create")

    assert list(work.folder.glob("ran-*")) == []


@pytest.mark.parametrize(
    ("key", "operation"),
    [
        ("filter.x.clean", "add"),
        ("filter.x.smudge", "restore"),
        ("merge.x.driver", "merge"),
        ("remote.origin.uploadpack", "fetch"),
        ("remote.origin.vcs", "fetch"),
        ("core.gitProxy", "fetch"),
        ("trailer.x.command", "commit"),
        ("submodule.x.update", "status"),
    ],
)
def test_a_repository_that_names_programs_is_refused(work: Work, key: str, operation: str) -> None:
    work.committed(a="1")
    (work.folder / "r/.gitattributes").write_text("* filter=x merge=x\n")
    work.git("-C", "r", "config", key, f"touch {work.folder}/ran")
    given: dict[str, dict[str, object]] = {
        "add": {"paths": ["."]},
        "restore": {"paths": ["a"]},
        "merge": {"branch": "main"},
        "commit": {"message": "x"},
    }
    members = given.get(operation, {})

    message = work.refused("repository_runs_programs", operation, repo="r", **members)

    assert key.lower() in message
    assert not (work.folder / "ran").exists()


def test_what_else_a_repository_may_name_is_overruled(work: Work) -> None:
    work.committed(a="1\n")
    work.write(a="2\n")
    (work.folder / "r/.gitattributes").write_text("* diff=x\n")
    program = work.folder / "program"
    program.write_text(f"#!/bin/sh\ntouch {work.folder}/ran\ncat\n")
    program.chmod(0o755)
    for key in OVERRULED:
        work.git("-C", "r", "config", key, str(program))
    for each in ("commit.gpgSign", "tag.gpgSign", "log.showSignature"):
        work.git("-C", "r", "config", each, "true")

    assert "+2" in work.do("diff", repo="r")["diff"]
    work.committed(a="3\n")
    for operation in ("status", "log", "show"):
        work.do(operation, repo="r")
    work.do("tag", repo="r", subcommand="create", name="v", message="m")
    work.do("stash", repo="r")
    with_remote = "ssh://nowhere.invalid/x"
    work.git("-C", "r", "remote", "add", "origin", with_remote)
    work.outcome("fetch", repo="r")

    assert not (work.folder / "ran").exists()


@pytest.mark.parametrize(
    ("operation", "members", "kind"),
    [
        ("clone", {"url": "ext::sh -c touch% ran", "dest": "c"}, "invalid_input"),
        ("clone", {"url": "ext::touch", "dest": "c"}, "not_allowed"),
        ("clone", {"url": "--upload-pack=touch", "dest": "c"}, "invalid_input"),
        ("clone", {"url": "-u", "dest": "c"}, "invalid_input"),
        ("clone", {"url": "file:///etc", "dest": "c"}, "not_allowed"),
        ("clone", {"url": "/etc", "dest": "c"}, "absolute_path"),
        ("clone", {"url": "../x", "dest": "c"}, "outside_workdir"),
        ("clone", {"url": "ssh://-oProxyCommand=x/y", "dest": "c"}, "invalid_input"),
        ("clone", {"url": "https://u:secret@h/x", "dest": "c"}, "not_allowed"),
        ("clone", {"url": "r", "dest": "/tmp/c"}, "absolute_path"),
        ("clone", {"url": "r", "dest": "a/../../c"}, "outside_workdir"),
        ("status", {"repo": "../elsewhere"}, "outside_workdir"),
        ("log", {"repo": "r", "ref": "--output=x"}, "invalid_input"),
        ("diff", {"repo": "r", "ref": "-O/etc/passwd"}, "invalid_input"),
        ("show", {"repo": "r", "ref": "--ext-diff"}, "invalid_input"),
        ("checkout", {"repo": "r", "ref": "--help"}, "invalid_input"),
        ("branch", {"repo": "r", "subcommand": "create", "name": "--edit"}, "invalid_input"),
        ("switch", {"repo": "r", "branch": "-c"}, "invalid_input"),
        ("fetch", {"repo": "r", "name": "--upload-pack=x"}, "invalid_input"),
        ("fetch", {"repo": "r", "name": "ext::x"}, "invalid_input"),
        ("push", {"repo": "r", "branch": "+main"}, "not_found"),
        ("push", {"repo": "r", "branch": "a:b"}, "not_found"),
        ("add", {"repo": "r", "paths": ["/etc/passwd"]}, "absolute_path"),
        ("add", {"repo": "r", "paths": ["../x"]}, "outside_workdir"),
    ],
)
def test_no_member_becomes_an_option_an_outside_path_or_a_program(
    work: Work, operation: str, members: dict[str, object], kind: str
) -> None:
    message = work.refused(kind, operation, **members)

    assert "secret" not in message
    assert sorted(each.name for each in work.folder.iterdir()) == ["r"]


def test_a_path_that_looks_like_an_option_or_a_pattern_is_a_path(work: Work) -> None:
    for name in ("--all", ":(top)x", "*"):
        (work.folder / "r" / name).write_text(name)
    work.write(other="x")

    assert work.do("add", repo="r", paths=["--all"])["staged"] == ["--all"]
    assert work.do("add", repo="r", paths=["*"])["staged"] == ["*", "--all"]
    work.do("add", repo="r", paths=[":(top)x"])
    work.do("commit", repo="r", message="odd names")
    assert work.do("status", repo="r")["entries"] == [{"path": "other", "untracked": True}]


def test_a_message_is_text_whatever_it_holds(work: Work) -> None:
    work.write(a="1")
    work.do("add", repo="r", paths=["a"])

    subject = work.do("commit", repo="r", message="--amend $(touch ran) `x`")["subject"]

    assert subject == "--amend $(touch ran) `x`"


def test_every_setting_that_is_overruled_comes_before_the_command(work: Work) -> None:
    work.do("status", repo="r")

    for arguments_of_one in work.ran:
        line = list(arguments_of_one)
        before = line[: line.index("-C")]
        assert [before[at + 1] for at, each in enumerate(before) if each == "-c"][
            : len(_OVERRULED)
        ] == list(_OVERRULED)
        assert "--literal-pathspecs" in before and "--no-pager" in before


TEXT = st.text(max_size=40) | st.from_regex(r"[-+:.~^@{}/a-z ]{0,12}")


@given(TEXT)
def test_whatever_passes_for_a_member_is_no_option(text: str) -> None:
    readers: tuple[Callable[[], str], ...] = (
        lambda: arguments.revision(Members({"ref": text}), "ref"),
        lambda: arguments.new_name(Members({"name": text}), "name"),
        lambda: arguments.remote_name(Members({"name": text})),
        lambda: arguments.address(Members({"url": text})),
    )
    for read in readers:
        try:
            value = read()
        except ToolError:
            continue
        assert value and not value.startswith("-") and "\n" not in value and "\0" not in value


@given(TEXT)
def test_whatever_passes_for_a_path_stays_below(text: str) -> None:
    try:
        value = arguments.path(Members({"path": text}), "path")
    except ToolError:
        return
    assert not value.startswith("/") and ".." not in value.split("/") and value
