"""pip and npm at work like that of `mur`: from local files, without any index or network.

Each function prepares and returns what is timed; Unmeasurable says what the program answered.
"""

import http.server
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.bench.timing import Unmeasurable, timed


def _run(argv: Sequence[str], cwd: Path) -> None:
    if shutil.which(argv[0]) is None:
        raise Unmeasurable(f"{argv[0]} is not installed")
    done = subprocess.run(
        argv,
        cwd=cwd,
        env={**os.environ, "HOME": str(cwd), "PIP_NO_INDEX": "1", "PIP_NO_CACHE_DIR": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=600,
    )
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise Unmeasurable(f"{argv[0]}: {lines[-1] if lines else done.returncode}")


def _pip(*words: str) -> list[str]:
    has_pip = importlib.util.find_spec("pip") is not None
    pip = [sys.executable, "-m", "pip"] if has_pip else ["pip"]
    return [*pip, "--disable-pip-version-check", *words]


def _wheel(folder: Path, name: str) -> Path:
    """A wheel of one module."""
    path = folder / f"{name}-1.0.0-py3-none-any.whl"
    info = f"{name}-1.0.0.dist-info"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(f"{name}.py", "x = 1\n")
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0.0\n")
        head = "Wheel-Version: 1.0\nGenerator: bench\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        wheel.writestr(f"{info}/WHEEL", head)
        wheel.writestr(f"{info}/RECORD", f"{name}.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n")
    return path


def pip_install(root: Path, count: int) -> Callable[[], float]:
    """That many wheels into a new folder."""
    folder = root / "pip-install"
    folder.mkdir()
    wheels = [str(_wheel(folder, f"tool_{number}")) for number in range(count)]
    target = folder / "target"

    def once() -> float:
        shutil.rmtree(target, ignore_errors=True)
        command = _pip("install", "--quiet", "--no-deps", "--target", str(target), *wheels)
        return timed(lambda: _run(command, folder))()

    return once


def pip_list(root: Path, count: int) -> Callable[[], float]:
    """A folder with that many distributions."""
    folder = root / "pip-list"
    for number in range(count):
        info = folder / "site" / f"tool_{number}-1.0.0.dist-info"
        info.mkdir(parents=True)
        text = f"Metadata-Version: 2.1\nName: tool_{number}\nVersion: 1.0.0\n"
        (info / "METADATA").write_text(text)
        (info / "INSTALLER").write_text("bench\n")
    return timed(lambda: _run(_pip("list", "--path", str(folder / "site")), folder))


def _package(name: str) -> dict[str, str]:
    return {"name": name, "version": "1.0.0", "description": f"Does {name}."}


def npm_install(root: Path, count: int) -> Callable[[], float]:
    """That many packed packages into a new project."""
    folder = root / "npm-install"
    folder.mkdir()
    tarballs = []
    for number in range(count):
        source = folder / f"tool-{number}"
        source.mkdir()
        (source / "package.json").write_text(json.dumps(_package(f"tool-{number}")))
        (source / "index.js").write_text("module.exports = 1\n")
    _run(["npm", "pack", "--silent", *(f"./tool-{n}" for n in range(count))], folder)
    tarballs = [f"../tool-{number}-1.0.0.tgz" for number in range(count)]
    project = folder / "project"

    def once() -> float:
        shutil.rmtree(project, ignore_errors=True)
        project.mkdir()
        (project / "package.json").write_text(json.dumps(_package("project")))
        flags = ["--offline", "--no-audit", "--no-fund", "--silent"]
        return timed(lambda: _run(["npm", "install", *flags, *tarballs], project))()

    return once


def npm_list(root: Path, count: int) -> Callable[[], float]:
    """A project with that many packages installed."""
    folder = root / "npm-list"
    folder.mkdir()
    names = [f"tool-{number}" for number in range(count)]
    wanted: Mapping[str, Any] = {"dependencies": dict.fromkeys(names, "1.0.0")}
    (folder / "package.json").write_text(json.dumps({**_package("project"), **wanted}))
    for name in names:
        package = folder / "node_modules" / name
        package.mkdir(parents=True)
        (package / "package.json").write_text(json.dumps(_package(name)))
    return timed(lambda: _run(["npm", "ls", "--offline"], folder))


def npm_search(root: Path, index: Mapping[str, Any]) -> Callable[[], float]:
    """A registry of ours on loopback that searches the same descriptions, for npm to ask.

    npm keeps no index of its own: what it is timed with is one request and its answer.
    """
    folder = root / "npm-search"
    folder.mkdir()
    packages: list[dict[str, Any]] = [
        {
            "package": _package(each["name"])
            | {
                "description": each["description"],
                "keywords": each["tags"],
                "date": "2020-01-01T00:00:00.000Z",
                "links": {},
                "publisher": {"username": "bench", "email": "bench@example.org"},
                "maintainers": [{"username": "bench", "email": "bench@example.org"}],
            }
        }
        for each in index["artifacts"]
    ]

    class Answers(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = [each for each in packages if "thing 7x" in each["package"]["description"]]
            body = json.dumps({"objects": found[:20], "total": len(found)}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    registry = f"--registry=http://127.0.0.1:{server.server_port}/"
    return timed(lambda: _run(["npm", "search", registry, "thing 7x"], folder))
