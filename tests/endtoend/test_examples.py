"""The capsules of examples/, each with a script in place of its model and nothing else changed."""

import json
import re
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from murmur.manifest.parse import load_capsule
from tests.endtoend.capsule import TIMEOUT_SECONDS, Place, read_trace

EXAMPLES = Path("examples").absolute()
MANIFESTS = sorted(EXAMPLES.rglob("murmur*.yaml"))
# Folder, and what it may reach.
ROW = re.compile(r"^\| `([\w-]+)` \|[^|]+\|([^|]+)\|", re.MULTILINE)
TABLE = dict(ROW.findall((EXAMPLES / "README.md").read_text()))
GRANTED = re.compile(r"^  shell allow:(?: <none>)?\n((?:    - .+\n)*)", re.MULTILINE)
# Programs are those of Debian, not of the environment that runs the tests.
HOST = {"PATH": "/usr/local/bin:/usr/bin:/bin"}
UNDER_WAY = ("TASK_STATE_SUBMITTED", "TASK_STATE_WORKING")
Turns = Sequence[Mapping[str, Any]]


def call(name: str, **given: Any) -> dict[str, Any]:
    return {"name": name, "input": given}


def edit(operation: str, **given: Any) -> dict[str, Any]:
    return call("tool-editor", operation=operation, **given)


def rehearse(manifest: Path, turns: Turns) -> None:
    """Puts driver-replay where the driver is; what the capsule is granted stays as it is."""
    text = manifest.read_text().replace("murmur/", "local/")
    whole = yaml.safe_load(text)
    driver = whole["artifacts"][0]
    assert driver["runtime"] == "driver" and whole["inference"]["driver"]["artifact"]
    whole["artifacts"][0] = {
        "name": "local/driver-replay",
        "version": "0.1.0",
        "runtime": "driver",
        "config": {"turns": [*turns]},
    }
    whole["inference"] |= {"model": "replay", "driver": {"artifact": "local/driver-replay"}}
    manifest.write_text(yaml.safe_dump(whole, sort_keys=False))


@pytest.fixture
def example(project: Path, request: pytest.FixtureRequest) -> Path:
    """A copy of the example that the test names, as a user has it."""
    shutil.copytree(EXAMPLES / request.param, project, dirs_exist_ok=True)
    return project


def named(name: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("example", [name], indirect=True)


def run(
    place: Place, example: Path, turns: Turns, warned: str = ""
) -> tuple[str, list[dict[str, Any]]]:
    """Runs a capsule on its work folder, which warns of `warned`; its answer and its trace."""
    rehearse(example / "murmur.yaml", turns)
    words = ("--json", "--workdir", "work", "--task", "go")
    environ = {**HOST, "GIT_CONFIG_NOSYSTEM": "1"}
    done = place.mur("run", *words, cwd=example, environ=environ)
    assert done.returncode == 0, done.stderr
    assert warned in done.stderr
    records = Path(json.loads(done.stdout.splitlines()[0])["records_dir"])
    trace = read_trace(records)
    return (records / "out" / "result.txt").read_text(), trace


def kinds(trace: Sequence[Mapping[str, Any]]) -> set[str]:
    return {line["event_type"] for line in trace}


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: str(path.relative_to(EXAMPLES)))
def test_an_example_loads_without_a_warning(path: Path) -> None:
    assert load_capsule(path.read_text(), path.name).warnings == ()


def test_the_table_of_examples_is_complete() -> None:
    assert sorted(TABLE) == sorted({path.relative_to(EXAMPLES).parts[0] for path in MANIFESTS})


@pytest.mark.parametrize("name", TABLE)
def test_an_example_reaches_the_programs_that_the_table_names_and_no_host(
    place: Place, project: Path, name: str
) -> None:
    shutil.copytree(EXAMPLES / name, project, dirs_exist_ok=True)
    manifest = min(project.rglob("murmur.yaml"))
    done = place.mur("run", "--explain-scope", cwd=manifest.parent, environ=HOST)
    assert done.returncode == 0, done.stderr
    assert "  network allow: <none>\n" in done.stdout
    granted = GRANTED.search(done.stdout)
    assert granted is not None
    words = re.findall(r"`([\w./-]+)`", TABLE[name])
    programs = {word for word in words if word != "scoped" and not word.endswith("/")}
    assert set(granted[1].replace("    - ", "").split()) == programs


