"""Old spellings of a capsule manifest, rewritten to new ones before anything else reads it.

Everything the older manifest reference documents runs; each use is reported once (W-MAN-001), and
an old spelling beside its new one is refused. design/decisions.md 1;
spec/formations-and-newer-manifest.md A1. What does not have the expected type is left alone: the
models refuse it with the author's own words.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from murmur.manifest.document import Path
from murmur.manifest.names import full_name, is_bare_name

CODEX_DRIVER = "murmur/driver-codex"
CLAUDE_DRIVER = "murmur/driver-claude-code"


class SpelledTwice(ValueError):
    """An old spelling stands beside its new one; both are dotted paths."""

    def __init__(self, old: str, new: str, path: Path) -> None:
        super().__init__(f"it is the old spelling of {new}, and both are set")
        self.old = old
        self.new = new
        self.path = path


class WrongTransport(ValueError):
    """An old field that `transport: process` never had."""

    def __init__(self, old: str, path: Path) -> None:
        super().__init__("it has no meaning under transport: process")
        self.old = old
        self.path = path


@dataclass(frozen=True, slots=True)
class Use:
    """One old spelling that was used: what stands in the file, and what is meant."""

    old: str
    new: str
    path: Path


@dataclass(slots=True)
class Lowered:
    """A manifest in new spellings. `origins` leads from a new path to the one in the file.

    `stray_endpoint` is an `inference.endpoint` that no driver's entry could take over.
    """

    manifest: dict[str, Any]
    uses: list[Use] = field(default_factory=list)
    origins: dict[Path, Path] = field(default_factory=dict)
    driver_implied: bool = False
    stray_endpoint: object = None


def dotted(path: Path) -> str:
    """A path as messages write it: `artifacts[0].gateway.endpoint`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.removeprefix(".")


def lower(manifest: dict[str, Any]) -> Lowered:
    """`manifest` in new spellings; the argument is not changed.

    Raises SpelledTwice and WrongTransport.
    """
    result = Lowered(dict(manifest))
    for step in _STEPS:
        step(result)
    return result


def _block(holder: dict[str, Any], key: str) -> dict[str, Any] | None:
    """A copy of the mapping at `key`, put in its place; None when there is none."""
    value = holder.get(key)
    if not isinstance(value, dict):
        return None
    holder[key] = dict(value)
    return holder[key]  # type: ignore[no-any-return]


def _trace_capture(lowered: Lowered) -> None:
    trace = _block(lowered.manifest, "trace")
    if trace is None or not isinstance(trace.get("include_tool_output"), bool):
        return
    old: Path = ("trace", "include_tool_output")
    if trace.get("capture") is not None:
        raise SpelledTwice("trace.include_tool_output", "trace.capture", old)
    trace["capture"] = "content" if trace.pop("include_tool_output") else "meta"
    lowered.uses.append(Use("trace.include_tool_output", "trace.capture", old))
    lowered.origins[("trace", "capture")] = old


def _provider(lowered: Lowered) -> None:
    inference = _block(lowered.manifest, "inference")
    if inference is None or not isinstance(inference.get("provider"), dict):
        return
    named = inference["provider"].get("artifact")
    if named is None:
        return
    old: Path = ("inference", "provider", "artifact")
    driver = _block(inference, "driver")
    if driver is not None and driver.get("artifact") is not None:
        raise SpelledTwice("inference.provider.artifact", "inference.driver.artifact", old)
    inference["driver"] = {**(driver or {}), "artifact": named}
    rest = {k: v for k, v in inference.pop("provider").items() if k != "artifact"}
    if rest:
        inference["provider"] = rest
    lowered.uses.append(Use("inference.provider.artifact", "inference.driver.artifact", old))
    lowered.origins[("inference", "driver", "artifact")] = old


def _command(lowered: Lowered) -> None:
    inference = _block(lowered.manifest, "inference")
    if inference is None or inference.get("transport") != "process":
        return
    command, driver = inference.get("command"), inference.get("driver")
    named = driver.get("artifact") if isinstance(driver, dict) else None
    if not isinstance(command, str) or not command.strip() or named is not None:
        return
    codex = command.rpartition("/")[2] == "codex"
    holder = dict(driver) if isinstance(driver, dict) else {}
    inference["driver"] = {**holder, "artifact": CODEX_DRIVER if codex else CLAUDE_DRIVER}
    lowered.driver_implied = True
    old: Path = ("inference", "command")
    lowered.uses.append(
        Use(
            "inference.command without inference.driver.artifact",
            f"inference.driver.artifact: {inference['driver']['artifact']}",
            old,
        )
    )
    lowered.origins[("inference", "driver", "artifact")] = old


