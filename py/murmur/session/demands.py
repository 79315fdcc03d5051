"""What capsule and operator demand for commands, as the sandbox takes it.

The scope report foresees from the same demands that a session derives its policy from.
"""

import dataclasses

from murmur.core.config import Config
from murmur.core.diagnostics import MurmurError, error
from murmur.core.home import Home
from murmur.manifest import limits
from murmur.manifest.capsule import Capsule
from murmur.sandbox import resources
from murmur.sandbox.needs import ToolProgram
from murmur.sandbox.policy import Demands
from murmur.sandbox.widening import UnusableGrant
from murmur.session.containment import Containment


def command_demands(
    capsule: Capsule,
    containment: Containment,
    config: Config,
    home: Home,
    programs: tuple[ToolProgram, ...],
) -> Demands:
    """What the capsule declares and the operator grants; `programs` are those of its tools."""
    granted = capsule.capabilities
    shell = granted.shell
    return Demands(
        shell_allow=granted.shell_allow,
        network=bool(granted.network_allow),
        unix_sockets=granted.unix_sockets,
        workdir_exec=granted.workdir_exec,
        resources=command_resources(granted.resources),
        sealed=containment.declared == "sealed",
        interpreter_runtime=shell.interpreter_runtime if shell else (),
        staged_runtime=shell.staged_runtime if shell else (),
        host_paths=config.host_paths,
        murmur_home=str(home.root),
        home=str(home.root.parent),
        programs=programs,
    )


def unusable_grant(unusable: UnusableGrant, manifest: str) -> MurmurError:
    """E-IO-003 for a grant that would make executable what commands write."""
    return error(
        "E-IO-003", what=manifest, reason=str(unusable), hint="narrow the grant in the manifest"
    )


def command_resources(declared: limits.Resources) -> resources.Resources:
    """The manifest's ceilings as the sandbox takes them; the field names are the same."""
    wanted = {field.name for field in dataclasses.fields(resources.Resources)}
    return resources.Resources(**{name: getattr(declared, name) for name in wanted})
