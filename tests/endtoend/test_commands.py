"""What the kernel refuses a capsule's commands, seen from a whole run."""

import socket
from pathlib import Path
from typing import Any

import pytest

from tests.endtoend.capsule import Place, read_trace, replay, shell_turn, write_manifest

SHELL: dict[str, Any] = {"shell": {"allow": ["bash", "cat", "python3"]}}


def _run(place: Place, project: Path, binary: str, command: str) -> dict[str, Any]:
    """Runs one shell call; its `tool_call` trace line with the output."""
    turns = [shell_turn(binary, command), {"text": "done"}]
    write_manifest(project, replay(turns, capabilities=SHELL, trace={"capture": "content"}))
    done = place.mur("run", "--verbose", "--task", "go", cwd=project)
    if "E-CAP-005" in done.stderr or "E-RUN-012" in done.stderr:
        pytest.skip(f"this host cannot contain commands: {done.stderr.splitlines()[-2]}")
    assert done.returncode == 0, done.stderr
    line = next(line for line in done.stdout.splitlines() if line.startswith("records: "))
    trace = read_trace(Path(line.removeprefix("records: ")))
    return next(event for event in trace if event["event_type"] == "tool_call")


def test_a_command_that_works_in_the_folder_works(place: Place, project: Path) -> None:
    call = _run(place, project, "bash", "echo hello > note && cat note")
    assert call["status"] == "ok"
    assert "Exit code: 0\nStdout:\nhello\n" in call["output"]
    assert call["output"].startswith("<untrusted-content source=tool:bash>\n$ echo hello")


def test_reading_etc_shadow_is_refused_by_the_kernel(place: Place, project: Path) -> None:
    call = _run(place, project, "cat", "/etc/shadow")
    assert "Exit code: 1" in call["output"]
    assert "Permission denied" in call["output"]
    assert "root:" not in call["output"]


def test_an_unlisted_binary_is_refused_by_the_kernel(place: Place, project: Path) -> None:
    call = _run(place, project, "bash", "/usr/bin/id")
    assert "Exit code: 126" in call["output"]
    assert "Permission denied" in call["output"]
    assert "uid=" not in call["output"]


def test_what_an_interpreter_answered_is_kept_privately_and_not_asked_again(
    place: Place, project: Path
) -> None:
    kept = place.home / ".murmur" / "host_facts"
    _run(place, project, "bash", "true")
    first = {each.name: each.stat().st_ino for each in kept.iterdir()}
    assert first, "python3 is in shell.allow"
    assert kept.stat().st_mode & 0o777 == 0o700
    _run(place, project, "bash", "true")
    assert {each.name: each.stat().st_ino for each in kept.iterdir()} == first


def test_connecting_out_is_refused_and_nothing_arrives(place: Place, project: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.2)
        port = listener.getsockname()[1]
        call = _run(place, project, "bash", f"exec 3<>/dev/tcp/127.0.0.1/{port} && echo through")
        assert "Connection refused" in call["output"]
        assert "through\n" not in call["output"].replace("echo through", "")
        with pytest.raises(TimeoutError):
            listener.accept()


def test_a_binary_that_is_no_tool_of_the_model_is_an_error_result(
    place: Place, project: Path
) -> None:
    call = _run(place, project, "id", "-u")
    assert call["status"] == "error"
    assert "tool 'id' is not declared in manifest allowlist" in call["output"]


def test_a_program_written_into_the_work_folder_cannot_be_run(place: Place, project: Path) -> None:
    call = _run(
        place,
        project,
        "bash",
        "printf '#!/usr/bin/bash\\necho ran' > p && chmod +x p; ./p; cat /usr/bin/cat > c; "
        "chmod +x c; ./c p",
    )
    assert "Permission denied" in call["output"]
    assert "\nran\n" not in call["output"]


def test_a_command_sees_its_own_home_and_none_of_the_hosts_secrets(
    place: Place, project: Path
) -> None:
    turns = [
        shell_turn("bash", "echo $HOME; echo key=$OPENAI_API_KEY; echo $TMPDIR"),
        {"text": "x"},
    ]
    write_manifest(project, replay(turns, capabilities=SHELL, trace={"capture": "content"}))
    done = place.mur(
        "run", "-v", "--task", "go", cwd=project, environ={"OPENAI_API_KEY": "sk-secret-value"}
    )
    if "E-CAP-005" in done.stderr or "E-RUN-012" in done.stderr:
        pytest.skip(f"this host cannot contain commands: {done.stderr.splitlines()[-2]}")
    line = next(line for line in done.stdout.splitlines() if line.startswith("records: "))
    records = Path(line.removeprefix("records: "))
    output = next(
        event["output"] for event in read_trace(records) if event["event_type"] == "tool_call"
    )
    assert f"{records}/home\nkey=\n" in output
    assert "sk-secret-value" not in output


def test_a_write_below_a_read_only_path_is_refused_before_it_runs(
    place: Place, project: Path
) -> None:
    granted = {**SHELL, "filesystem": {"read_only": ["tests"]}}
    turns = [shell_turn("bash", "mkdir tests && echo x > tests/a"), {"text": "done"}]
    write_manifest(project, replay(turns, capabilities=granted))
    done = place.mur("run", "--verbose", "--task", "go", cwd=project)
    if "E-CAP-005" in done.stderr or "E-RUN-012" in done.stderr:
        pytest.skip(f"this host cannot contain commands: {done.stderr.splitlines()[-2]}")
    assert done.returncode == 0, done.stderr
    assert "warning[W-SEC-017]" in done.stderr and "python3" in done.stderr
    line = next(line for line in done.stdout.splitlines() if line.startswith("records: "))
    kinds = [event["event_type"] for event in read_trace(Path(line.removeprefix("records: ")))]
    assert "protected_path_denied" in kinds and "shell" not in kinds and "tool_call" not in kinds
    workdir = next(line for line in done.stdout.splitlines() if line.startswith("workdir: "))
    assert not (Path(workdir.removeprefix("workdir: ")) / "tests").exists()
