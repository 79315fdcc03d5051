"""What ends or prevents a run, and what the commands on running sessions meet: the `E-RUN-` rows.

spec/diagnostics.md 4.13.
"""

from typing import Final

from murmur.core.diagnostics import Template

RUNS: Final[dict[str, Template]] = {
    "E-RUN-001": Template(
        "{artifact}: {reason}",
        "{hint}",
        phase="staging/run",
    ),
    "E-RUN-002": Template(
        "{artifact} imports {interface}, which is not linked",
        "declare the capability that brings it",
        phase="run",
    ),
    "E-RUN-003": Template(
        "{what}: {reason}",
        "{hint}",
        phase="preflight/staging",
    ),
    "E-RUN-004": Template(
        "{directory} holds no capsule.wasm and not exactly one other root .wasm: {found}",
        phase="preflight",
    ),
    "E-RUN-005": Template(
        "{file}: the agent capsule names no driver in inference.driver.artifact",
        "add inference.driver.artifact with the full name of an installed driver",
        phase="preflight",
    ),
    "E-RUN-006": Template(
        "{what}",
        "{hint}",
        phase="preflight/staging",
    ),
    "E-RUN-007": Template(
        "the agent loop failed: {reason}",
        phase="run",
    ),
    "E-RUN-008": Template(
        "not installed: {missing}",
        "{hint}",
        phase="preflight",
    ),
    "E-RUN-009": Template(
        "{field}: {path} cannot be read: {reason}",
        phase="launch",
    ),
    "E-RUN-010": Template(
        "network.internal_port {port} is taken on {host}",
        "set another port, or leave the field out to take any free one",
        phase="launch",
    ),
    "E-RUN-011": Template(
        "{binary} was ended at {field}: {detail}",
        "raise that field, or find what runs away",
        phase="run",
    ),
    "E-RUN-012": Template(
        "no cgroup can be made for the capsule's commands: {reason}",
        "delegate the controllers memory, pids, cpu and io to the user who runs mur "
        "(under systemd: `systemd-run --user --scope -p Delegate=yes mur run`; in a container: "
        "mount /sys/fs/cgroup writable), or let the operator set sandbox.cgroup: optional in "
        "~/.murmur/config.yaml",
        phase="launch",
    ),
    "E-RUN-013": Template(
        "the work folder holds {observed} bytes, and workdir_max_bytes allows {allowed}",
        "raise it, or find what writes so much",
        phase="run",
    ),
    "E-RUN-014": Template(
        "the sealed root of a command could not be built: {step}: {reason}",
        "look with `mur run --explain-scope` at what the host offers now",
        phase="run",
    ),
    "E-RUN-015": Template(
        "--resume and --context were both given",
        "pass one of them",
        phase="preflight",
    ),
    "E-RUN-016": Template(
        "session {session} began no task with a context id, so there is nothing to continue",
        "`mur trace show {session}` prints what it did",
        phase="preflight",
    ),
    "E-RUN-017": Template(
        "session {session} cannot be continued in context {context}: {reason}",
        "a session can be continued when it had an inference block and record: on",
        phase="staging",
    ),
    "E-RUN-018": Template(
        "--resume-mode {mode} needs a hook bound to on-compaction",
        "declare such a hook, or pass --resume-mode full",
        phase="staging",
    ),
    "E-RUN-019": Template(
        "mur-roost at {url} did not register this session: {reason}",
        "start mur-roost and set MURMUR_ROOST_URL, or drop spawn.allow",
        phase="launch",
    ),
    "E-RUN-020": Template(
        "{variable}: {reason}",
        "unset it to run directly",
        phase="preflight",
    ),
    "E-RUN-021": Template(
        "{artifact}: its binary is for {found}, and this host is {host}",
        "install it again on this host",
        phase="staging",
    ),
    "E-RUN-022": Template(
        "{address}: {reason}",
        "{hint}",
        phase="command",
    ),
    "E-RUN-023": Template(
        "the door {door}{session} did not answer: {reason}",
        "a capsule that is suspended or overloaded keeps its record; `mur ps` shows it",
        phase="command",
    ),
    "E-RUN-024": Template(
        "{what}: {reason}",
        "{hint}",
        phase="command",
    ),
    "E-RUN-025": Template(
        "{artifact} cannot be used with a gateway: {reason}",
        "install a release of the artifact that declares upstream_auth, or remove gateway: from "
        "its entry",
        phase="staging",
    ),
    "E-RUN-026": Template(
        "the spend ledger {path} cannot be used: {reason}",
        "mend the directory, or remove spend.machine_tokens_per_day",
        phase="staging",
    ),
    "E-RUN-027": Template(
        "the provider refused {artifact}'s credential with HTTP 401; the key came from {source}",
        "store a valid key with `mur config set -g credentials.<NAME> <key>` and start again",
        phase="run",
    ),
    "E-RUN-028": Template(
        "the running records in {path} cannot be read: {reason}",
        "nothing was listed or removed; look at who owns the directory",
        phase="command",
    ),
    "E-RUN-029": Template(
        "{artifact} {found}, and this mur serves {served}",
        "install a release that is built against {served}",
        phase="staging",
    ),
    "E-RUN-030": Template(
        "transport: http names the process driver {artifact}, which exports {interface}",
        "set inference.transport: process, or name an http driver",
        phase="staging",
    ),
    "E-RUN-032": Template(
        "the process driver {artifact} cannot be loaded: {reason}",
        "a process driver imports WASI alone",
        phase="staging",
    ),
    "E-RUN-033": Template(
        "the harness turn failed ({kind}): {message}",
        "{hint}",
        phase="run",
    ),
    "E-RUN-034": Template(
        "{artifact}: its {call} call failed: {reason}",
        "check inference.driver.config",
        phase="run",
    ),
    "E-RUN-035": Template(
        "the harness was silent for {seconds}s: no line and no tool call",
        "the trace says what it did last",
        phase="run",
    ),
    "E-RUN-036": Template(
        "{harness} could not continue its session {session} of context {context} (recorded "
        "in {map})",
        "run again with --context {context} --forget-session",
        phase="run",
    ),
    "E-RUN-037": Template(
        "--resume-mode compact does not apply to transport: {transport}",
        "pass --resume-mode full",
        phase="staging",
    ),
    "E-RUN-038": Template(
        "{driver} reports no usage, so these ceilings could not be kept: {ceilings}",
        "use another release of the driver, or drop the ceiling",
        phase="staging",
    ),
    "E-RUN-039": Template(
        "--forget-session does not apply to transport: {transport}",
        "`mur conversation rm` removes a conversation's record",
        phase="staging",
    ),
    "E-RUN-040": Template(
        "the task ended {status}: {reason}",
        "read out/result.txt in {records}, or run `mur trace show {session}`",
        phase="run",
    ),
    "E-RUN-041": Template(
        "the control token file {path} cannot be written: {reason}",
        "mend the directory, or remove control:",
        phase="launch",
    ),
    "E-RUN-042": Template(
        "session {session}: {reason}",
        phase="command",
    ),
    "E-RUN-043": Template(
        "{artifact} was pinned by session {session} at run time, and is {role}",
        "run `mur install {artifact}` to adopt it, or undo that declaration",
        phase="staging",
    ),
    "E-RUN-044": Template(
        "MURMUR_FORMATION_ID {reason}",
        "unset it",
        phase="preflight",
    ),
    "E-RUN-045": Template(
        "the formation did not come up",
        "run the failed member alone to see why",
        phase="launch",
    ),
    "E-RUN-046": Template(
        "{variable}: {reason}",
        "the launcher of a formation sets it; unset it",
        phase="preflight",
    ),
    "E-RUN-047": Template(
        "{capsule} is not what admission bound: expected sha256 {expected}, found {found}",
        "launch the formation again",
        phase="preflight",
    ),
    "E-RUN-048": Template(
        "session {session} has a public door and no token",
        "declare network.authentication",
        phase="command",
    ),
    "E-RUN-049": Template(
        "session {session} minted no credential {name}; it minted {minted}",
        phase="command",
    ),
    "E-RUN-050": Template(
        "{path} is no plain directory or file of the session, and nothing was removed there",
        phase="command",
    ),
    "E-RUN-052": Template(
        "{choice}: {reason}",
        "{hint}",
        phase="staging",
    ),
    "E-RUN-053": Template(
        "the deadline of {seconds} seconds ({source}) was reached",
        phase="run",
    ),
    "E-RUN-055": Template(
        "{choice}: no room is left for input: {numbers}",
        "lower the output cap (inference.max_tokens), or raise the window (context.max_tokens)",
        phase="staging",
    ),
    "E-RUN-056": Template(
        "session {session} is a script capsule and has no door",
        "`mur stop` ends it",
        phase="command",
    ),
    "E-RUN-062": Template(
        "{artifact}: {field}: {reason}",
        "update the artifact",
        phase="staging",
    ),
}
