"""What a composed root cannot start of `shell.allow`: E-CAP-006, W-SEC-012 and W-SEC-029.

spec/containment.md 15.3 and 15.4. Asked only where the floor in force is `sealed`.
"""

import dataclasses
import os
from typing import Final

from murmur.core.diagnostics import Diagnostic, MurmurError, error, warning
from murmur.core.safefs import Root
from murmur.manifest.capsule import Capsule
from murmur.sandbox.binaries import matches
from murmur.sandbox.compilers import examine_compilers
from murmur.sandbox.scripts import unreachable_scripts

DEFAULT_PATH: Final = "/usr/bin:/bin"


@dataclasses.dataclass(frozen=True, slots=True)
class Search:
    """Where names of `shell.allow` are looked for: the operator's PATH, without what lies below the
    `writable` folders."""

    path: str = ""
    writable: tuple[str, ...] = ()

    def locate(self, names: tuple[str, ...]) -> dict[str, str]:
        """The canonical path of the first match of each name that PATH has."""
        folders = [each for each in self.path.split(":") if os.path.isabs(each)]
        found: dict[str, str] = {}
        for name in names:
            if name and "/" not in name:
                for path in list(matches(name, folders, self.writable).values())[:1]:
                    found[name] = path
        return found


def script_refusal(capsule: Capsule, search: Search) -> MurmurError | None:
    """E-CAP-006 with every script that nothing covers; None where there is none."""
    shell = capsule.capabilities.shell
    named: list[str] = []
    if shell is not None:
        named += [grant.binary for grant in shell.interpreter_runtime]
        named += [grant.binary for grant in shell.staged_runtime]
    found = unreachable_scripts(
        search.locate(capsule.capabilities.shell_allow), _folders(capsule), named
    )
    return error("E-CAP-006", entries=", ".join(map(str, found))) if found else None


def compiler_warnings(capsule: Capsule, search: Search, facts: Root | None) -> list[Diagnostic]:
    """W-SEC-012 per helper without a grant, W-SEC-029 per driver that could not be asked."""
    located = search.locate(capsule.capabilities.shell_allow)
    found = examine_compilers(located, _folders(capsule), search.path, facts)
    return [
        *(
            warning("W-SEC-012", binary=each.driver, helper=f"{each.helper} ({each.path})")
            for each in found.uncovered
        ),
        *(
            warning(
                "W-SEC-029",
                binary=each.driver,
                reason=each.reason,
                helpers=", ".join(each.helpers),
            )
            for each in found.unprobed
        ),
    ]


def _folders(capsule: Capsule) -> list[str]:
    """The canonical directories whose programs grants let commands execute."""
    shell = capsule.capabilities.shell
    if shell is None:
        return []
    declared = [each.path for grant in shell.interpreter_runtime for each in grant.dirs]
    declared += [grant.source_path for grant in shell.staged_runtime]
    return [os.path.realpath(each) for each in declared]
