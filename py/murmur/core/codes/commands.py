"""The rows of every other `E-` family. spec/diagnostics.md 4."""

from typing import Final

from murmur.core.diagnostics import Template

COMMANDS: Final[dict[str, Template]] = {
    "E-BLD-001": Template(
        "{name!r} is no artifact name: {reason}",
        "{hint}",
        phase="command",
    ),
    "E-BLD-002": Template(
        "{entry!r} cannot be packed: {reason}",
        "{hint}",
        phase="command",
    ),
    "E-BLD-003": Template(
        "{reason}",
        "declare exactly one root .wasm in requires_files, or name the one to run capsule.wasm",
        phase="command",
    ),
    "E-BLD-008": Template(
        "{artifact}: {field}: {reason}",
        phase="command",
    ),
    "E-CFG-001": Template(
        "no inference provider is configured, and there is no terminal to ask on",
        "set one with `mur config set -g inference.provider <anthropic|openai>`, or export "
        "ANTHROPIC_API_KEY or OPENAI_API_KEY",
        phase="command",
    ),
    "E-CFG-002": Template(
        "{problem}",
        "{hint}",
        phase="command",
    ),
    "E-CNV-001": Template(
        "no conversation {name} in {place}",
        "`mur conversation ls` lists what is recorded",
        phase="command",
    ),
    "E-CNV-002": Template(
        "the context {context} stands in {count} record stores: {stores}",
        "pass --record <NAME>, for example --record {example}",
        phase="command",
    ),
    "E-CNV-003": Template(
        "--keep must be at least 1, and is {keep}",
        "`mur conversation rm` removes a whole record",
        phase="command",
    ),
    "E-DEPLOY-001": Template(
        "{flag}: {reason}",
        phase="command",
    ),
    "E-DEPLOY-003": Template(
        "{host}: {step} failed: {reason}",
        phase="command",
    ),
    "E-DEPLOY-004": Template(
        "the remote mur run printed no usable readiness line within {seconds} seconds",
        phase="command",
    ),
    "E-DEPLOY-006": Template(
        "mur {version} for {platform} could not be downloaded: {reason}",
        phase="command",
    ),
    "E-EVAL-001": Template(
        "{file}:{line}: {reason}",
        phase="command",
    ),
    "E-EVAL-002": Template(
        "{address}: {reason}",
        phase="command",
    ),
    "E-EVAL-003": Template(
        "case {case}: {field}: {reason}",
        phase="command",
    ),
    "E-EVAL-004": Template(
        "{subject}: {reason}",
        phase="command",
    ),
    "E-IDX-001": Template(
        "{file} cannot be indexed: {reason}",
        phase="command",
    ),
    "E-IDX-002": Template(
        "{source} is no artifact index of schema 2: {reason}",
        phase="command",
    ),
    "E-IDX-003": Template(
        "{value} cannot be used: {reason}",
        phase="command",
    ),
    "E-IO-001": Template(
        "{what} not found at {path}",
        "{hint}",
        phase="preflight/command",
    ),
    "E-IO-002": Template(
        "permission denied: {path}: {reason}",
        phase="preflight/command",
    ),
    "E-IO-003": Template(
        "{what}: {reason}",
        "{hint}",
        phase="preflight/staging/command",
    ),
    "E-IO-004": Template(
        "no home for murmur's own files: {found}{value}",
        "set HOME to the absolute path of a directory that you can write to",
        phase="preflight/command",
    ),
    "E-MAN-001": Template(
        "{at}: the required field {field} is missing",
        "add `{key}:` there",
        phase="parse",
    ),
    "E-MAN-002": Template(
        "{at}: not a YAML document that mur reads: {reason}",
        phase="parse",
    ),
    "E-MAN-003": Template(
        "{at}: {field}: {reason}",
        "{hint}",
        phase="parse/staging",
    ),
    "E-NEW-001": Template(
        "the generator wrote no out/murmur.yaml; what it answered: {answer}",
        phase="command",
    ),
    "E-NEW-002": Template(
        "{name!r} is no artifact name: {reason}",
        phase="command",
    ),
    "E-NEW-003": Template(
        "{path} exists already",
        "choose another name, or move it away",
        phase="command",
    ),
    "E-NEW-004": Template(
        "inference.provider is {provider}, and only anthropic and openai are known",
        "`mur config set -g inference.provider <anthropic|openai>`",
        phase="command",
    ),
    "E-NEW-005": Template(
        "--index local: the global store is no published artifact index",
        "name a URL or a file, or leave --index out",
        phase="command",
    ),
    "E-NEW-006": Template(
        "the artifact index {source} could not be read: {reason}",
        "pass --index with a URL or a file that can be read",
        phase="command",
    ),
    "E-NEW-007": Template(
        "{artifact}: the index {source} {reason}",
        phase="command",
    ),
    "E-REG-001": Template(
        "artifact {artifact} {reason}",
        "{hint}",
        phase="staging/command",
    ),
    "E-REG-002": Template(
        "{artifact} is not what {recorded} recorded: expected sha256 {expected}, found {found}",
        "{hint}",
        phase="staging/command",
    ),
    "E-REG-003": Template(
        "{artifact} is already published",
        "publish under a new version, or remove the old one from the store",
        phase="command",
    ),
    "E-REG-004": Template(
        "the version {version} is reserved",
        "publish under an explicit version such as 1.0.0",
        phase="command",
    ),
    "E-REG-005": Template(
        "{artifact} disagrees with murmur.lock: {reason}",
        "{hint}",
        phase="preflight/command",
    ),
    "E-REG-006": Template(
        "artifact {artifact} was not found, and not every source answered",
        "{hint}",
        phase="command",
    ),
    "E-REG-007": Template(
        "{name!r} is no full artifact name",
        "write <scope>/<name>, for example murmur/tool-editor or local/my-tool",
        phase="preflight/command",
    ),
    "E-ROS-001": Template(
        "{at}: {key}: {reason}",
        "{hint}",
        phase="parse",
    ),
    "E-ROS-002": Template(
        "{at}: {reason}",
        "mark exactly one member with entry: true",
        phase="parse",
    ),
    "E-ROS-003": Template(
        "{at}: two members are named {name}",
        "rename one; the same capsule may stand there twice",
        phase="parse",
    ),
    "E-ROS-004": Template(
        "{at}: the rule from {source} names {name}, which is no member",
        "add that member, or correct the name",
        phase="parse",
    ),
    "E-ROS-005": Template(
        "roster.yaml: {member} is called by others and does not accept tasks from peers",
        "declare exports.peer_tasks.accept: true and rebuild it, or drop the rule",
        phase="preflight",
    ),
    "E-ROS-006": Template(
        "roster.yaml: members reach each other, and {member} declares no network.authentication",
        "declare it and rebuild the capsule, or drop reachability; it excludes spawn.allow "
        "(E-MAN-003)",
        phase="preflight",
    ),
    "E-ROS-007": Template(
        "roster.yaml: {member}: {capsule} {reason}",
        "install it, or change the member's version",
        phase="preflight",
    ),
    "E-ROS-008": Template(
        "{at}: the rule from {source} lists the entry member {entry} in to",
        "drop it, or turn the edge around: the member that is called needs "
        "exports.peer_tasks.accept",
        phase="parse",
    ),
    "E-TOP-001": Template(
        "{what}: {reason}",
        phase="command",
    ),
    "E-TOP-002": Template(
        "{request} failed: {reason}",
        phase="command",
    ),
    "E-TOP-003": Template(
        "{request} answered what cannot be read: {reason}",
        phase="command",
    ),
    "E-TRC-001": Template(
        "{file} is no trace that can be read: {reason}",
        phase="command",
    ),
    "E-TRC-002": Template(
        "{address}: {reason}",
        phase="command",
    ),
    "E-WIT-LEVEL-001": Template(
        "{artifact} does not fit WIT level {level}: {reason}",
        "choose a version that is built against level {level}; `mur search` lists what fits",
        phase="command",
    ),
}
