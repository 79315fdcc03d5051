"""What holds for every registered command: help, usage errors, closed and full streams.

CLI reference, *Piped output*; spec/diagnostics.md 2 and 3.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from murmur.cli.main import COMMANDS, mur
from murmur.cli.tests.box import Box
from murmur.trace.tests.recording import captured, text_answer


def _below(command: click.Command, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    yield path
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from _below(found, (*path, name))


EVERY = list(_below(mur, ()))


def named(path: tuple[str, ...]) -> str:
    return " ".join(("mur", *path))


def closed(box: Box, *arguments: str, stderr: bool = False) -> subprocess.CompletedProcess[bytes]:
    """Runs `mur` with nobody reading its standard output (and standard error)."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        return subprocess.run(
            [sys.executable, "-m", "murmur.cli", *arguments],
            cwd=box.cwd,
            env=box.environment,
            stdin=subprocess.DEVNULL,
            stdout=writer,
            stderr=writer if stderr else subprocess.PIPE,
            timeout=60,
            check=False,
        )
    finally:
        os.close(writer)


def test_all_registered_commands_are_walked() -> None:
    assert {path[0] for path in EVERY if path} == set(COMMANDS)


@pytest.mark.parametrize("path", EVERY, ids=named)
def test_help_prints_its_usage_and_exits_0(box: Box, path: tuple[str, ...]) -> None:
    lines = box.ok(*path, "--help")
    assert lines[0].startswith(f"Usage: {named(path)}")
    assert box.ok(*path, "-h") == lines


@pytest.mark.parametrize("path", EVERY, ids=named)
def test_an_unknown_flag_is_a_usage_error(box: Box, path: tuple[str, ...]) -> None:
    complaint = box.usage(*path, "--no-such-flag")
    assert complaint.startswith(f"Usage: {named(path)}")
    assert "--no-such-flag" in complaint
    assert not any(box.cwd.iterdir()) and not (box.home / ".murmur").exists()


GROUPS = [path for path in EVERY if any(other[:-1] == path for other in EVERY if other)]


@pytest.mark.parametrize("path", GROUPS, ids=named)
def test_a_missing_or_unknown_subcommand_is_a_usage_error(box: Box, path: tuple[str, ...]) -> None:
    assert box.usage(*path).startswith(f"Usage: {named(path)}")
    assert "nonsense" in box.usage(*path, "nonsense")


@pytest.mark.parametrize("path", EVERY, ids=named)
def test_help_whose_reader_is_gone_still_exits_0(box: Box, path: tuple[str, ...]) -> None:
    done = closed(box, *path, "--help")
    assert (done.returncode, done.stderr) == (0, b"")


# One invocation that succeeds and prints, for each command that can without a session.
WORKING: dict[tuple[str, ...], tuple[str, ...]] = {
    ("build",): ("build", "tool"),
    ("publish",): ("publish", "made/my-tool-0.1.0.mur.zip"),
    ("install",): ("install", "-g", "--no-precompile", "made/my-tool-0.1.0.mur.zip"),
    ("list",): ("list", "-g"),
    ("search",): ("search", "", "--index", "local"),
    ("index",): ("index", "made", "--repo", "a/b", "--release", "v1"),
    ("version",): ("version", "--json"),
    ("config", "set"): ("config", "set", "-g", "credentials.KEY", "value"),
    ("beta", "list"): ("beta", "list"),
    ("beta", "enable"): ("beta", "enable", "x"),
    ("beta", "disable"): ("beta", "disable", "x"),
    ("schema",): ("schema",),
    ("ps",): ("ps",),
    ("conversation", "ls"): ("conversation", "ls", "--json"),
    ("conversation", "show"): ("conversation", "show", "ctx_1", "--json"),
    ("conversation", "truncate"): ("conversation", "truncate", "ctx_1", "--keep", "9"),
    ("conversation", "rm"): ("conversation", "rm", "ctx_1"),
    ("trace", "show"): ("trace", "show", "session/trace.jsonl"),
    ("trace", "steps"): ("trace", "steps", "session/trace.jsonl"),
    ("trace", "diff"): ("trace", "diff", "session/trace.jsonl", "session/trace.jsonl"),
    ("trace", "report"): ("trace", "report", "session/trace.jsonl"),
    ("trace", "list"): ("trace", "list", "--json"),
    ("trace", "script"): ("trace", "script", "session/trace.jsonl"),
}
# These start mur-sandbox, or are tested with whole runs in tests/endtoend.
WITH_HELPER: dict[tuple[str, ...], tuple[str, ...]] = {
    ("doctor",): ("doctor",),
    ("precompile",): ("precompile", "--json", "made/my-tool-0.1.0.mur.zip"),
}
ELSEWHERE = {
    ("run",),
    ("trace", "rm"),
    ("eval", "show"),
    ("eval", "diff"),
    ("eval", "run"),
    ("eval", "case"),
    ("topology",),
    ("token",),
    ("watch",),
    ("cancel",),
    ("stop",),
    ("control", "show"),
    ("control", "set"),
    ("control", "secret"),
    ("control", "forget"),
}


