"""Loading a process driver: what it says of its harness, and whether this launch can run it.

spec/artifacts.md 13.1; spec/formations-and-newer-manifest.md A10.
"""

import dataclasses
import os
from collections.abc import Mapping
from typing import Final

from murmur.core.diagnostics import Diagnostic, error, warning
from murmur.guest.client import Guests
from murmur.manifest.capsule import Capsule
from murmur.manifest.harness_needs import parse_harness_needs
from murmur.sandbox.binaries import inside, matches
from murmur.session.artifacts import StagedArtifact
from murmur.session.entrypoints import DEFAULT_PATH
from murmur.session.harness.contract import Description
from murmur.session.harness.driver import CallFailed, ProcessDriver
from murmur.session.harness.needs import HarnessGrants, harness_grants
from murmur.session.harness.program import native_loaders
from murmur.session.prepare import Prepared

BY_COMMAND: Final = "inference.command"
BY_DRIVER: Final = "the process driver's describe()"


@dataclasses.dataclass(frozen=True, slots=True)
class LoadedHarness:
    """A driver and its harness, found. `binary` is canonical; `source` says who named it.

    `env_allow` are the names of variables that the harness gets of the operator's, `grants` the
    paths and hosts.
    """

    driver: ProcessDriver
    description: Description
    binary: str
    source: str
    env_allow: tuple[str, ...]
    grants: HarnessGrants

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """W-SEC-036 for a script whose runtime could load what commands left in the work folder."""
        loaders = native_loaders(self.binary)
        return (warning("W-SEC-036", binaries=", ".join(loaders)),) if loaders else ()


def load_harness(
    prepared: Prepared, artifacts: Mapping[str, StagedArtifact], guests: Guests
) -> LoadedHarness | None:
    """The harness of a process capsule; None for any other.

    Raises E-RUN-032 for a driver that cannot be asked, E-CAP-019 for variables that the capsule
    does not pass on, E-CAP-021 for paths and hosts that it does not allow, E-RUN-006 for a harness
    that is not there, E-RUN-038 for a ceiling that nobody could keep.
    """
    capsule = prepared.capsule
    inference = capsule.inference
    if inference is None or inference.transport != "process":
        return None
    assert inference.driver is not None
    artifact = artifacts[inference.driver.artifact]
    driver = ProcessDriver(artifact, guests, capsule.capabilities.limits)
    try:
        description = driver.describe()
    except CallFailed as failed:
        raise error("E-RUN-032", artifact=driver.label, reason=failed.reason) from None
    env_allow = _env_allow(capsule, driver, description)
    grants = harness_grants(
        capsule, parse_harness_needs(artifact.manifest.harness_needs), prepared.launch.home
    )
    refused = grants.refusal(driver.label)
    if refused is not None:
        raise refused
    binary, source = _find(prepared, driver, description)
    _check_ceilings(prepared, driver, description)
    return LoadedHarness(driver, description, binary, source, env_allow, grants)


def _env_allow(
    capsule: Capsule, driver: ProcessDriver, description: Description
) -> tuple[str, ...]:
    """Raises E-CAP-019. Of an implied driver, what it needs counts as allowed (A1)."""
    assert capsule.inference is not None
    allowed = capsule.capabilities.env_allow
    missing = [name for name in description.required_env if name not in allowed]
    if missing and not capsule.inference.driver_implied:
        raise error("E-CAP-019", driver=driver.label, names=", ".join(missing))
    return (*allowed, *missing)


def _find(prepared: Prepared, driver: ProcessDriver, description: Description) -> tuple[str, str]:
    """The harness's canonical path, and who named it. Raises E-RUN-006.

    A file that the capsule's commands could change is never run as the harness.
    """
    assert prepared.capsule.inference is not None
    command = prepared.capsule.inference.command
    source = BY_COMMAND if command is not None else BY_DRIVER
    name = description.binary if command is None else command
    place, home = str(prepared.place.root), str(prepared.launch.home.root)
    written = [each.path for each in prepared.config.host_paths if each.access == "read-write"]
    outer = os.path.dirname(home)
    paths = (f"{outer}/{each[2:]}" if each.startswith("~/") else each for each in written)
    writable = tuple(os.path.realpath(each) for each in (place, home, *paths))
    if "/" in name:
        path = os.path.realpath(prepared.launch.directory / os.path.expanduser(name))
        found = os.path.isfile(path) and os.access(path, os.X_OK)
        where = "it is no executable file"
        if found and inside(path, writable):
            found, where = False, "it lies where the capsule's commands could change it"
    else:
        folders = prepared.launch.environ.get("PATH", DEFAULT_PATH).split(":")
        named = matches(name, [each for each in folders if os.path.isabs(each)], writable)
        path, found = next(iter(named.values()), ""), bool(named)
        where = "PATH does not have it"
    if found:
        return path, source
    raise error(
        "E-RUN-006",
        what=f"the harness {name}, named by {source} ({driver.label}), was not found: {where}",
        hint=f"install {description.harness}, or set inference.command to its executable",
    )


def _check_ceilings(prepared: Prepared, driver: ProcessDriver, description: Description) -> None:
    assert prepared.capsule.inference is not None
    if description.reports_usage:
        return
    ceilings = {
        "inference.max_session_tokens": prepared.capsule.inference.max_session_tokens,
        "spend.machine_tokens_per_day": prepared.config.machine_tokens_per_day,
    }
    kept = [name for name, value in ceilings.items() if value is not None]
    if kept:
        raise error("E-RUN-038", driver=driver.label, ceilings=", ".join(kept))
