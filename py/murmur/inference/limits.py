"""What a driver choice may send and receive, resolved once at launch.

spec/artifacts.md 12.4, spec/formations-and-newer-manifest.md A11, spec/sessions.md 17.1.
"""

from dataclasses import dataclass
from typing import Final, Literal

from murmur.core.diagnostics import Diagnostic, error, warning
from murmur.manifest.model_table import BadModelTable, parse_models

Source = Literal["manifest", "driver", "none"]
Basis = Literal["max_input_tokens", "context_window_less_output_cap", "none"]


@dataclass(frozen=True, slots=True)
class ModelLimits:
    """The limits of one choice, in tokens, each with where it came from."""

    max_output_tokens: int
    max_output_tokens_source: Source
    context_window: int | None
    context_window_source: Source
    max_input_tokens: int | None
    max_input_tokens_source: Source

    def input_budget(self, output_cap: int | None = None) -> tuple[int | None, Basis]:
        """The most input of a call that sends `output_cap` (None: the choice's own), and its basis.

        Without a window there is no budget, a ceiling alone notwithstanding. Zero means that
        nothing fits.
        """
        if self.context_window is None:
            return None, "none"
        cap = self.max_output_tokens if output_cap is None else output_cap
        left = max(self.context_window - cap, 0)
        if self.max_input_tokens is not None and self.max_input_tokens <= left:
            return self.max_input_tokens, "max_input_tokens"
        return left, "context_window_less_output_cap"

    def record(self) -> dict[str, int | str | None]:
        """The `model_limits` object of `session_start`."""
        budget, basis = self.input_budget()
        return {
            "max_output_tokens": self.max_output_tokens,
            "max_output_tokens_source": self.max_output_tokens_source,
            "context_window": self.context_window,
            "context_window_source": self.context_window_source,
            "max_input_tokens": self.max_input_tokens,
            "max_input_tokens_source": self.max_input_tokens_source,
            "input_budget": budget,
            "input_budget_basis": basis,
        }


NO_MODEL: Final = ModelLimits(0, "none", None, "none", None, "none")
"""What a capsule without a model has."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A driver choice as messages name it; `name` is `primary` or an alternate's."""

    name: str
    driver: str
    version: str
    model: str

    def __str__(self) -> str:
        return f"{self.name} ({self.driver}@{self.version}, model {self.model})"


def resolve_limits(
    choice: Choice,
    models: object,
    *,
    max_tokens: int | None,
    context_max_tokens: int | None,
) -> tuple[ModelLimits, tuple[Diagnostic, ...]]:
    """The limits of `choice` and the warnings about them.

    `models` is the driver's own table as written; `max_tokens` and `context_max_tokens` are the
    manifest's two session-wide keys, never clamped to the table. Raises E-RUN-052 for a malformed
    table or no output cap and E-RUN-055 for a budget of zero. Warns W-RUN-009.
    """
    try:
        table = parse_models(models)
    except BadModelTable as bad:
        reason = f"the models: table of {choice.driver}@{choice.version} is malformed: {bad}"
        hint = "install a release of the driver with a valid table"
        raise error("E-RUN-052", choice=choice, reason=reason, hint=hint) from None
    entry = table.get(choice.model)
    if max_tokens is None and entry is None:
        reason = "nothing says how much the model may write: the driver's table does not list it"
        hint = "set inference.max_tokens, or install a release of the driver that lists the model"
        raise error("E-RUN-052", choice=choice, reason=reason, hint=hint)
    cap, cap_source = _first(max_tokens, entry.max_output_tokens if entry else None)
    window, window_source = _first(context_max_tokens, entry.context_window if entry else None)
    ceiling, ceiling_source = _first(None, entry.max_input_tokens if entry else None)
    assert cap is not None
    limits = ModelLimits(cap, cap_source, window, window_source, ceiling, ceiling_source)
    check_budget(limits, choice, cap)
    warnings: tuple[Diagnostic, ...] = ()
    if entry is None and (max_tokens is None or context_max_tokens is None):
        warnings = (warning("W-RUN-009", choice=choice),)
    return limits, warnings


def check_budget(limits: ModelLimits, choice: Choice, output_cap: int) -> None:
    """Raises E-RUN-055 when a call that sends `output_cap` leaves no room for any input."""
    budget, basis = limits.input_budget(output_cap)
    if budget is None or budget > 0:
        return
    if basis == "max_input_tokens":
        numbers = "max_input_tokens is 0"
    else:
        numbers = f"a context window of {limits.context_window} less an output cap of {output_cap}"
    raise error("E-RUN-055", choice=choice, numbers=numbers)


def _first(manifest: int | None, driver: int | None) -> tuple[int | None, Source]:
    if manifest is not None:
        return manifest, "manifest"
    return (driver, "driver") if driver is not None else (None, "none")
