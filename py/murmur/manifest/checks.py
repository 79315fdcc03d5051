"""Rules of a capsule manifest that span blocks. spec/diagnostics.md 4.9 (E-MAN-003), E-CAP-018."""

import re
from collections.abc import Iterator

from murmur.core.diagnostics import MurmurError, error
from murmur.core.words import split_words
from murmur.manifest.capsule import ArtifactEntry, Capsule
from murmur.manifest.document import Path
from murmur.manifest.names import NAME_RULE, is_full_name
from murmur.manifest.refusal import Refusals

_KEY_REFERENCE = re.compile(r"\$\{([A-Z_][A-Z0-9_]*)\}")


def key_reference(api_key: str) -> str | None:
    """The NAME of `${NAME}`, or None when the text is a literal key."""
    match = _KEY_REFERENCE.fullmatch(api_key)
    return match[1] if match else None


def check_capsule(capsule: Capsule, refusals: Refusals) -> None:
    """Raises the first refusal that the blocks give rise to together."""
    for path, reason in _conflicts(capsule):
        raise refusals.rejected(path, reason)
    for index, entry in enumerate(capsule.artifacts):
        if (refusal := _keyless_gateway(index, entry)) is not None:
            raise refusal


def drivers_of(capsule: Capsule) -> dict[str, Path]:
    """Every driver that an http capsule may call, and the field that first names it.

    Each whose artifact packs an `upstream_auth` needs a gateway on its entry (decisions 6), which
    is known at staging only.
    """
    inference = capsule.inference
    if inference is None or inference.transport != "http":
        return {}
    named: dict[str, Path] = {}
    if inference.driver is not None:
        named[inference.driver.artifact] = ("inference", "driver", "artifact")
    for index, choice in enumerate(inference.alternates):
        where: Path = ("inference", "alternates", index, "driver", "artifact")
        named.setdefault(choice.driver.artifact, where)
    return named


def _conflicts(capsule: Capsule) -> Iterator[tuple[Path, str]]:
    yield from _artifact_conflicts(capsule)
    yield from _prompt_conflicts(capsule)
    yield from _driver_conflicts(capsule)
    yield from _control_conflicts(capsule)
    if capsule.capabilities.task_io is not None:
        yield ("capabilities", "task_io"), "it can be granted on a hook's own entry only"
    if capsule.network.authentication is not None and capsule.capabilities.spawn_allow:
        yield (
            ("network", "authentication"),
            "set together with capabilities.spawn.allow; a child cannot hold a token for its "
            "parent's door",
        )
    for index, name in enumerate(capsule.capabilities.spawn_allow):
        if not is_full_name(name):
            yield (
                ("capabilities", "spawn", "allow", index),
                f"'{name}' is not <scope>/<name>, each {NAME_RULE}",
            )
    check = capsule.lifecycle.done_check
    allowed = capsule.capabilities.shell_allow
    if check is not None and (split_words(check.command) or [""])[0] not in allowed:
        yield (
            ("lifecycle", "done_check", "command"),
            "its first word must be an entry of capabilities.shell.allow",
        )


def _artifact_conflicts(capsule: Capsule) -> Iterator[tuple[Path, str]]:
    seen: set[str] = set()
    called = drivers_of(capsule)
    for index, entry in enumerate(capsule.artifacts):
        if entry.name in seen:
            yield ("artifacts", index, "name"), f"'{entry.name}' is declared twice"
        seen.add(entry.name)
        misplaced = entry.runtime == "driver" and entry.name not in called
        if entry.gateway is not None and misplaced:
            yield (
                ("artifacts", index, "gateway"),
                "a driver takes a gateway only where inference.driver.artifact or an alternate "
                "names it under transport: http",
            )


def _prompt_conflicts(capsule: Capsule) -> Iterator[tuple[Path, str]]:
    named = capsule.inference.system_prompt_artifact if capsule.inference else None
    if named is None:
        return
    path: Path = ("inference", "system_prompt_artifact")
    entry = capsule.artifact(named)
    if entry is None:
        yield path, f"'{named}' is not declared in artifacts"
    elif not entry.prompt_payload:
        yield path, f"'{named}' does not declare prompt_payload: true"


def _driver_conflicts(capsule: Capsule) -> Iterator[tuple[Path, str]]:
    inference = capsule.inference
    if inference is None or inference.driver is None:
        return
    path: Path = ("inference", "driver", "artifact")
    entry = capsule.artifact(inference.driver.artifact)
    if entry is not None and entry.runtime != "driver":
        yield path, f"'{entry.name}' is declared with runtime: {entry.runtime}, not driver"
    if entry is not None and inference.transport == "process":
        index = capsule.artifacts.index(entry)
        for name in ("gateway", "capabilities", "config"):
            if getattr(entry, name) is not None:
                yield ("artifacts", index, name), "a process driver's entry takes none"
    pairs = {(inference.driver.artifact, inference.model)}
    for index, choice in enumerate(inference.alternates):
        where: Path = ("inference", "alternates", index)
        pair = (choice.driver.artifact, choice.model)
        if pair in pairs:
            yield where, "its driver and model are those of the primary or of another alternate"
        pairs.add(pair)
        entry = capsule.artifact(choice.driver.artifact)
        if entry is None or entry.runtime != "driver":
            yield (*where, "driver", "artifact"), "it names no artifacts entry with runtime: driver"
    control = capsule.control
    switchable = control is not None and "inference.driver" in (
        *control.settings,
        *control.agent_settings,
    )
    if inference.alternates and not switchable:
        yield (
            ("inference", "alternates"),
            "no one can switch to them: list inference.driver in control.settings or "
            "control.agent_settings",
        )


def _control_conflicts(capsule: Capsule) -> Iterator[tuple[Path, str]]:
    control, inference = capsule.control, capsule.inference
    if control is None:
        return
    if inference is None:
        yield ("control",), "it needs an inference block"
        return
    settable = {
        "settings": ("inference.max_tokens", "inference.driver"),
        "agent_settings": ("inference.driver",),
    }
    for key, accepted in settable.items():
        names = getattr(control, key)
        for index, name in enumerate(names):
            path: Path = ("control", key, index)
            if name not in accepted:
                yield path, f"'{name}' is none of {', '.join(accepted)}"
            elif name in names[:index]:
                yield path, f"'{name}' is listed twice"
            elif inference.transport != "http":
                yield path, f"'{name}' can be set under transport: http only"
            elif name == "inference.driver" and not inference.alternates:
                yield path, "there is no alternate to switch to"
    primary = capsule.driver_entry if inference.transport == "http" else None
    held = {
        (entry.name, reference)
        for entry in capsule.artifacts
        if entry.gateway is not None
        and entry.gateway.api_key is not None
        and (reference := key_reference(entry.gateway.api_key)) is not None
    }
    referred = {reference for _, reference in held}
    for index, name in enumerate(control.secrets):
        path = ("control", "secrets", index)
        if name in control.secrets[:index]:
            yield path, f"'{name}' is listed twice"
        elif name not in referred:
            yield path, f"no gateway.api_key refers to ${{{name}}}"
        elif primary is not None and (primary.name, name) in held:
            yield path, "the primary driver's own key cannot be set by a controller"


def _keyless_gateway(index: int, entry: ArtifactEntry) -> MurmurError | None:
    gateway = entry.gateway
    if gateway is None or gateway.keyless or (gateway.api_key or "").strip():
        return None
    return error(
        "E-CAP-018",
        field=f"artifacts[{index}].gateway",
        artifact=entry.name,
        endpoint=gateway.endpoint,
    )
