"""How an install across a network ends: interrupted, killed, unread, on a terminal, in memory."""

import os
import pty
import random
import resource
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from murmur.core.safefs import open_root
from murmur.store.payload import open_payload
from murmur.store.stores import project_store

from .archives import skill, wasm
from .box import Box
from .github_server import GitHubServer, Handler

DEFAULTS = "murmur-nexus/default-artifacts"


def drip(handler: Handler) -> bool:
    """An answer that never ends, a little at a time."""
    handler.send_response(200)
    handler.send_header("Content-Length", "100000000")
    handler.end_headers()
    try:
        while True:
            handler.wfile.write(b"." * 1000)
            time.sleep(0.02)
    except OSError:
        return True


def start(box: Box, *arguments: str, **options: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "murmur.cli", *arguments],
        cwd=box.cwd,
        env=box.environment,
        stdin=subprocess.DEVNULL,
        stdout=options.get("stdout", subprocess.PIPE),
        stderr=options.get("stderr", subprocess.PIPE),
    )


def until_downloading(github: GitHubServer) -> None:
    deadline = time.monotonic() + 30
    while github.downloads() < 2:  # the index, then a payload
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, -15), (signal.SIGKILL, -9)]
)
def test_an_install_that_is_stopped_while_it_downloads_leaves_nothing_behind(
    box: Box, github: GitHubServer, tmp_path: Path, number: int, status: int
) -> None:
    github.publish(DEFAULTS, "v1", wasm("tool-git"), wasm("tool-b"))
    github.trouble("/blob/.*/10[01]", drip)
    box.declare("murmur/tool-git@1.0.0", "murmur/tool-b@1.0.0")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    box.environment["TMPDIR"] = str(temporary)
    before = box.files()
    process = start(box, "install", "--no-precompile")
    until_downloading(github)
    began = time.monotonic()
    process.send_signal(number)
    process.communicate(timeout=20)
    assert process.returncode == status
    assert time.monotonic() - began < 5  # no waiting for the transfers
    assert box.files() == before and list(temporary.iterdir()) == []


def test_a_reader_that_went_away_does_not_stop_an_install(box: Box, github: GitHubServer) -> None:
    github.publish(DEFAULTS, "v1", wasm("tool-git"))
    box.declare("murmur/tool-git@1.0.0")
    reader, writer = os.pipe()
    os.close(reader)
    process = start(box, "install", "--no-precompile", stdout=writer, stderr=writer)
    os.close(writer)
    assert process.wait(30) == 0
    assert len(box.lock().pins) == 1


def on_terminal(box: Box, *arguments: str) -> tuple[int, str, bytes]:
    """Runs `mur`, its standard error on a terminal; status, output, what the terminal saw."""
    ours, theirs = pty.openpty()
    process = start(box, *arguments, stderr=theirs)
    os.close(theirs)
    seen = b""
    while True:
        ready, _, _ = select.select([ours], [], [], 30)
        try:
            piece = os.read(ours, 65536) if ready else b""
        except OSError:
            piece = b""
        if not piece:
            break
        seen += piece
    os.close(ours)
    output, _ = process.communicate(timeout=30)
    return process.returncode, output.decode(), seen


def test_downloads_are_shown_on_a_terminal_alone_and_the_line_is_taken_away(
    box: Box, github: GitHubServer
) -> None:
    github.publish(DEFAULTS, "v1", wasm("tool-git"), skill("skill-x"))
    box.declare("murmur/tool-git@1.0.0", "murmur/skill-x@1.0.0")
    box.environment["TERM"] = "xterm"
    status, output, seen = on_terminal(box, "install", "--no-precompile")
    lines = "Installed murmur/tool-git@1.0.0 (project store)\n"
    lines += "Installed murmur/skill-x@1.0.0 (project store)\n"
    assert (status, output) == (0, lines)
    assert b"Fetching 0 of 2: " in seen and b"Fetching 2 of 2: " in seen
    assert seen.endswith(b"\r\x1b[K") and b"\n" not in seen
    # Nothing was left to fetch the second time, and a dumb terminal takes no line back.
    assert on_terminal(box, "install", "--no-precompile")[2] == b""
    box.environment["TERM"] = "dumb"
    assert on_terminal(box, "install", "-g", "--no-precompile", "murmur/skill-x")[2] == b""


def test_compiling_is_shown_on_a_terminal_alone_and_the_line_is_taken_away(
    box: Box, github: GitHubServer
) -> None:
    github.publish(DEFAULTS, "v1", wasm("tool-git"))
    box.declare("murmur/tool-git@1.0.0")
    box.environment["TERM"] = "xterm"
    status, output, seen = on_terminal(box, "install")
    assert (status, output) == (0, "Installed murmur/tool-git@1.0.0 (project store)\n")
    assert b"Compiling for this machine, 0 of 1 done: tool-git@1.0.0" in seen
    assert b"Compiling for this machine, 1 of 1 done" in seen
    assert seen.endswith(b"\r\x1b[K") and b"\n" not in seen
    box.environment["TERM"] = "dumb"
    assert on_terminal(box, "install")[2] == b""


def test_a_refusal_on_a_terminal_stands_on_a_line_of_its_own(
    box: Box, github: GitHubServer
) -> None:
    held = github.publish(DEFAULTS, "v1", wasm("tool-git"))
    held.releases["v1"]["tool-git-1.0.0.mur.zip"] = b"tampered"
    box.declare("murmur/tool-git@1.0.0")
    box.environment["TERM"] = "xterm"
    status, output, seen = on_terminal(box, "install", "--no-precompile")
    assert (status, output) == (1, "")
    assert b"\r\x1b[Kerror[E-REG-002]: murmur/tool-git@1.0.0" in seen


