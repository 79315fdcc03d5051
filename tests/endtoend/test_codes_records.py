"""Each code about what a launch continues, and until when. spec/diagnostics.md 4.13 and 4.15.

One project, whose first session is there to be continued; every refusal leaves nothing behind.
"""

import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.endtoend.capsule import Place, replay
from tests.endtoend.ground import Case, Done, Ground, check_refused, check_warned

ARGUMENTS: dict[str, tuple[str, ...]] = {
    "E-CAP-011": ("--context", "a/b"),
    "E-RUN-015": ("--resume", "--context", "ctx_other"),
    "E-RUN-018": ("--resume", "--resume-mode", "compact"),
    "E-RUN-039": ("--context", "ctx_1", "--forget-session"),
    "E-TRC-002": ("--resume", "@7"),
}
FACTS = {
    "E-CAP-011": ("--context", "'a/b'", "holds a '/'"),
    "E-RUN-015": ("--resume and --context", "pass one"),
    "E-RUN-018": ("compact", "on-compaction", "--resume-mode full"),
    "E-RUN-039": ("--forget-session", "transport: http", "mur conversation rm"),
    "E-TRC-002": ("@7", "only 1", "workdir"),
}


@pytest.fixture(scope="module")
def ground(place: Place, tmp_path_factory: pytest.TempPathFactory) -> Ground:
    made = Ground(place, tmp_path_factory.mktemp("continued"))
    made.capsule()
    done = made.run("--context", "ctx_codes")
    assert done.returncode == 0, done.stderr
    return made


def sessions(ground: Ground) -> list[Path]:
    """Every records directory and work folder of the project, and every runtime directory."""
    murmur = ground.place.home / ".murmur"
    found = [*murmur.joinpath("records").rglob("ses_*"), *ground.folder.rglob("ses_*")]
    return sorted([*found, *(murmur / "sessions").iterdir()])


def refused(ground: Ground, code: str, facts: tuple[str, ...], run: Callable[[], Done]) -> None:
    before = sessions(ground)
    check_refused(Case(code, lambda _: run(), facts), run())
    assert sessions(ground) == before


@pytest.mark.parametrize("code", ARGUMENTS)
def test_a_launch_that_cannot_continue_is_refused(ground: Ground, code: str) -> None:
    refused(ground, code, FACTS[code], lambda: ground.run(*ARGUMENTS[code]))


def test_e_run_016_names_a_session_that_began_no_task(ground: Ground) -> None:
    session = "ses_019f01a940ce7761854e768ecbe3d399"
    trace = ground.write("copied/trace.jsonl", '{"event_type":"session_start"}\n')
    named = ground.write(
        "named/trace.jsonl", f'{{"event_type":"session_start","session_id":"{session}"}}\n'
    )
    refused(ground, "E-RUN-016", ("copied",), lambda: ground.run("--resume", str(trace)))
    refused(ground, "E-RUN-016", (session,), lambda: ground.run("--resume", str(named.parent)))


def test_e_run_017_says_why_there_is_nothing_to_continue(ground: Ground) -> None:
    line = '{"event_type":"task_start","context_id":"ctx_gone"}\n'
    trace = ground.write("gone/trace.jsonl", line + '{"torn')
    facts = ("gone", "ctx_gone", "no conversation", "record: on")
    refused(ground, "E-RUN-017", facts, lambda: ground.run("--resume", str(trace)))


def test_e_trc_001_names_the_line_of_a_trace_that_is_broken_before_its_first_task(
    ground: Ground,
) -> None:
    trace = ground.write("broken/trace.jsonl", 'nonsense\n{"event_type":"task_start"}\n')
    facts = ("broken", "line 1")
    refused(ground, "E-TRC-001", facts, lambda: ground.run("--resume", str(trace)))


def test_e_run_053_ends_a_launch_whose_deadline_passed_before_any_task(ground: Ground) -> None:
    done = ground.run("--deadline-at-ms", "1")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (1, "status:  deadline_reached")
    assert "error[E-RUN-053]: " in done.stderr and "(inherited)" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("--deadline", "0"),
        ("--deadline", "315360001"),
        ("--deadline", "soon"),
        ("--resume-mode", "half"),
        ("--forget-session",),
        ("--forget-session", "--context", "x", "--resume"),
    ],
)
def test_flags_that_make_no_sense_are_usage_errors(
    ground: Ground, arguments: tuple[str, ...]
) -> None:
    before = sessions(ground)
    done = ground.run(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Usage: " in done.stderr and sessions(ground) == before


def test_a_deadline_is_an_agent_capsule_s(ground: Ground) -> None:
    script = ground.write("script/murmur.yaml", "name: script\nversion: 0.1.0\n")
    run = ("run", "--manifest", str(script), "--deadline", "5")
    refused(ground, "E-IO-003", ("--deadline", "inference:"), lambda: ground.mur(*run))


def test_w_run_004_says_once_that_a_tool_s_calls_run_unchecked(ground: Ground) -> None:
    """A native tool whose `required` is no list; what it is does not matter to the check."""
    program = Path("/bin/true").read_bytes()
    archive = ground.folder / "loose-tool.mur.zip"
    manifest = {
        "name": "loose-tool",
        "version": "0.1.0",
        "runtime": "tool",
        "implementation": "native",
        "input_schema": {"type": "object", "required": "all"},
    }
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("murmur.yaml", yaml.safe_dump(manifest))
        info = zipfile.ZipInfo("bin/loose-tool")
        info.external_attr = 0o755 << 16
        packed.writestr(info, program)
    assert ground.mur("publish", str(archive)).returncode == 0
    call = {"name": "loose-tool", "input": {}}
    driver, editor = replay([{"tool_calls": [call, call]}, {"text": "done"}])["artifacts"]
    loose = {"name": "local/loose-tool", "version": "0.1.0", "runtime": "tool"}
    ground.capsule(artifacts=[driver, editor, loose])
    done = ground.run()
    check_warned(Case("W-RUN-004", lambda _: done, ("loose-tool", "required")), done)
    assert done.stderr.count("W-RUN-004]") == 1
