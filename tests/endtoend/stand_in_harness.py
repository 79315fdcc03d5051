#!/usr/bin/env python3
"""A harness that does what its task says, for the driver in tests/probes.

Its task is a JSON list of steps, each `[what, argument...]`; it prints events, one JSON a line, and
keeps what the steps found. `["end"]` prints them all as the answer. It ends when its input does.
"""

import json
import os
import signal
import socket
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

seen: list[object] = []
calls = 0


def tell(**events: object) -> None:
    named = {kind.replace("_", "-"): value for kind, value in events.items()}
    print(json.dumps(named), flush=True)


def bridge(method: str, params: object, token: str | None = None) -> object:
    reached = json.loads(Path(os.environ["STAND_IN_FILES"], "bridge.json").read_text())["bridge"]
    request = urllib.request.Request(
        reached["url"],
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode(),
        {"Authorization": f"Bearer {token or reached['bearer_token']}"},
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def http(method: str, path: str, body: str) -> int:
    """The status of any request to the bridge."""
    reached = json.loads(Path(os.environ["STAND_IN_FILES"], "bridge.json").read_text())["bridge"]
    address = reached["url"].removesuffix("/bridge") + path
    authorized = {"Authorization": f"Bearer {reached['bearer_token']}"}
    data = body.encode() if method == "POST" else None
    request = urllib.request.Request(address, data, authorized, method=method)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as refused:
        return refused.code


def call(name: str, arguments: object) -> str:
    """Calls a tool as a model would have it called, and tells of it."""
    global calls
    calls += 1
    identifier = f"call_{calls}"
    tell(tool_call={"id": identifier, "name": name, "input": json.dumps(arguments)})
    answer = bridge("tools/call", {"name": name, "arguments": arguments})
    result = answer["result"]  # type: ignore[index]
    text = "".join(part.get("text", "") for part in result["content"])
    tell(tool_result={"id": identifier, "output": text, "is-error": result["isError"]})
    return text


def attempt(what: str, *given: object) -> object:
    try:
        return DOES[what](*given)
    except Exception as failure:
        return f"{type(failure).__name__}: {failure}"


def connect(host: str, port: int) -> str:
    with socket.create_connection((host, port), timeout=5):
        return "connected"


def write(path: str, text: str) -> str:
    Path(path).write_text(text)
    return "written"


def do(source: str) -> object:
    """What any code finds, under the name `found`."""
    names: dict[str, object] = {"bridge": bridge, "tell": tell}
    exec(source, names)
    return names.get("found")


DOES: dict[str, Callable[..., object]] = {
    "do": do,
    "say": lambda events: tell(**events),
    "print": lambda text: print(text, flush=True),
    "call": call,
    "bridge": bridge,
    "http": http,
    "connect": connect,
    "read": lambda path: Path(path).read_text(),
    "write": write,
    "list": lambda path: sorted(os.listdir(path)),
    "environ": lambda: dict(os.environ),
    "files": lambda: sorted(os.listdir(os.environ["STAND_IN_FILES"])),
    "sleep": time.sleep,
    "stderr": lambda text: print(text, file=sys.stderr, flush=True),
    "exit": lambda code: os._exit(code),
    "kill": lambda number: os.kill(os.getpid(), number),
    "ignore": lambda number: signal.signal(number, signal.SIG_IGN) and None,
    "run": lambda *argv: os.spawnv(os.P_WAIT, argv[0], argv),
}


def main() -> None:
    if sys.argv[1:] == ["--version"]:
        print(os.environ.get("STAND_IN_VERSION", "1.0.0"))
        return
    request = json.loads(sys.stdin.readline())
    session = request["session"]
    known = [session["id"]] if session["mode"] == "new" else remembered()
    if session["id"] not in known:
        print(f"asked for {session['id']}", file=sys.stderr)
        tell(turn_failed={"kind": "harness-error", "message": f"no session {session['id']}"})
        return
    remember(session["id"])
    tell(session_started={"id": session["id"], "auth": auth(), "model": request["model"]})
    lines = [line for line in request["task"].splitlines() if line.startswith("[[")]
    steps = json.loads(lines[-1]) if lines else [["end", request["task"]]]
    for what, *given in steps:
        if what == "end":
            tell(turn_end=given[0] if given else json.dumps(seen))
        elif what == "request":
            seen.append(request)
        elif what == "wait":
            wait()
        else:
            seen.append(attempt(what, *given))
    sys.stdin.read()  # until nobody writes any more


def wait() -> None:
    """Until it is told to stop."""
    while True:
        line = sys.stdin.readline()
        if not line or json.loads(line).get("interrupt"):
            tell(turn_failed={"kind": "canceled", "message": "interrupted"})
            os._exit(0)


def auth() -> str:
    return os.environ.get("STAND_IN_AUTH", "subscription")


def place() -> str:
    return os.environ.get("STAND_IN_HOME", "")


def remembered() -> list[str]:
    """The sessions that this harness knows, in a login folder of its own."""
    try:
        return Path(place(), "sessions").read_text().splitlines() if place() else []
    except OSError:
        return []


def remember(session: str) -> None:
    if place():
        with Path(place(), "sessions").open("a") as file:
            file.write(session + "\n")


if __name__ == "__main__":
    main()
