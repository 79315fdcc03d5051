"""`mur topology` as a user types it."""

import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

from murmur.cli.tests.box import Box
from murmur.topology.tests.a_tempo import a_tempo, calling


def test_the_page_is_written_and_no_browser_opened(box: Box) -> None:
    with a_tempo(calling()) as answers:
        box.environment["MURMUR_OTEL_ENDPOINT"] = answers.base
        done = box.run("topology", "--output", "page.html", "--window", "6h")
    assert done.returncode == 0
    assert done.stdout == "murmur: topology written to page.html\n"
    assert done.stderr == "murmur: Tempo 2.6.1\n"
    assert '"capsule_name":"caller"' in (box.cwd / "page.html").read_text()


def test_an_empty_window_is_an_empty_page_and_a_hint(box: Box) -> None:
    with a_tempo({}) as answers:
        done = box.run("topology", "--otel-endpoint", answers.base, "--output", "page.html")
    assert done.returncode == 0
    assert "write-ahead log" in done.stderr
    assert "0 sessions" in (box.cwd / "page.html").read_text()


def test_each_refusal_has_its_code_and_writes_nothing(box: Box) -> None:
    arguments = ("topology", "--output", "page.html", "--otel-endpoint")
    with a_tempo(calling()) as answers:
        assert "--window" in box.refused("E-TOP-001", *arguments, answers.base, "--window", "1w")
        answers.fail["/status/buildinfo"] = 404  # so that nothing precedes the refusal
        answers.fail["/api/search"] = 500
        assert "HTTP 500" in box.refused("E-TOP-002", *arguments, answers.base)
        del answers.fail["/api/search"]
        answers.raw["/api/search"] = b"nope"
        assert "/api/search" in box.refused("E-TOP-003", *arguments, answers.base)
        del answers.raw["/api/search"]
        elsewhere = ("topology", "--otel-endpoint", answers.base, "--output", "no/page.html")
        assert "no/page.html" in box.refused("E-IO-003", *elsewhere)
    box.refused("E-TOP-001", *arguments, answers.base)
    assert not any(box.cwd.iterdir())
    assert "--otel-endpoint" in box.usage("topology")


def test_a_page_is_served_on_loopback_until_interrupted(box: Box, tmp_path: Path) -> None:
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > {tmp_path}/opened\n')
    browser.chmod(0o755)
    box.environment["BROWSER"] = str(browser)
    with a_tempo(calling()) as answers:
        arguments = ("topology", "--port", "0", "--otel-endpoint")
        served = subprocess.Popen(
            [sys.executable, "-m", "murmur.cli", *arguments, answers.base],
            cwd=box.cwd,
            env=box.environment,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            assert served.stderr is not None
            assert served.stderr.readline() == "murmur: Tempo 2.6.1\n"
            line = served.stderr.readline()
            assert line.startswith("murmur: serving topology at http://127.0.0.1:")
            url = line.split()[4]
            with urllib.request.urlopen(url, timeout=10) as answer:
                assert b"Murmur Topology" in answer.read()
            os.kill(served.pid, signal.SIGINT)
            assert served.wait(10) == 0
        finally:
            if served.poll() is None:
                served.kill()
                served.wait()
    assert (tmp_path / "opened").read_text() == url
