"""Runs the zygote without namespaces, as `sandbox.guests` does where a host has none."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PlainProcess:
    pid: int
    listener: socket.socket | None = None
    contained: bool = False
    reason: str | None = "test"


def plain_starter(argv: list[str], control: socket.socket) -> PlainProcess:
    """Descriptor 3 is the control socket, the environment is empty."""
    actions = [(os.POSIX_SPAWN_DUP2, control.fileno(), 3)]
    return PlainProcess(os.posix_spawn(argv[0], argv, {}, file_actions=actions))
