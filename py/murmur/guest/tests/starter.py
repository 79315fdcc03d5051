"""Runs the zygote without namespaces, as `sandbox.guests` does where a host has none."""

from __future__ import annotations

import socket
import subprocess
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PlainProcess:
    pid: int
    process: subprocess.Popen[bytes]
    listener: socket.socket | None = None
    contained: bool = False
    reason: str | None = "test"


def plain_starter(argv: list[str], control: socket.socket) -> PlainProcess:
    """Descriptor 3 is the control socket, the environment is empty."""
    descriptor = control.fileno()
    shell = ["/bin/sh", "-c", f'exec "$@" 3<&{descriptor}', "sh", *argv]
    process = subprocess.Popen(shell, env={}, pass_fds=[descriptor])
    return PlainProcess(process.pid, process)
