"""Every `E-` code that is raised, with its text and hint. spec/diagnostics.md 4."""

from typing import Final

from murmur.core.diagnostics import Template

ERRORS: Final[dict[str, Template]] = {
    "E-BLD-001": Template("{name!r} is no artifact name: {reason}", "{hint}"),
    "E-BLD-002": Template("{entry!r} cannot be packed: {reason}", "{hint}"),
    "E-BLD-003": Template(
        "{reason}",
        "declare exactly one root .wasm in requires_files, or name the one to run capsule.wasm",
    ),
    "E-CAP-001": Template(
        "the network entry {entry!r} is not accepted: {reason}",
        "write host, host:port, http://host[:port] or https://host[:port]",
    ),
    "E-CAP-002": Template("{field}: the scope {scope!r} is refused: {reason}"),
    "E-CAP-003": Template(
        "the capsule demands the containment class {declared}, and this host achieves {achieved}: "
        "{reason}",
        "declare capabilities.containment: {achieved} or less, or use a host that provides "
        "{declared}",
    ),
    "E-CAP-005": Template(
        "this host cannot give the capsule's commands a network namespace of their own: {reason}",
        "{fix}; `mur doctor` shows what this host offers",
    ),
    "E-CAP-009": Template(
        "the state store {store!r} is refused: {reason}",
        "name one folder: not empty, without '/', not beginning with '.'; leave store out to use "
        "the capsule's name",
    ),
    "E-CAP-010": Template(
        "the config of {artifact} cannot be delivered: {reason}",
        "write a mapping with string keys, or leave config out for no variable; secrets belong in "
        "a gateway's api_key",
    ),
    "E-CAP-011": Template(
        "{field} {value!r} is refused: {reason}",
        "name one folder, or leave it out to get the default",
    ),
    "E-CAP-012": Template("the read_only path {path!r} is refused: {reason}"),
    "E-CAP-013": Template(
        "{artifact} has the name of a tool that the runtime itself provides; reserved are "
        "{reserved}",
        "rename the artifact, or drop it",
    ),
    "E-CAP-016": Template(
        "capabilities.env.allow names variables that never reach a capsule: {matches}",
        "remove them; a provider's key belongs in the driver entry's gateway.api_key",
    ),
    "E-CAP-018": Template(
        "{field}: the gateway of {artifact} to {endpoint} has no api_key",
        "set api_key: ${{NAME}}, or write keyless: true where the upstream takes no key",
    ),
    "E-CAP-020": Template(
        "{first} and {second} have one bare name, {bare}: the model could not tell them apart",
        "rename one of them, or drop it",
    ),
    "E-IO-001": Template("{what} not found at {path}", "{hint}"),
    "E-IO-002": Template("permission denied: {path}: {reason}"),
    "E-IO-003": Template("{what}: {reason}", "{hint}"),
    "E-IO-004": Template(
        "no home for murmur's own files: {found}{value}",
        "set HOME to the absolute path of a directory that you can write to",
    ),
    "E-MAN-001": Template("{at}: the required field {field} is missing", "add `{key}:` there"),
    "E-MAN-002": Template("{at}: not a YAML document that mur reads: {reason}"),
    "E-MAN-003": Template("{at}: {field}: {reason}", "{hint}"),
    "E-REG-001": Template("artifact {artifact} {reason}", "{hint}"),
    "E-REG-002": Template(
        "{artifact} is not what {recorded} recorded: expected sha256 {expected}, found {found}",
        "{hint}",
    ),
    "E-REG-003": Template(
        "{artifact} is already published",
        "publish under a new version, or remove the old one from the store",
    ),
    "E-REG-004": Template(
        "the version {version} is reserved", "publish under an explicit version such as 1.0.0"
    ),
    "E-REG-005": Template("{artifact} disagrees with murmur.lock: {reason}", "{hint}"),
    "E-REG-006": Template(
        "artifact {artifact} was not found, and not every source answered", "{hint}"
    ),
    "E-REG-007": Template(
        "{name!r} is no full artifact name",
        "write <scope>/<name>, for example murmur/tool-editor or local/my-tool",
    ),
    "E-RUN-001": Template("{artifact}: {reason}", "{hint}"),
    "E-RUN-003": Template("{what}: {reason}", "{hint}"),
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
    "E-RUN-025": Template(
        "{artifact} cannot be used with a gateway: {reason}",
        "install a release of the artifact that declares upstream_auth, or remove gateway: from "
        "its entry",
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
    "E-RUN-043": Template(
        "{artifact} was pinned by session {session} at run time, and is {role}",
        "run `mur install {artifact}` to adopt it, or undo that declaration",
    ),
    "E-RUN-052": Template("{choice}: {reason}", "{hint}"),
    "E-RUN-055": Template(
        "{choice}: no room is left for input: {numbers}",
        "lower the output cap (inference.max_tokens), or raise the window (context.max_tokens)",
    ),
    "E-TRC-001": Template("{file} is no trace that can be read: {reason}"),
    "E-WIT-LEVEL-001": Template(
        "{artifact} does not fit WIT level {level}: {reason}",
        "choose a version that is built against level {level}; `mur search` lists what fits",
    ),
}
