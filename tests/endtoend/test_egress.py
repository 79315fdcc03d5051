"""What a capsule's commands reach, seen from a whole run of `mur`. spec/containment.md 17."""

import http.server
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.endtoend.capsule import (
    TIMEOUT_SECONDS,
    Place,
    mur_command,
    read_trace,
    replay,
    shell_turn,
    write_manifest,
)


class Hello(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = f"hello from {self.headers['Host']}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def hello() -> Iterator[int]:
    """A web server on the host's loopback; its port."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hello) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


def run(
    place: Place, project: Path, allow: list[str], line: str, containment: str = "advisory"
) -> tuple[str, str]:
    """Runs one line of bash; the call's output, and what `mur` said on standard error."""
    capabilities = {"shell": {"allow": ["bash", "cat", "curl"]}, "network": {"allow": allow}}
    turns = [shell_turn("bash", line), {"text": "done"}]
    write_manifest(project, replay(turns, capabilities=capabilities, trace={"capture": "content"}))
    done = place.mur("run", "--verbose", "--task", "go", "--containment", containment, cwd=project)
    if any(f"error[{code}]" in done.stderr for code in ("E-CAP-003", "E-CAP-005", "E-RUN-012")):
        pytest.skip(f"this host cannot contain commands: {done.stderr.splitlines()[-2]}")
    assert done.returncode == 0, done.stderr
    where = next(line for line in done.stdout.splitlines() if line.startswith("records: "))
    trace = read_trace(Path(where.removeprefix("records: ")))
    calls = [event for event in trace if event["event_type"] == "tool_call"]
    return str(calls[0]["output"]), done.stderr


@pytest.mark.parametrize("containment", ["scoped", "sealed"])
def test_a_listed_port_of_this_host_is_reached_and_no_other(
    place: Place, project: Path, containment: str
) -> None:
    with hello() as listed, hello() as other:
        output, said = run(
            place,
            project,
            [f"localhost:{listed}"],
            f"curl -s http://localhost:{listed}/; echo; curl -sS http://127.0.0.1:{other}/; "
            "curl -sS http://unlisted.example.com/; cat /etc/resolv.conf",
            containment,
        )
    assert f"\nhello from localhost:{listed}\n" in output
    assert f"Failed to connect to 127.0.0.1 port {other}" in output
    assert "Could not resolve host: unlisted.example.com" in output
    assert "hello from 127" not in output
    assert "\nnameserver 127.0.0.1\n" in output
    assert "warning" not in said.replace("warning[", ""), said


def test_without_a_list_the_hosts_own_servers_are_out_of_reach(place: Place, project: Path) -> None:
    with hello() as port:
        output, _ = run(place, project, [], f"curl -sS http://127.0.0.1:{port}/")
    assert "Failed to connect" in output and "hello from" not in output


def test_a_resolver_that_does_not_answer_at_launch_is_told_and_ends_nothing(
    place: Place, project: Path
) -> None:
    unshare = shutil.which("unshare")
    if os.geteuid() != 0 or unshare is None:
        pytest.skip("needs root and unshare to give mur another resolv.conf")
    # Nothing listens there, so the answer is quick.
    (project / "resolv.conf").write_text("nameserver 127.0.0.77\n")
    capabilities = {
        "shell": {"allow": ["bash", "sleep"]},
        "network": {"allow": ["api.example.com"]},
    }
    turns = [shell_turn("bash", "sleep 1; echo went on"), {"text": "done"}]
    write_manifest(project, replay(turns, capabilities=capabilities, trace={"capture": "content"}))
    cover = 'mount --bind "$0" "$(readlink -f /etc/resolv.conf)" && exec "$@"'
    covered = [unshare, "--mount", "sh", "-c", cover, str(project / "resolv.conf")]
    done = subprocess.run(
        [*covered, *mur_command(), "run", "--verbose", "--task", "go"],
        cwd=project,
        env=dict(place.environ),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    if "error[E-CAP-005]" in done.stderr or "error[E-RUN-012]" in done.stderr:
        pytest.skip(f"this host cannot contain commands: {done.stderr.splitlines()[-2]}")
    assert done.returncode == 0, done.stderr
    line = (
        "[capsule-runtime] warning: the network allowlist host 'api.example.com' could not be "
        "resolved at launch: the resolver did not answer within 5s (a subprocess reaching it by "
        "literal address is denied for this run)"
    )
    assert done.stderr.splitlines().count(line) == 1, done.stderr
    where = next(line for line in done.stdout.splitlines() if line.startswith("records: "))
    records = Path(where.removeprefix("records: "))
    assert line in (records / "logs" / "bootstrap.log").read_text()
    calls = [event for event in read_trace(records) if event["event_type"] == "tool_call"]
    assert "\nwent on\n" in calls[0]["output"]


def test_a_list_with_more_ports_than_can_be_served_is_refused(place: Place, project: Path) -> None:
    allow = [f"a.example.com:{port}" for port in range(9000, 9017)]
    capabilities = {"shell": {"allow": ["bash"]}, "network": {"allow": allow}}
    write_manifest(project, replay([{"text": "x"}], capabilities=capabilities))
    done = place.mur("run", "--task", "go", cwd=project)
    assert done.returncode == 1
    assert "error[E-CAP-001]: the network entry 'a.example.com:9016'" in done.stderr
    assert "the list names 17 ports, and commands are served at most 16" in done.stderr
    assert not (project / "workdir").exists() and not (project / "murmur.lock").exists()