@pytest.fixture
def made(box: Box) -> Box:
    """A box with a tool, built once and in its source form."""
    tool = box.cwd / "tool"
    tool.mkdir()
    (tool / "murmur.yaml").write_text(
        "name: my-tool\nversion: 0.1.0\nruntime: tool\nrequires_files: [capsule.wasm]\n"
    )
    (tool / "capsule.wasm").write_bytes(b"\0asm\x0d\0\1\0")
    (box.cwd / "made").mkdir()
    captured(box.cwd / "session", text_answer("hello"))
    box.ok("build", "tool", "--output", "made/my-tool-0.1.0.mur.zip")
    return _with_conversation(box)


def _with_conversation(box: Box) -> Box:
    context = box.home / ".murmur" / "conversations" / "agent" / "ctx_1"
    context.mkdir(parents=True)
    (context / "conversation.jsonl").write_text('{"role":"user","content":"hello","id":"msg_1"}\n')
    return box


def test_every_command_has_an_invocation_here_or_is_tested_elsewhere() -> None:
    leaves = {path for path in EVERY if path not in GROUPS}
    assert leaves - ELSEWHERE == set(WORKING) | set(WITH_HELPER)


def files(box: Box) -> list[str]:
    return sorted(str(path.relative_to(box.home.parent)) for path in box.home.parent.rglob("*"))


@pytest.mark.parametrize("path", WORKING, ids=named)
def test_a_closed_reader_changes_neither_the_work_nor_the_status(
    made: Box, path: tuple[str, ...], tmp_path_factory: pytest.TempPathFactory
) -> None:
    done = closed(made, *WORKING[path], stderr=True)
    assert done.returncode == 0
    after = files(made)
    again = Box(tmp_path_factory.mktemp("open"))
    subprocess.run(["cp", "-r", f"{made.cwd}/.", str(again.cwd)], check=True)
    _with_conversation(again)
    for left in ("tool/my-tool-0.1.0.mur.zip",):
        Path(again.cwd, left).unlink(missing_ok=True)
    assert again.run(*WORKING[path]).returncode == 0
    assert files(again) == after


@pytest.mark.parametrize("path", WITH_HELPER, ids=named)
def test_a_closed_reader_changes_no_status_of_a_command_with_a_helper(
    made: Box, path: tuple[str, ...]
) -> None:
    helper = Path(os.environ.get("MURMUR_SANDBOX_HELPER", "no-helper-here"))
    made.environment["MURMUR_SANDBOX_HELPER"] = str(helper.absolute())
    (made.cwd / "murmur.yaml").write_text("name: c\nversion: 0.1.0\n")
    opened = made.run(*WITH_HELPER[path])
    assert opened.stdout and "Traceback" not in opened.stderr
    assert closed(made, *WITH_HELPER[path], stderr=True).returncode == opened.returncode


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no full device here")
@pytest.mark.parametrize("path", WORKING, ids=named)
def test_a_full_disk_under_a_command_that_worked_is_e_io_003(
    made: Box, path: tuple[str, ...]
) -> None:
    with open("/dev/full", "wb") as full:
        done = made.run(*WORKING[path], stdout=full)
    assert done.returncode == 1
    assert "error[E-IO-003]: failed to write to standard output: No space left" in done.stderr


def test_a_command_that_failed_keeps_its_own_error_on_a_full_disk(box: Box) -> None:
    with open("/dev/full", "wb") as full:
        done = box.run("build", "nowhere", stdout=full)
    assert done.returncode == 1
    assert done.stderr.startswith("error[E-IO-001]") and "E-IO-003" not in done.stderr


def test_errors_are_text_under_json_too_and_standard_output_stays_empty(box: Box) -> None:
    box.environment["HOME"] = "relative"
    box.refused("E-IO-004", "run", "--json")


def test_machine_readable_outputs_are_those_of_registered_commands() -> None:
    commands = json.loads(
        subprocess.run(
            [sys.executable, "-m", "murmur.cli", "version", "--json"],
            env={"PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            check=True,
        ).stdout
    )["commands"]
    assert list(commands) == sorted(commands)
    for spelling, number in commands.items():
        words = tuple(word for word in spelling.split() if not word.startswith("--"))
        assert words in EVERY and number >= 1