MEASURED = """
import re, sys
from murmur.cli.main import main
status = main(sys.argv[1:])
peak = re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())
print(peak[1])
sys.exit(status)
"""


def peak(box: Box, *arguments: str) -> int:
    """The most memory, in bytes, that a successful `mur` held."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *arguments],
        cwd=box.cwd,
        env=box.environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return int(done.stdout.splitlines()[-1]) * 1024


def test_memory_stays_flat_however_large_the_downloads_are(box: Box, github: GitHubServer) -> None:
    small = [wasm(f"small-{number}") for number in range(4)]
    padding = random.Random(1).randbytes(20 << 20)
    large = [wasm(f"large-{number}", padding=padding) for number in range(4)]
    github.publish(DEFAULTS, "v1", *small, *large)
    box.declare(*(f"murmur/small-{number}@1.0.0" for number in range(4)))
    little = peak(box, "install", "--no-precompile")
    box.declare(*(f"murmur/large-{number}@1.0.0" for number in range(4)))
    much = peak(box, "install", "--no-precompile")
    assert much - little < 24 << 20
    assert much < 64 << 20
    assert len(box.lock().pins) == 8


def test_what_was_fetched_is_compiled_unless_told_otherwise_and_a_failure_is_silent(
    box: Box, github: GitHubServer
) -> None:
    if "MURMUR_SANDBOX_HELPER" not in box.environment:
        pytest.skip("needs the helper")
    sound, broken = wasm("tool-sound", interface=None), wasm("tool-broken")
    github.publish(DEFAULTS, "v1", sound, broken, skill("skill-x"))
    references = [f"murmur/{name}@1.0.0" for name in ("tool-sound", "tool-broken", "skill-x")]
    box.declare(*references)
    done = box.run("install", timeout=120)
    lines = [f"Installed {reference} (project store)" for reference in references]
    assert (done.returncode, done.stderr, done.stdout.splitlines()) == (0, "", lines)
    with open_root(box.home / ".murmur" / "compiled") as compiled:
        kept = [name for name in compiled.list() if name.endswith(".cwasm")]
    sha256 = open_payload(sound[1], "x").sha256
    assert len(kept) == 1 and kept[0].startswith(sha256)
    # Already there: neither compiled again nor fetched again.
    form = box.home / ".murmur" / "compiled" / kept[0]
    before, asked = form.stat().st_mtime_ns, len(github.asked)
    assert box.run("install", timeout=120).returncode == 0
    assert (form.stat().st_mtime_ns, len(github.asked)) == (before, asked)


def test_what_one_home_installed_is_the_same_in_another(
    box: Box, github: GitHubServer, tmp_path: Path
) -> None:
    github.publish(DEFAULTS, "v1", wasm("tool-git"))
    box.declare("murmur/tool-git@1.0.0")
    box.install()
    (tmp_path / "second").mkdir()
    second = Box(tmp_path / "second", github)
    for name in ("murmur.yaml", "murmur.lock"):
        (second.cwd / name).write_bytes((box.cwd / name).read_bytes())
    second.install()
    assert (second.cwd / "murmur.lock").read_bytes() == (box.cwd / "murmur.lock").read_bytes()
    held = [sorted(project_store(each.cwd).root.rglob("*.zip")) for each in (box, second)]
    assert held[0][0].read_bytes() == held[1][0].read_bytes()


def test_many_artifacts_need_few_descriptors(box: Box, github: GitHubServer) -> None:
    names = [f"skill-{number}" for number in range(60)]
    github.publish(DEFAULTS, "v1", *map(skill, names))
    box.declare(*(f"murmur/{name}@1.0.0" for name in names))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard))
    try:
        process = start(box, "install", "--no-precompile")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    _, complaints = process.communicate(timeout=60)
    assert process.returncode == 0, complaints
    assert len(box.lock().pins) == 60


def test_a_project_install_keeps_the_host_facts_of_allowlisted_binaries(
    box: Box, github: GitHubServer
) -> None:
    github.publish(DEFAULTS, "v1", skill("skill-x"))
    text = (
        "name: capsule\nversion: 0.1.0\nruntime: capsule\ncapabilities:\n  shell: {allow: [%s]}\n"
    )
    manifest = box.cwd / "murmur.yaml"
    manifest.write_text(text % "cat, perl, no-such-binary")
    installed = "Installed murmur/skill-x@1.0.0 (project store)"
    done = box.run("install", "murmur/skill-x@1.0.0")
    assert done.stdout.splitlines() == [installed, "Kept host facts for 2 allowlisted binaries"]
    assert (done.returncode, done.stderr) == (0, "")
    facts = box.home / ".murmur" / "host_facts"
    assert len(list(facts.iterdir())) == 2 and facts.stat().st_mode & 0o777 == 0o700
    # One that is there already is kept, none is a line less; neither does -g nor --no-precompile.
    manifest.write_text(text % "cat")
    assert "Kept host facts for 1 allowlisted binary" in box.run("install").stdout
    manifest.write_text(text % "no-such-binary")
    assert box.run("install").stdout == ""
    manifest.write_text(text % "cat")
    assert "Kept" not in box.run("install", "--no-precompile").stdout
    assert "Kept" not in box.run("install", "-g", "murmur/skill-x@1.0.0").stdout
