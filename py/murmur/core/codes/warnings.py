"""Every `W-` code that is raised, with its text and link place. spec/diagnostics.md 5."""

from typing import Final

from murmur.core.diagnostics import Template

_RUNTIME: Final = "capsule-runtime"

WARNINGS: Final[dict[str, Template]] = {
    "W-BLD-001": Template(
        "{path}: requires_files names {entry}, which is packed anyway",
        "remove it from requires_files",
        url="none",
    ),
    "W-BLD-002": Template(
        "{path}: capsule.wasm is what runs; packed beside it and never run: {files}",
        "remove them from requires_files",
        url="none",
    ),
    "W-BLD-003": Template(
        "{path}: requires_files packs files of the build, not of the artifact: {files}",
        "list only what the artifact needs when it runs",
        url="none",
    ),
    "W-MAN-001": Template(
        "{file}: {old} is an old spelling and was read as {new}",
        origin="murmur-artifact",
        url="none",
    ),
    "W-REG-001": Template(
        "{artifact} is a native artifact with no recorded platform",
        url="below",
    ),
    "W-RUN-001": Template(
        "the answer was cut at inference.max_tokens ({cap}); it is a fragment",
        origin=_RUNTIME,
        url="below",
    ),
    "W-RUN-009": Template(
        "{choice}: nothing says how much it can read, so its conversation is never compacted",
        "set context.max_tokens",
        origin=_RUNTIME,
    ),
    "W-SEC-001": Template(
        "this system has no kernel sandbox: commands run with a home of their own, a stripped "
        "environment and resource limits, and nothing else",
        origin=_RUNTIME,
    ),
    "W-SEC-002": Template(
        "this kernel has no usable Landlock ({reason}): commands read and write what the operator "
        "can",
        origin=_RUNTIME,
    ),
    "W-SEC-004": Template(
        "{path}: {field} seems to hold a secret in plain text ({masked})",
        "store it with `mur config set -g credentials.<NAME> <value>` and write ${{NAME}} here",
    ),
    "W-SEC-005": Template(
        "commands run behind {mechanism}; what that leaves open: {exceptions}",
        origin=_RUNTIME,
    ),
    "W-SEC-007": Template(
        "{artifact}: network.allow entry {entry} lies outside capabilities.network.allow and is "
        "dropped",
        origin=_RUNTIME,
    ),
    "W-SEC-011": Template(
        "filesystem.workdir_exec is set: commands can run programs that they wrote into the work "
        "folder",
        origin=_RUNTIME,
    ),
    "W-SEC-019": Template("{finding}: {reason}", origin="murmur-artifact"),
    "W-SEC-021": Template(
        "the limit of {bytes_per_sec} bytes a second on disk I/O is not in force: {reason}",
        origin=_RUNTIME,
    ),
    "W-SEC-022": Template(
        "shell.allow is set, and the lifecycle is not queue with sleep: a command moved to the "
        "background is killed when the session ends",
        origin=_RUNTIME,
    ),
    "W-SEC-023": Template(
        "the running record could not be written ({reason}); the session is reachable by URL only",
        origin=_RUNTIME,
    ),
    "W-SEC-027": Template(
        "the key of {artifact} comes from {origin} and is read once; a new one needs a restart",
        "store it with `mur config set -g credentials.{name} <key>`",
        origin=_RUNTIME,
    ),
    "W-SEC-028": Template(
        "{path} holds keys and has mode {mode}: others on this machine may read it",
        "run `chmod 600 {path}`",
        origin=_RUNTIME,
    ),
    "W-SEC-030": Template(
        "{artifact} has a gateway of its own: what it spends counts towards no ceiling",
        origin=_RUNTIME,
    ),
    "W-SEC-032": Template(
        "the door listens on {address} without network.authentication: anyone who reaches it may "
        "call {methods} and read the agent card ({discloses})",
    ),
    "W-SEC-033": Template(
        "~/.murmur lies inside the work folder {workdir}: commands could reach murmur's own files",
        origin=_RUNTIME,
    ),
    "W-SEC-034": Template("{route} runs outside the containment class: {reason}", origin=_RUNTIME),
    "W-SEC-035": Template(
        "no usable cgroup hierarchy, and sandbox.cgroup is optional: commands run under rlimits "
        "alone ({reason})",
        origin=_RUNTIME,
        url="none",
    ),
    "W-SEC-036": Template(
        "native code in the work folder can be loaded by {binaries}: the work folder is not noexec",
        origin=_RUNTIME,
        url="none",
    ),
}
