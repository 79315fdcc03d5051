"""Every `E-` code that is raised, with its text and hint. spec/diagnostics.md 4."""

from typing import Final

from murmur.core.diagnostics import Template

ERRORS: Final[dict[str, Template]] = {
    "E-CAP-005": Template(
        "this host cannot give the capsule's commands a network namespace of their own: {reason}",
        "{fix}; `mur doctor` shows what this host offers",
    ),
    "E-IO-001": Template("{what} not found: {path}", "{hint}"),
    "E-IO-002": Template("permission denied: {path}: {reason}"),
    "E-IO-003": Template("{what}: {reason}", "{hint}"),
    "E-IO-004": Template(
        "no home for murmur's own files: {found}{value}",
        "set HOME to the absolute path of a directory that you can write to",
    ),
    "E-RUN-001": Template("{artifact}: {reason}", "{hint}"),
    "E-RUN-005": Template(
        "{file}: the agent capsule names no driver in inference.driver.artifact",
        "add inference.driver.artifact with the full name of an installed driver",
    ),
    "E-RUN-006": Template(
        "inference.driver.artifact names {driver}, which is not among the capsule's artifacts",
        "add an artifacts: entry with that name and runtime: driver",
    ),
    "E-RUN-007": Template("the agent loop failed: {reason}"),
    "E-RUN-008": Template("not installed: {missing}", "{hint}"),
    "E-RUN-009": Template("{field}: {path} cannot be read: {reason}"),
    "E-RUN-010": Template(
        "network.internal_port {port} is taken on {host}",
        "set another port, or leave the field out to take any free one",
    ),
    "E-RUN-012": Template(
        "no cgroup can be made for the capsule's commands: {reason}",
        "delegate the controllers memory, pids, cpu and io to the user who runs mur, "
        "or let the operator set sandbox.cgroup: optional in ~/.murmur/config.yaml",
    ),
    "E-RUN-013": Template(
        "the work folder holds {observed} bytes, and capabilities.resources.workdir_max_bytes "
        "allows {allowed}",
        "raise the limit, or find what writes so much",
    ),
    "E-RUN-027": Template(
        "the provider refused {artifact}'s credential with HTTP 401; the key came from {source}",
        "store a valid key with `mur config set -g credentials.<NAME> <key>` and start again",
    ),
    "E-RUN-029": Template(
        "{artifact} imports {found}, and this mur serves {served}",
        "install a release that is built against {served}",
    ),
    "E-RUN-040": Template(
        "the task ended {status}: {reason}",
        "read out/result.txt in {records}, or run `mur trace show {session}`",
    ),
}
