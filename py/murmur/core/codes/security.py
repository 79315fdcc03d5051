"""The `W-SEC-` rows. spec/diagnostics.md 5.6."""

from typing import Final

from murmur.core.diagnostics import Template

_RUNTIME: Final = "capsule-runtime"

SECURITY: Final[dict[str, Template]] = {
    "W-SEC-001": Template(
        "this system has no kernel sandbox: commands run with a home of their own, a stripped "
        "environment and resource limits, and nothing else",
        origin=_RUNTIME,
        phase="launch",
    ),
    "W-SEC-002": Template(
        "this kernel has no usable Landlock ({reason}): commands read and write what the operator "
        "can",
        origin=_RUNTIME,
        phase="launch",
    ),
    "W-SEC-003": Template(
        "shell.allow holds bash, and nothing in this kernel keeps it from hosts outside "
        "network.allow",
        origin=_RUNTIME,
        phase="launch",
    ),
    "W-SEC-004": Template(
        "{path}: {field} seems to hold a secret in plain text ({masked})",
        "store it with `mur config set -g credentials.<NAME> <value>` and write ${{NAME}} here",
        phase="command",
    ),
    "W-SEC-005": Template(
        "commands run behind {mechanism}; what that leaves open: {exceptions}",
        origin=_RUNTIME,
        phase="launch",
    ),
    "W-SEC-006": Template(
        "the hook {artifact} declares {blocks}, which have no effect on a hook",
        origin=_RUNTIME,
        phase="staging",
    ),
    "W-SEC-007": Template(
        "{artifact}: network.allow entry {entry} lies outside capabilities.network.allow and is "
        "dropped",
        origin=_RUNTIME,
        phase="staging",
    ),
    "W-SEC-008": Template(
        "{artifact} declares {blocks}, which have no effect on it",
        origin=_RUNTIME,
        phase="staging",
    ),
    "W-SEC-009": Template(
        "{binary} may read further directories: {directories}",
        origin=_RUNTIME,
        phase="staging",
    ),
    "W-SEC-010": Template(
        "this system has no aggregate limit on memory, processes and I/O of the capsule's commands",
        origin=_RUNTIME,
        phase="launch",
    ),
    "W-SEC-011": Template(
        "filesystem.workdir_exec is set: commands can run programs that they wrote into the work "
        "folder",
        origin=_RUNTIME,
        phase="staging",
    ),
    "W-SEC-012": Template(
        "{binary}: its helper {helper} cannot be executed under sealed",
        origin=_RUNTIME,
        phase="staging",
    ),
    "W-SEC-013": Template(
        "kernel.apparmor_restrict_unprivileged_userns is 0: every program of this machine "
        "may make user namespaces",
        origin=_RUNTIME,
        phase="staging",
    ),
    "W-SEC-014": Template(
        "{field} has no effect for the whole capsule: it is granted on {entry} own entry",
        origin=_RUNTIME,
        phase="staging",
    ),
    "W-SEC-015": Template(
        "{artifact} is a native tool, and a native tool is given no config",
        origin=_RUNTIME,
        phase="staging",
    ),
    "W-SEC-016": Template(
        "capabilities.conversation at the top level has no effect: it is granted on a "
        "hook's own entry",
        origin=_RUNTIME,
        phase="staging",
    ),
    "W-SEC-017": Template(
        "read_only does not bind what {binary} runs: an interpreter writes by itself",
        origin=_RUNTIME,
        phase="staging",
    ),
    "W-SEC-018": Template(
        "{tool}: {properties}",
        origin=_RUNTIME,
        phase="staging",
    ),
    "W-SEC-019": Template(
        "{finding}: {reason}",
        origin="murmur-artifact",
        phase="parse",
    ),
    "W-SEC-021": Template(
        "the limit of {bytes_per_sec} bytes a second on disk I/O is not in force: {reason}",
        origin=_RUNTIME,
        phase="launch",
    ),
    "W-SEC-022": Template(
        "shell.allow is set, and the lifecycle is not queue with sleep: a command moved to the "
        "background is killed when the session ends",
        origin=_RUNTIME,
        phase="launch",
    ),
    "W-SEC-023": Template(
        "the running record could not be written ({reason}); the session is reachable by URL only",
        origin=_RUNTIME,
        phase="launch",
    ),
    "W-SEC-024": Template(
        "env.allow hands {name} to every guest, and it is named like a credential{clause} "
        "(a name looks like one when {rule})",
        origin=_RUNTIME,
        phase="staging",
    ),
    "W-SEC-025": Template(
        "the network.allow entry {entry} matches the gateway endpoint {endpoint}: the "
        "gateway does not need it, and it grants direct access without a key",
        origin=_RUNTIME,
        phase="staging",
    ),
    "W-SEC-027": Template(
        "the key of {artifact} comes from {origin} and is read once; a new one needs a restart",
        "store it with `mur config set -g credentials.{name} <key>`",
        origin=_RUNTIME,
        phase="staging",
    ),
    "W-SEC-028": Template(
        "{path} {holds} and has mode {mode}: others on this machine may read it",
        "run `{remedy}`",
        origin=_RUNTIME,
        phase="staging/command",
    ),
    "W-SEC-029": Template(
        "{binary} could not be asked for its helpers ({reason}); not checked: {helpers}",
        origin=_RUNTIME,
        phase="staging",
    ),
    "W-SEC-030": Template(
        "{artifact} has a gateway of its own: what it spends counts towards no ceiling",
        origin=_RUNTIME,
        phase="staging",
    ),
    "W-SEC-031": Template(
        "the harness is signed in by {auth}, not by a subscription",
        origin=_RUNTIME,
        phase="run",
    ),
    "W-SEC-032": Template(
        "the door listens on {address} without network.authentication: anyone who reaches it may "
        "call {methods} and read the agent card ({discloses})",
        phase="launch/command",
    ),
    "W-SEC-033": Template(
        "~/.murmur lies inside the work folder {workdir}: commands could reach murmur's own files",
        origin=_RUNTIME,
        phase="staging",
    ),
    "W-SEC-034": Template(
        "{route} runs outside the containment class: {reason}",
        origin=_RUNTIME,
        phase="staging",
    ),
    "W-SEC-035": Template(
        "no usable cgroup hierarchy, and sandbox.cgroup is optional: commands run under rlimits "
        "alone ({reason})",
        origin=_RUNTIME,
        url="none",
        phase="launch",
    ),
    "W-SEC-036": Template(
        "native code in the work folder can be loaded by {binaries}: the work folder is not noexec",
        origin=_RUNTIME,
        url="none",
        phase="staging",
    ),
}
