"""A headless Chromium, spoken to over the pipe of its DevTools protocol: no port, no driver.

Debian's `chromium` package. The browser is started by the test, in a process group and a profile
folder of its own, and ended by the test.
"""

import base64
import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

_SECONDS: Final = 60
_FLAGS: Final = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--window-size=1100,900",
    "--remote-debugging-pipe",
)


def chromium() -> str | None:
    """The browser's program; None where the package is not installed."""
    return shutil.which("chromium")


class Page:
    """One tab. `evaluate` runs an expression in it; `screenshot` is a PNG of the whole page."""

    def __init__(self, requests: int, answers: int) -> None:
        self._requests = os.fdopen(requests, "wb", buffering=0)
        self._answers = os.fdopen(answers, "rb", buffering=0)
        self._left = b""
        self._number = 0
        self._session: str | None = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        self.call("Page.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command's result; what the browser tells of itself meanwhile is dropped."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        self._requests.write(json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return dict(answer["result"])

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._left:
            piece = self._answers.read(1 << 16)
            assert piece, "the browser has gone"
            self._left += piece
        message, self._left = self._left.split(b"\0", 1)
        return dict(json.loads(message))

    def open(self, path: Path, *, dark: bool = False) -> None:
        """Opens a file and waits until it is drawn."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call("Network.enable")
        self.call("Network.emulateNetworkConditions", offline=True, latency=0,
                  downloadThroughput=-1, uploadThroughput=-1)  # fmt: skip
        self.call("Page.navigate", url=path.as_uri())
        self.evaluate(
            "new Promise(r => { const f = () => document.readyState === 'complete' ? "
            "setTimeout(r, 300) : setTimeout(f, 20); f(); })"
        )

    def evaluate(self, expression: str) -> Any:
        """The value of an expression, awaited. An exception in it fails the test."""
        found = self.call(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def move_mouse(self, x: float, y: float) -> None:
        """Moves the pointer there, in CSS pixels, in two steps."""
        for at in (x - 1, x):
            self.call("Input.dispatchMouseEvent", type="mouseMoved", x=at, y=y)

    def screenshot(self, path: Path) -> Path:
        """Writes a PNG of the window."""
        shot = self.call("Page.captureScreenshot", format="png")
        path.write_bytes(base64.b64decode(shot["data"]))
        return path


@contextlib.contextmanager
def a_browser() -> Iterator[Page]:
    """A browser with one empty tab. It, and all that it started, is gone after the block."""
    program = chromium()
    assert program is not None
    to_browser, requests = os.pipe()
    answers, from_browser = os.pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        # The browser expects its pipe at descriptors 3 and 4.
        command = f'exec "$@" 3<&{to_browser} 4>&{from_browser}'
        process = subprocess.Popen(
            ["bash", "-c", command, "bash", program, *_FLAGS, f"--user-data-dir={profile}"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(to_browser, from_browser),
            start_new_session=True,
            env={"PATH": os.environ["PATH"], "HOME": profile},
        )
        os.close(to_browser)
        os.close(from_browser)
        # A browser that hangs ends the test: its end closes the pipe that is read from.
        previous = signal.signal(signal.SIGALRM, lambda *_: os.killpg(process.pid, signal.SIGKILL))
        signal.alarm(_SECONDS)
        try:
            yield Page(requests, answers)
        finally:
            signal.alarm(0)
            signal.signal(signal.SIGALRM, previous)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
