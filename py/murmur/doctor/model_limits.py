"""The *Model limits* block: what each driver choice may read and write.

Resolved as `mur run` resolves it at launch. CLI reference, *mur doctor*, *Output cap*.
"""

import dataclasses
from collections.abc import Iterator, Mapping

from murmur.core.diagnostics import Diagnostic, MurmurError, printable
from murmur.doctor.findings import Findings
from murmur.inference.limits import Choice, ModelLimits, resolve_limits
from murmur.manifest.artifact import ArtifactManifest
from murmur.manifest.capsule import Capsule
from murmur.manifest.inference import Driver


def limits_block(
    capsule: Capsule, manifests: Mapping[str, ArtifactManifest], findings: Findings
) -> tuple[list[str], list[Diagnostic]]:
    """The block, empty for a capsule that has none, and its warnings under doctor's own name."""
    inference = capsule.inference
    if inference is None or inference.transport != "http":
        return [], []
    lines: list[str] = []
    warnings: list[Diagnostic] = []
    for name, driver, model in _choices(capsule):
        manifest = manifests.get(driver.artifact)
        entry = capsule.artifact(driver.artifact)
        if manifest is None or entry is None:
            lines.append(f"  Model limits: not checked, driver {driver.artifact} is not installed")
            continue
        choice = Choice(name, entry.name, entry.version, model)
        try:
            limits, found = resolve_limits(
                choice,
                manifest.models,
                max_tokens=inference.max_tokens,
                context_max_tokens=capsule.context.max_tokens,
            )
        except MurmurError as refused:
            lines.append(f"  ✗ error[{refused.code}]: {printable(refused.message)}")
            findings.errors.append(refused.hint)
            continue
        lines.append(f"  ✓ {choice}: {_numbers(limits)}")
        for each in found:
            warnings.append(dataclasses.replace(each, origin="mur doctor"))
            findings.warnings.append(each.hint)
    missing = [line for line in lines if line.startswith("  Model limits:")]
    if missing and len(missing) == len(lines):
        return [line.strip() for line in lines], warnings
    return (["Model limits:", *lines] if lines else []), warnings


def _choices(capsule: Capsule) -> Iterator[tuple[str, Driver, str]]:
    """(name, driver, model) of each choice, primary first."""
    inference = capsule.inference
    assert inference is not None
    if inference.driver is not None:
        yield "primary", inference.driver, inference.model or ""
    for alternate in inference.alternates:
        yield alternate.name, alternate.driver, alternate.model


def _numbers(limits: ModelLimits) -> str:
    budget, basis = limits.input_budget()
    return (
        f"output cap {limits.max_output_tokens} ({limits.max_output_tokens_source}), "
        f"context window {_or_none(limits.context_window)} ({limits.context_window_source}), "
        f"input ceiling {_or_none(limits.max_input_tokens)} ({limits.max_input_tokens_source}), "
        f"input budget {_or_none(budget)} ({basis})"
    )


def _or_none(value: int | None) -> str:
    return "none" if value is None else str(value)
