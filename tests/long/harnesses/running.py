"""Runs by a driver's plan: the real program with a scripted provider, and its stand-in."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from murmur_harness.contract import (
    FILES_DIR,
    Bridge,
    Event,
    ExitStatus,
    HarnessDriver,
    LaunchPlan,
    LaunchRequest,
    TurnEnd,
    TurnFailed,
)

from tests.harnesses.installing import install
from tests.long.harnesses.programs import Harness, Turns

SECONDS = 120


class Bench:
    """A home and a work folder in which the one program or the other runs."""

    def __init__(self, harness: Harness, folder: Path, bridge: Bridge) -> None:
        self.harness = harness
        self._bridge = bridge
        self._home = folder / "home"
        self._work = folder / "work"
        for each in (self._home, self._work):
            each.mkdir()
        harness.log_in(self._home)
        self._stand_ins = folder / "programs"
        install(self._stand_ins)
        self._runs = 0

    def log_out(self) -> None:
        """Nobody is logged in any more."""
        (self._home / self.harness.login).unlink()

    def with_provider(self, turns: Turns, request: LaunchRequest, stop: bool) -> list[Event]:
        """The real program's events; with `stop` it is interrupted once the model was asked."""
        harness = self.harness
        program = str(harness.real())
        with harness.serve(harness.turns(turns)) as server:

            def asked() -> bool:
                return stop and bool(server.requests)

            plan, driver = self._plan(request)
            args, env = harness.led(plan.args, server.url)
            return self._run([program, *args], env, plan, driver, asked)

    def with_script(self, turns: Turns, request: LaunchRequest, stop: bool) -> list[Event]:
        """The stand-in's, whose task is the script."""
        program = str(self._stand_ins / self.harness.binary)
        plan, driver = self._plan(replace(request, task=json.dumps(list(turns))))
        return self._run([program, *plan.args], {}, plan, driver, lambda: stop)

    def version(self) -> str:
        """What the real program says its version is."""
        command = [str(self.harness.real()), *self.harness.new_driver().describe().version_args]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=SECONDS)
        return done.stdout.strip()

    def _plan(self, request: LaunchRequest) -> tuple[LaunchPlan, HarnessDriver]:
        driver = self.harness.new_driver()
        asked = replace(
            request,
            bridge=self._bridge,
            model=self.harness.model,
            harness_version=driver.describe().tested_versions[0],
        )
        return driver.launch(asked), driver

    def _run(
        self,
        argv: list[str],
        env: Mapping[str, str],
        plan: LaunchPlan,
        driver: HarnessDriver,
        stop: Callable[[], bool],
    ) -> list[Event]:
        self._runs += 1
        files = self._home / f"files-{self._runs}"
        files.mkdir()
        for name, contents in plan.files:
            (files / name).write_text(contents)
        running = subprocess.Popen(
            [word.replace(FILES_DIR, str(files)) for word in argv],
            cwd=self._work,
            env={"HOME": str(self._home), "PATH": os.environ["PATH"], **env, **dict(plan.env)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        limit = threading.Timer(SECONDS, running.kill)
        limit.start()
        try:
            return _follow(running, plan, driver, stop)
        finally:
            limit.cancel()
            running.kill()
            running.wait()


def _follow(
    running: subprocess.Popen[bytes],
    plan: LaunchPlan,
    driver: HarnessDriver,
    stop: Callable[[], bool],
) -> list[Event]:
    assert running.stdin is not None and running.stdout is not None and running.stderr is not None
    errors: list[bytes] = []
    reader = threading.Thread(target=lambda: errors.append(running.stderr.read()))  # type: ignore[union-attr]
    reader.start()
    running.stdin.write(plan.stdin or b"")
    running.stdin.flush()
    if not plan.keep_stdin_open:
        running.stdin.close()
    over = threading.Event()
    stopper = threading.Thread(target=_stop, args=(running, plan, stop, over))
    stopper.start()
    events: list[Event] = []
    for line in running.stdout:
        events += driver.read(line.decode().rstrip("\n"))
        if events and isinstance(events[-1], TurnEnd | TurnFailed) and not running.stdin.closed:
            running.stdin.close()
    over.set()
    stopper.join()
    reader.join()
    code = running.wait()
    if not (events and isinstance(events[-1], TurnEnd | TurnFailed)):
        tail = errors[0].decode("utf-8", "replace")[-4000:]
        events.append(driver.classify_exit(ExitStatus(code, None, tail, interrupted=stop())))
    return events


def _stop(
    running: subprocess.Popen[bytes],
    plan: LaunchPlan,
    stop: Callable[[], bool],
    over: threading.Event,
) -> None:
    """Interrupts it as its driver says, a moment after there is something to interrupt."""
    while not over.wait(0.5):
        if stop():
            over.wait(1)
            if plan.interrupt_stdin is None:
                running.send_signal(signal.SIGINT)
            elif running.stdin is not None and not running.stdin.closed:
                running.stdin.write(plan.interrupt_stdin)
                running.stdin.flush()
            return
