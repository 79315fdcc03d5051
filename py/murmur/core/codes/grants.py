"""What a capsule may not be granted: the `E-CAP-` rows. spec/diagnostics.md 4.2."""

from typing import Final

from murmur.core.diagnostics import Template

GRANTS: Final[dict[str, Template]] = {
    "E-CAP-001": Template(
        "the network entry {entry!r} is not accepted: {reason}",
        "write host, host:port, http://host[:port] or https://host[:port]",
        phase="staging",
    ),
    "E-CAP-002": Template(
        "{field}: the scope {scope!r} is refused: {reason}",
        phase="staging",
    ),
    "E-CAP-003": Template(
        "the capsule demands the containment class {declared}, and this host achieves {achieved}: "
        "{reason}",
        "{fix}lower the floor to {achieved} in each place that raises it "
        "(capabilities.containment, containment in .murmur/config.yaml, --containment), or use "
        "a host that provides {declared}",
        phase="staging",
    ),
    "E-CAP-004": Template(
        "shell.staged_runtime needs the containment class sealed, and the floor in force "
        "is {floor}: {binaries}",
        "declare capabilities.containment: sealed or pass --containment sealed, or drop "
        "the grant; `mur run --explain-scope` shows the class",
        phase="staging",
    ),
    "E-CAP-005": Template(
        "this host cannot give the capsule's commands a network namespace of their own: {reason}",
        "{fix}; `mur doctor` shows what this host offers",
        phase="staging",
    ),
    "E-CAP-006": Template(
        "sealed commands cannot start these scripts: {entries}",
        "call each as a module of its interpreter where it has that form; else declare a "
        "shell.interpreter_runtime grant, and measure its directories with strace",
        phase="staging",
    ),
    "E-CAP-007": Template(
        "{field}: {value} resolves to {resolved}, outside the work folder {workdir}",
        "point the root at a folder inside the work folder; a link that leads out is refused whole",
        phase="staging",
    ),
    "E-CAP-008": Template(
        "exports.peer_files of a capsule that sleeps needs a max_ttl of at most {ceiling} "
        "seconds, and {declared}",
        "declare max_ttl: 15m or less, or drop lifecycle.after_task: sleep",
        phase="staging",
    ),
    "E-CAP-009": Template(
        "the state store {store!r} is refused: {reason}",
        "name one folder: not empty, without '/', not beginning with '.'; leave store out to use "
        "the capsule's name",
        phase="staging",
    ),
    "E-CAP-010": Template(
        "the config of {artifact} cannot be delivered: {reason}",
        "write a mapping with string keys, or leave config out for no variable; secrets belong in "
        "a gateway's api_key",
        phase="staging",
    ),
    "E-CAP-011": Template(
        "{field} {value!r} is refused: {reason}",
        "name one folder, or leave it out to get the default",
        phase="staging",
    ),
    "E-CAP-012": Template(
        "the read_only path {path!r} is refused: {reason}",
        phase="staging",
    ),
    "E-CAP-013": Template(
        "{artifact} has the name of a tool that the runtime itself provides; reserved are "
        "{reserved}",
        "rename the artifact, or drop it",
        phase="preflight",
    ),
    "E-CAP-014": Template(
        "{count} set neither in this shell nor in .env: {names}",
        "values are copied from the shell that launches: export them, or put them in the "
        "workspace's .env",
        phase="command",
        label=False,
    ),
    "E-CAP-015": Template(
        "{count} declared by a capsule whose spawner does not hold them",
        "a capsule may declare no env.allow name that its parent lacks",
        phase="command",
        label=False,
    ),
    "E-CAP-016": Template(
        "capabilities.env.allow names variables that never reach a capsule: {matches}",
        "remove them; a provider's key belongs in the driver entry's gateway.api_key",
        phase="staging",
    ),
    "E-CAP-017": Template(
        "{artifact} is a native tool, and its entry declares gateway:",
        "remove gateway: from the entry, or use a WASM build of the tool",
        phase="staging",
    ),
    "E-CAP-018": Template(
        "{field}: the gateway of {artifact} to {endpoint} has no api_key",
        "set api_key: ${{NAME}}, or write keyless: true where the upstream takes no key",
        phase="parse",
    ),
    "E-CAP-019": Template(
        "the driver {driver} needs variables that capabilities.env.allow does not list: {names}",
        "add them to capabilities.env.allow",
        phase="staging",
    ),
    "E-CAP-020": Template(
        "{first} and {second} have one bare name, {bare}: the model could not tell them apart",
        "rename one of them, or drop it",
        phase="preflight",
    ),
    "E-CAP-021": Template(
        "the harness of {driver} needs {need}, which the capsule does not allow",
        "allow it under {field}",
        phase="staging",
    ),
}
