"""What a harness may do, and the session that it runs in. spec/containment.md 8, 14.3 and 16.

It is contained as a command is, in namespaces of its own: beside the session's folders it reads its
program, what `harness/needs.py` grants it, and the files that its driver wrote for it, which no
other command may; it reaches the hosts granted there and, on loopback, the capsule's tools alone.
It starts no program but itself and the interpreter of a script that it is.
"""

import dataclasses
import os
from typing import TYPE_CHECKING, Final

from murmur.sandbox.policy import Demands
from murmur.sandbox.session import open_session
from murmur.session.command_policy import session_policy
from murmur.session.demands import command_demands
from murmur.session.egress import open_egress
from murmur.session.harness.load import LoadedHarness
from murmur.session.harness.program import interpreter_names, program_folder, programs
from murmur.session.stage import Staged

if TYPE_CHECKING:
    from murmur.sandbox.cgroup import Scope
    from murmur.sandbox.plain import PlainSession
    from murmur.sandbox.session import CommandSession

HARNESS: Final = "harness"
"""The folder of a harness's files, in the runtime directory."""


def open_harness_session(
    staged: Staged, loaded: LoadedHarness, scope: "Scope | None"
) -> "CommandSession | PlainSession":
    """The session of all runs of the harness, within the capsule's `scope`; on the event loop.

    Raises E-IO-003 as `session_policy` does.
    """
    staged.directories.runtime_root.sub(HARNESS, create=True, mode=0o700).close()
    policy = session_policy(staged, _demands(staged, loaded))
    egress = open_egress(staged, loaded.grants.hosts)
    return open_session(policy, scope, staged.containment.helper, egress)


def harness_environment(staged: Staged, loaded: LoadedHarness) -> dict[str, str]:
    """The harness's environment but for what its driver sets. spec/artifacts.md 13.2.

    Nothing in it is the runtime's own but `MURMUR_RUNTIME_DIR`, which wins over both.
    """
    host = staged.prepared.launch.environ
    return {
        name: host[name]
        for name in loaded.env_allow
        if name in host and not name.startswith("MURMUR_")
    }


def _demands(staged: Staged, loaded: LoadedHarness) -> Demands:
    """Those of commands, without their programs, and with the harness's own."""
    launch = staged.prepared.launch
    common = command_demands(
        staged.capsule, staged.containment, staged.prepared.config, launch.home, ()
    )
    own = (str(launch.home.root.parent), str(launch.home.root), str(staged.directories.work))
    return dataclasses.replace(
        common,
        shell_allow=interpreter_names(loaded.binary),
        interpreter_runtime=(),
        staged_runtime=(),
        workdir_exec=False,
        network=bool(loaded.grants.hosts),
        host_paths=loaded.grants.paths,
        natives=programs(loaded.binary),
        readable=(
            os.path.realpath(staged.directories.runtime / HARNESS),
            *program_folder(loaded.binary, own),
        ),
    )
