"""The built artifacts under test, compiled once, and calls of them as the runtime makes them.

Bazel names each component by an environment variable (COMPONENT_DRIVER_REPLAY, ...). Without it
they are those of tools/dev/build_artifacts.py, below MURMUR_DEV.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from murmur.guest.calls import GateRules, GuestCall, Preopen, ToolInput, ToolResult
from murmur.guest.client import Guests


def component(name: str) -> Path:
    """A built component. One that was not built fails the test: there is nothing to skip."""
    named = os.environ.get(f"COMPONENT_{name.upper().replace('-', '_')}")
    if named is not None:
        # Bazel lays inputs out as links, and a component is never opened through one.
        return Path(named).resolve()
    folder = os.environ.get("MURMUR_DEV", os.path.join(tempfile.gettempdir(), "murdev"))
    path = Path(folder, "artifacts", name, "capsule.wasm")
    assert path.exists(), f"run tools/dev/build_artifacts.py {name} first"
    return path


@dataclass
class Called:
    """A call's result and the stream events on the way."""

    result: ToolResult
    events: list[tuple[str, dict[str, Any]]]

    @property
    def data(self) -> dict[str, Any]:
        """The result's JSON."""
        assert self.result.data is not None
        value: dict[str, Any] = json.loads(self.result.data)
        return value


@dataclass
class Artifact:
    """One compiled artifact in its guests."""

    name: str
    guests: Guests
    compiled: Path
    environment: Mapping[str, str] = field(default_factory=dict)

    def call(
        self,
        value: object,
        folder: Path | None = None,
        gate: GateRules | None = None,
        state: Path | None = None,
        **environment: str,
    ) -> Called:
        """Call `run` with `value` as JSON, `folder` as the guest's working directory and `state` as
        its durable store."""
        preopens = []
        events: list[tuple[str, dict[str, Any]]] = []
        try:
            for path, name in ((folder, "."), (state, "state")):
                if path is not None:
                    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
                    preopens.append(Preopen(descriptor, name))
            request = GuestCall(
                artifact=self.name,
                role="tool" if self.name.startswith("tool-") else "driver",
                compiled=self.compiled,
                key=self.name,
                input=ToolInput(json.dumps(value)),
                env=tuple({**self.environment, **environment}.items()),
                preopens=tuple(preopens),
                gate=gate,
            )
            result = self.guests.call(request, on_event=lambda *event: events.append(event))
        finally:
            for preopen in preopens:
                os.close(preopen.descriptor)
        assert isinstance(result, ToolResult), result
        return Called(result, events)


def compile_artifact(name: str, guests: Guests, folder: Path) -> Artifact:
    """Compile a component into `folder`."""
    path = folder / f"{name}.cwasm"
    target = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        guests.compile(component(name), target)
    finally:
        os.close(target)
    return Artifact(name, guests, path)
