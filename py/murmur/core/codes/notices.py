"""The rows of every other `W-` family. spec/diagnostics.md 5."""

from typing import Final

from murmur.core.diagnostics import Template

_RUNTIME: Final = "capsule-runtime"

NOTICES: Final[dict[str, Template]] = {
    "W-BLD-001": Template(
        "{path}: requires_files names {entry}, which is packed anyway",
        "remove it from requires_files",
        url="none",
        phase="command",
    ),
    "W-BLD-002": Template(
        "{path}: capsule.wasm is what runs; packed beside it and never run: {files}",
        "remove them from requires_files",
        url="none",
        phase="command",
    ),
    "W-BLD-003": Template(
        "{path}: requires_files packs files of the build, not of the artifact: {files}",
        "list only what the artifact needs when it runs",
        url="none",
        phase="command",
    ),
    "W-DEPLOY-001": Template(
        "the target will compile at its first launch: {reason}",
        url="none",
        phase="command",
    ),
    "W-DEPLOY-002": Template(
        "the target unpacks at most {theirs} bytes an entry, this machine {ours}",
        "pass --env {setting}",
        url="none",
        phase="command",
    ),
    "W-MAN-001": Template(
        "{file}: {old} is an old spelling and was read as {new}",
        origin="murmur-artifact",
        url="none",
        phase="parse",
    ),
    "W-REG-001": Template(
        "{artifact} is a native artifact with no recorded platform",
        url="below",
        phase="preflight/command",
    ),
    "W-REG-002": Template(
        "{count} could not be inspected: {names}",
        url="below",
        phase="command",
    ),
    "W-REG-003": Template(
        "{artifact} is built against {interface}, and this mur serves {served}",
        phase="command",
    ),
    "W-ROS-001": Template(
        "{callee} may be called by {callers} at once ({names}) and holds {capacity} under "
        "{acceptance}; {consequence}",
        phase="launch",
    ),
    "W-RUN-001": Template(
        "the answer was cut at inference.max_tokens ({cap}); it is a fragment",
        origin=_RUNTIME,
        url="below",
        phase="run",
    ),
    "W-RUN-002": Template(
        "{harness}: {reason}; the driver was tested with {tested}",
        origin=_RUNTIME,
        url="below",
        phase="run",
    ),
    "W-RUN-003": Template(
        "the choice {choice} ({driver}, {model}) is not available: {variable} is set nowhere",
        origin=_RUNTIME,
        phase="launch",
    ),
    "W-RUN-004": Template(
        "{tool}: {fault}; its calls run unchecked",
        origin=_RUNTIME,
        phase="run",
    ),
    "W-RUN-007": Template(
        "this session belongs to formation {formation} and nothing ends it with its "
        "launcher; end it with `mur stop {formation}`",
        phase="launch",
    ),
    "W-RUN-008": Template(
        "{member} may call {callees}, and its network.allow reaches localhost on no port",
        "add localhost to its capabilities.network.allow",
        origin=_RUNTIME,
        phase="staging",
    ),
    "W-RUN-009": Template(
        "{choice}: nothing says how much it can read, so its conversation is never compacted",
        "set context.max_tokens",
        origin=_RUNTIME,
        phase="launch",
    ),
}
