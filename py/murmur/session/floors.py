"""What a launch asks of the host: the least containment class, and room for subprocesses.

spec/containment.md 4 and 8. The floor is the strongest of three declarations; none lowers another.
"""

import dataclasses
from typing import Final, get_args

from murmur.core.diagnostics import error
from murmur.manifest.capsule import Capsule
from murmur.manifest.grants import Containment as ClassName

# Weakest first.
CLASSES: Final[tuple[ClassName, ...]] = get_args(ClassName)

MANIFEST: Final = "capabilities.containment"
CONFIG: Final = "containment in config.yaml"
FLAG: Final = "--containment"


@dataclasses.dataclass(frozen=True, slots=True)
class Floor:
    """The least class that may be achieved, and which declarations ask for it.

    `advisory` without a source is a launch that declares nothing, which is never refused.
    """

    declared: ClassName = "advisory"
    sources: tuple[str, ...] = ()


def weaker(left: ClassName, right: ClassName) -> bool:
    """Whether `left` promises less than `right`."""
    return CLASSES.index(left) < CLASSES.index(right)


def strongest(declarations: dict[str, ClassName | None]) -> Floor:
    """The floor in force, from what each source declares (None: nothing)."""
    made = {source: value for source, value in declarations.items() if value is not None}
    if not made:
        return Floor()
    most = max(made.values(), key=CLASSES.index)
    return Floor(most, tuple(source for source, value in made.items() if value == most))


def floor_in_force(capsule: Capsule, config: str | None, flag: str | None) -> Floor:
    """The floor of manifest, configuration and `--containment`.

    Raises E-IO-003 for a `--containment` that names no class.
    """
    return strongest(
        {
            MANIFEST: capsule.capabilities.containment,
            CONFIG: None if config is None else class_named(config, CONFIG),
            FLAG: None if flag is None else class_named(flag, f"{FLAG} {flag}"),
        }
    )


def class_named(value: str, what: str) -> ClassName:
    """The class of that name. Raises E-IO-003 naming `what` for any other."""
    for known in CLASSES:
        if known == value:
            return known
    allowed = ", ".join(CLASSES)
    raise error(
        "E-IO-003", what=what, reason=f"it is none of {allowed}", hint=f"pass one of {allowed}"
    )


def can_start_commands(capsule: Capsule) -> bool:
    """Whether the capsule can have a subprocess, as far as its manifest says.

    Whether a tool is native is known once its artifact is.
    """
    inference = capsule.inference
    return bool(
        capsule.capabilities.shell_allow
        or capsule.capabilities.spawn_allow
        or (inference is not None and inference.transport == "process")
    )