def _names(lowered: Lowered) -> None:
    """Bare artifact names, wherever a manifest names an artifact."""
    manifest = lowered.manifest
    entries = manifest.get("artifacts")
    if isinstance(entries, list):
        manifest["artifacts"] = [dict(e) if isinstance(e, dict) else e for e in entries]
        for index, entry in enumerate(manifest["artifacts"]):
            if isinstance(entry, dict):
                _name_at(lowered, entry, "name", ("artifacts", index, "name"))
    inference = _block(manifest, "inference")
    if inference is not None:
        if (driver := _block(inference, "driver")) is not None:
            _name_at(lowered, driver, "artifact", ("inference", "driver", "artifact"))
        _name_at(
            lowered, inference, "system_prompt_artifact", ("inference", "system_prompt_artifact")
        )
        _alternates(lowered, inference)
    capabilities = _block(manifest, "capabilities")
    spawn = _block(capabilities, "spawn") if capabilities is not None else None
    if spawn is not None and isinstance(spawn.get("allow"), list):
        spawn["allow"] = list(spawn["allow"])
        for index in range(len(spawn["allow"])):
            _name_at(lowered, spawn["allow"], index, ("capabilities", "spawn", "allow", index))


def _alternates(lowered: Lowered, inference: dict[str, Any]) -> None:
    if not isinstance(inference.get("alternates"), list):
        return
    choices = [dict(c) if isinstance(c, dict) else c for c in inference["alternates"]]
    inference["alternates"] = choices
    for index, choice in enumerate(choices):
        driver = _block(choice, "driver") if isinstance(choice, dict) else None
        if driver is not None:
            path: Path = ("inference", "alternates", index, "driver", "artifact")
            _name_at(lowered, driver, "artifact", path)


def _name_at(lowered: Lowered, holder: Any, key: str | int, path: Path) -> None:
    """Replaces a bare name in `holder[key]`; what is no bare name is left to validation."""
    name = holder[key] if isinstance(key, int) else holder.get(key)
    if not isinstance(name, str) or not is_bare_name(name):
        return
    holder[key] = full_name(name)
    spelled = lowered.origins.get(path, path)
    lowered.uses.append(
        Use(f"{dotted(spelled)}: {name}", f"{dotted(path)}: {holder[key]}", spelled)
    )


def _gateway(lowered: Lowered) -> None:
    """`inference.endpoint` and `.api_key` into the driver entry's own gateway."""
    inference = _block(lowered.manifest, "inference")
    if inference is None:
        return
    found = [name for name in ("endpoint", "api_key") if inference.get(name) is not None]
    if not found:
        return
    if inference.get("transport") == "process":
        raise WrongTransport(f"inference.{found[0]}", ("inference", found[0]))
    driver = inference.get("driver")
    name = driver.get("artifact") if isinstance(driver, dict) else None
    entries = lowered.manifest.get("artifacts")
    index = next(
        (
            i
            for i, entry in enumerate(entries if isinstance(entries, list) else ())
            if isinstance(entry, dict) and entry.get("name") == name
        ),
        None,
    )
    values = {field_name: inference.pop(field_name) for field_name in found}
    for field_name in found:
        new = f"artifacts[{name or '<driver>'}].gateway.{field_name}"
        lowered.uses.append(Use(f"inference.{field_name}", new, ("inference", field_name)))
    if index is None:
        # No entry can take them. The launch is refused for that (E-RUN-005, E-RUN-006), not here.
        lowered.stray_endpoint = values.get("endpoint")
        return
    _fill_gateway(lowered, lowered.manifest["artifacts"][index], index, values)


def _fill_gateway(
    lowered: Lowered, entry: dict[str, Any], index: int, values: dict[str, Any]
) -> None:
    existing = entry.get("gateway")
    gateway = dict(existing) if isinstance(existing, dict) else {}
    for name, value in values.items():
        blocked = gateway.get(name) is not None or (
            name == "api_key" and gateway.get("keyless") is True
        )
        if blocked:
            new = f"artifacts[{index}].gateway.{name if gateway.get(name) else 'keyless'}"
            raise SpelledTwice(f"inference.{name}", new, ("inference", name))
        gateway[name] = value
        lowered.origins[("artifacts", index, "gateway", name)] = ("inference", name)
    if "endpoint" in values and gateway.get("api_key") is None and "keyless" not in gateway:
        # The older reference: without api_key, requests carry no credential header.
        gateway["keyless"] = True
    if not gateway.get("endpoint"):
        lowered.origins[("artifacts", index, "gateway", "endpoint")] = ("inference", "endpoint")
    entry["gateway"] = gateway


_STEPS: tuple[Callable[[Lowered], None], ...] = (
    _trace_capture,
    _provider,
    _command,
    _names,
    _gateway,
)