@pytest.mark.parametrize("example", ["anthropic", "openai"], indirect=True)
def test_a_log_becomes_a_report_by_the_editor_alone(place: Place, example: Path) -> None:
    shutil.copytree(EXAMPLES / "quickstart" / "work", example / "work")
    turns: Turns = [
        {"tool_calls": [edit("find_in_files", pattern=" ERROR ")]},
        {
            "expect": "no space left on device",
            "tool_calls": [edit("write_file", dest_path="report.md", content="The disk is full.")],
        },
        {"text": "report.md is written."},
    ]
    answer, _ = run(place, example, turns)
    assert answer.strip() == "report.md is written."
    assert (example / "work" / "report.md").exists()


@named("review-pull-request")
def test_a_pull_request_is_reviewed_and_the_clone_stays_as_it_is(
    place: Place, example: Path
) -> None:
    repo = example / "work" / "repo"
    repo.mkdir(parents=True)
    git(repo, "init", "-q", "-b", "main")
    (repo / "divide.py").write_text("def share(sum, people):\n    return sum / people\n")
    commit(repo, "Share a sum")
    git(repo, "checkout", "-q", "-b", "pull-42")
    (repo / "divide.py").write_text("def share(sum, people):\n    return sum // people\n")
    commit(repo, "Whole numbers")
    review = "It loses up to a unit for each person: divide.py, line 2.\n"
    turns: Turns = [
        {"tool_calls": [call("git", command="-C repo diff main...pull-42")]},
        {
            "expect": r"\+    return sum // people",
            "tool_calls": [
                edit("read_file", path="repo/divide.py"),
                edit("write_file", dest_path="review.md", content=review),
                edit("write_file", dest_path="repo/divide.py", content="changed"),
            ],
        },
        {"expect": "repo", "text": "review.md is written."},
    ]
    answer, trace = run(place, example, turns)
    assert answer.strip() == "review.md is written."
    assert (example / "work" / "review.md").read_text() == review
    assert "sum // people" in (repo / "divide.py").read_text()
    assert "protected_path_denied" in kinds(trace)


