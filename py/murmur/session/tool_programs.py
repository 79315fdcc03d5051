"""The programs that a capsule's tools run, as far as the operator vouches for them.

Both declarations must be there: the tool's pin is the operator's (or there is no lock), and
`capabilities.shell.allow` names the program. Formations digest A15; spec/registry.md 17.
"""

from collections.abc import Mapping

from murmur.core.diagnostics import MurmurError
from murmur.core.home import Home
from murmur.manifest.artifact import ArtifactManifest
from murmur.manifest.capsule import Capsule
from murmur.manifest.programs import BadPrograms, parse_programs
from murmur.sandbox.needs import ToolProgram
from murmur.session.installed import installed_manifests
from murmur.session.launch import Launch
from murmur.store.lock import Lock, read_lock
from murmur.store.names import FullName
from murmur.store.platforms import host_platform
from murmur.store.programs import ProgramStore


def tool_programs(
    capsule: Capsule, manifests: Mapping[str, ArtifactManifest], lock: Lock | None, home: Home
) -> tuple[ToolProgram, ...]:
    """The programs of the declared tools; `manifests` are the artifacts' own, by full name.

    A malformed block contributes nothing here: staging refuses it (E-RUN-062).
    """
    platform, store = host_platform(), ProgramStore(home.programs)
    found: list[ToolProgram] = []
    for entry in capsule.artifacts:
        manifest = manifests.get(entry.name)
        if entry.runtime != "tool" or manifest is None or _was_pulled(lock, entry.name):
            continue
        try:
            programs = parse_programs(manifest.programs, manifest.runtime)
        except BadPrograms:
            continue
        for program in programs:
            if program.name not in capsule.capabilities.shell_allow:
                continue
            download = program.download_for(platform)
            stored = None if download is None else store.ready(download, program.name)
            found.append(ToolProgram(entry.name, program, download, stored))
    return tuple(found)


def installed_programs(capsule: Capsule, launch: Launch) -> tuple[ToolProgram, ...]:
    """The same for a report, from the tools that the stores hold by now; what cannot be read says
    nothing."""
    if not capsule.capabilities.shell_allow:
        return ()
    try:
        lock = None if launch.lock_file is None else read_lock(launch.lock_file)
    except (MurmurError, OSError):
        return ()
    tools = [entry for entry in capsule.artifacts if entry.runtime == "tool"]
    return tool_programs(capsule, installed_manifests(tools, launch), lock, launch.home)


def _was_pulled(lock: Lock | None, name: str) -> bool:
    pin = lock.find(FullName(name)) if lock is not None else None
    return pin is not None and pin.session is not None
