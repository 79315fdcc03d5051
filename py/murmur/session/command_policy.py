"""What the commands of a staged session may do, decided before the first of them."""

import dataclasses
import os

from murmur.core.diagnostics import error
from murmur.sandbox import identity
from murmur.sandbox.egress.name_service import resolv_conf
from murmur.sandbox.needs import ToolProgram
from murmur.sandbox.ownership import UnusableFolder
from murmur.sandbox.policy import CommandPolicy, Demands, Folders, derive
from murmur.sandbox.widening import UnusableGrant
from murmur.session.demands import command_demands, unusable_grant
from murmur.session.entrypoints import DEFAULT_PATH
from murmur.session.host_facts import host_facts
from murmur.session.native_tools import program_paths
from murmur.session.stage import Staged
from murmur.session.tool_programs import tool_programs


def command_policy(staged: Staged) -> CommandPolicy:
    """The policy of a staged session's commands. Raises as `session_policy`."""
    demands = command_demands(
        staged.capsule,
        staged.containment,
        staged.prepared.config,
        staged.prepared.launch.home,
        _programs(staged),
    )
    natives = program_paths(staged.directories, staged.artifacts.values()).values()
    return session_policy(
        staged, dataclasses.replace(demands, natives=tuple(map(os.path.realpath, natives)))
    )


def session_policy(staged: Staged, demands: Demands) -> CommandPolicy:
    """The policy of whatever is started in a staged session with these demands.

    Raises E-IO-003 for a work folder of another owner, a grant that would make executable what
    commands write, and a home that no passwd line can name.
    """
    directories = staged.directories
    launch = staged.prepared.launch
    try:
        folders = Folders(
            workdir=str(directories.work),
            runtime=str(directories.visible_runtime),
            records=str(directories.records),
            temp=str(directories.temporary),
            home=str(directories.commands_home),
            identity=_identity(staged) if demands.sealed else "",
            resolv_conf=_resolv_conf(staged),
        )
        with host_facts(launch.home, staged.prepared.home_inside, create=True) as facts:
            return derive(
                staged.containment.reading,
                folders,
                demands,
                launch.environ.get("PATH", DEFAULT_PATH),
                facts,
            )
    except UnusableGrant as unusable:
        raise unusable_grant(unusable, launch.manifest.name) from None
    except (UnusableFolder, ValueError, OSError) as failure:
        raise error(
            "E-IO-003",
            what="the work folder cannot be used by contained commands",
            reason=str(failure),
            hint="run mur as the folder's owner, or give --workdir another folder",
        ) from None


def _programs(staged: Staged) -> tuple[ToolProgram, ...]:
    """The programs of the staged tools."""
    manifests = {name: each.manifest for name, each in staged.artifacts.items()}
    prepared = staged.prepared
    return tool_programs(staged.capsule, manifests, prepared.lock, prepared.launch.home)


def _identity(staged: Staged) -> str:
    """Writes the passwd and group of a composed root; the folder they lie in."""
    directories = staged.directories
    owner = os.fstat(directories.work_root.fileno())
    texts = {
        identity.PASSWD: identity.passwd_text(
            owner.st_uid, owner.st_gid, os.path.realpath(directories.commands_home)
        ),
        identity.GROUP: identity.group_text(owner.st_gid),
    }
    with directories.runtime_root.sub(identity.FOLDER, create=True, mode=0o700) as folder:
        for name, text in texts.items():
            folder.write_atomic(name, os.fsencode(text), mode=0o644)
    return str(directories.runtime / identity.FOLDER)


def _resolv_conf(staged: Staged) -> str:
    """Writes what leads commands to the session's own name server; its path.

    Empty where they have no network of their own, and ask whom the host asks.
    """
    if staged.containment.tier == "Environment-only":
        return ""
    directories = staged.directories
    with directories.runtime_root.sub(identity.FOLDER, create=True, mode=0o700) as folder:
        folder.write_atomic("resolv.conf", resolv_conf().encode(), mode=0o644)
    return str(directories.runtime / identity.FOLDER / "resolv.conf")