def git(repo: Path, *words: str) -> str:
    command = ["git", "-C", str(repo), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    return subprocess.run([*command, *words], check=True, capture_output=True, text=True).stdout


def commit(repo: Path, message: str) -> None:
    git(repo, "add", ".")
    git(repo, "commit", "-q", "-m", message)


@named("fix-failing-test")
def test_a_failing_test_is_mended_in_the_code_and_not_in_the_test(
    place: Place, example: Path
) -> None:
    tests = example / "work" / "tests" / "test_slug.py"
    before = tests.read_text()
    run_tests = call("python3", command="-m unittest discover tests")
    turns: Turns = [
        {"tool_calls": [run_tests]},
        {
            "expect": "salt---pepper",
            "tool_calls": [edit("write_file", dest_path="tests/test_slug.py", content="")],
        },
        {"text": "I believe that the test is wrong."},
        {
            "expect": "salt---pepper",
            "tool_calls": [
                edit(
                    "replace_in_file",
                    dest_path="slug.py",
                    old_string="[^a-z0-9]",
                    new_string="[^a-z0-9]+",
                ),
                run_tests,
            ],
        },
        {"expect": r"OK", "text": "One sign was missing in slug.py."},
    ]
    answer, trace = run(place, example, turns, "warning[W-SEC-017]")
    assert answer.strip() == "One sign was missing in slug.py."
    assert tests.read_text() == before
    (begun,) = [line for line in trace if line["event_type"] == "session_start"]
    assert (begun["containment_declared"], begun["containment_achieved"]) == ("scoped", "scoped")
    (ended,) = [line for line in trace if line["event_type"] == "task_end"]
    assert (ended["exit_status"], ended["reopen_count"]) == ("ok", 1)


@named("summarise-pdfs")
def test_pdfs_are_summarised_from_what_a_program_makes_of_them(place: Place, example: Path) -> None:
    if shutil.which("pdftotext", path=HOST["PATH"]) is None:
        pytest.skip("no pdftotext: package poppler-utils")
    turns: Turns = [
        {"tool_calls": [edit("list_files", dir="papers")]},
        {
            "expect": r"bees\.pdf[\s\S]+kettles\.pdf",
            "tool_calls": [
                edit("write_file", dest_path="papers/bees.pdf", content=""),
                call("pdftotext", command="papers/bees.pdf bees.txt"),
                edit("read_file", path="bees.txt"),
            ],
        },
        {
            "expect": "31 of 40",
            "tool_calls": [
                edit("write_file", dest_path="summary.md", content="# bees.pdf\n\nBlue.\n")
            ],
        },
        {"text": "summary.md is written."},
    ]
    _, trace = run(place, example, turns)
    assert (example / "work" / "summary.md").read_text().startswith("# bees.pdf")
    assert sorted(path.name for path in (example / "work" / "papers").iterdir()) == [
        "bees.pdf",
        "kettles.pdf",
    ]
    assert (example / "work" / "papers" / "bees.pdf").stat().st_size > 0
    assert "protected_path_denied" in kinds(trace)


@named("handbook-service")
def test_a_service_answers_from_its_handbook_whoever_has_a_token(
    place: Place, example: Path
) -> None:
    turns: Turns = [
        {"tool_calls": [edit("find_in_files", pattern="laptop")]},
        {
            "expect": "four years",
            "tool_calls": [edit("write_file", dest_path="machines.md", content="")],
        },
        {"text": "Four years, says machines.md."},
        {"expect": "And a broken one", "text": "It is replaced the same day."},
    ]
    rehearse(example / "murmur.yaml", turns)
    running = place.start("--workdir", "work", cwd=example)
    try:
        assert httpx.get(running.url).status_code == 401
        session = running.ready["session_id"]
        token = place.mur("token", session, cwd=example).stdout.strip()
        first = ask(running.url, token, "How long does a laptop last?")
        assert said(first) == "Four years, says machines.md."
        second = ask(running.url, token, "And a broken one?", contextId=first["contextId"])
        assert said(second) == "It is replaced the same day."
        stopped = place.mur("stop", session, cwd=example)
        assert stopped.returncode == 0, stopped.stderr
        running.process.wait(timeout=60)
    finally:
        _, complaint = running.end()[1:]
    kept = (EXAMPLES / "handbook-service" / "work" / "handbook" / "machines.md").read_text()
    assert (example / "work" / "handbook" / "machines.md").read_text() == kept
    assert token not in complaint


def ask(url: str, token: str, text: str, **where: str) -> dict[str, Any]:
    """Sends a message and waits for its task."""
    headers = {"a2a-version": "1.0", "authorization": f"Bearer {token}"}

    def method(name: str, **params: Any) -> dict[str, Any]:
        body = {"jsonrpc": "2.0", "id": 1, "method": name, "params": params}
        answer = httpx.post(url, json=body, headers=headers, timeout=60).json()
        result: dict[str, Any] = answer["result"]
        return result

    message = {"messageId": text, "role": "ROLE_USER", "parts": [{"text": text}], **where}
    task: dict[str, Any] = method("SendMessage", message=message)["task"]
    end = time.monotonic() + TIMEOUT_SECONDS
    while task["status"]["state"] in UNDER_WAY and time.monotonic() < end:
        time.sleep(0.05)
        task = method("GetTask", id=task["id"])
    assert task["status"]["state"] == "TASK_STATE_COMPLETED", task
    return task


def said(task: Mapping[str, Any]) -> str:
    text: str = task["artifacts"][0]["parts"][0]["text"]
    return text


@named("compare-prompts")
def test_two_prompts_are_compared_by_what_they_leave(place: Place, example: Path) -> None:
    for arm, total in (("base", "1841.65"), ("step-by-step", "1751.65")):
        written = edit("write_file", dest_path="total.txt", content=f"{total}\n")
        turns: Turns = [
            {"tool_calls": [edit("read_file", path="march.csv")]},
            {"expect": "1290", "tool_calls": [written]},
            {"text": total},
        ]
        rehearse(example / arm / "murmur.yaml", turns)
    words = ("eval", "run", "base", "--variant", "step-by-step")
    done = place.mur(*words, cwd=example, environ=HOST)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("result: pass session:") == 2, done.stdout
    compared = place.mur("eval", "diff", "--run", "--workdir", "base/workdir", cwd=example)
    assert re.search(r"check +0/1 pass +1/1 pass +\+1", compared.stdout), compared.stdout
