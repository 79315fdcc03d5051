"""A plan as submitted, and what is refused before it runs. spec/sessions.md 16.1, 16.4."""

import dataclasses
from collections.abc import Collection, Iterator, Mapping
from typing import Final, Literal

from murmur.core.words import split_words
from murmur.session.plans.references import (
    FIELDS,
    Reference,
    condition_references,
    references_in,
)

Kind = Literal["tool", "shell", "capsule", "unknown"]
OnError = Literal["fail", "skip", "continue"]

PLAN: Final = "plan"
KINDS: Final[tuple[Literal["tool", "shell", "capsule"], ...]] = ("tool", "shell", "capsule")
ON_ERROR: Final[tuple[OnError, ...]] = ("fail", "skip", "continue")
# Tools of the agent loop alone.
NOT_OF_A_PLAN: Final = ("submit-plan", "switch-driver", "call-member", "end-without-answer")


class BadPlan(Exception):
    """A plan that does not run; `step` is the offending one, `plan` where none could be told."""

    def __init__(self, step: str, reason: str) -> None:
        super().__init__(reason)
        self.step = step
        self.reason = reason


@dataclasses.dataclass(frozen=True, slots=True)
class Step:
    """One step, as far as its shape could be read; `raw` is as submitted.

    `target` is the tool, the command line or the capsule.
    """

    id: str
    kind: Kind
    raw: Mapping[str, object]

    @property
    def target(self) -> str:
        value = self.raw.get(self.kind)
        return value if isinstance(value, str) else ""

    @property
    def input(self) -> object:
        return self.raw.get("input")

    @property
    def depends_on(self) -> list[str]:
        value = self.raw.get("depends_on")
        return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []

    @property
    def condition(self) -> str:
        value = self.raw.get("if")
        return value if isinstance(value, str) else ""

    @property
    def on_error(self) -> OnError:
        value = self.raw.get("on_error")
        return next((each for each in ON_ERROR if each == value), "fail")

    @property
    def retries(self) -> int:
        value = self.raw.get("retries")
        return value if isinstance(value, int) else 0


@dataclasses.dataclass(frozen=True, slots=True)
class Plan:
    id: str
    steps: tuple[Step, ...]

    def declared(self) -> list[dict[str, object]]:
        """The `steps` of `plan_start`."""
        return [
            {
                "step_id": step.id,
                "kind": step.kind,
                "depends_on": step.depends_on,
                "has_condition": bool(step.condition.strip()),
            }
            for step in self.steps
        ]


def read_plan(value: Mapping[str, object]) -> Plan:
    """The plan's frame: its id, and steps that have one. Raises BadPlan for anything else."""
    plan_id, steps = value.get("id"), value.get("steps")
    if not isinstance(plan_id, str):
        raise BadPlan(PLAN, f"id is {plan_id!r}, and must be a string")
    if not isinstance(steps, list):
        raise BadPlan(PLAN, "steps must be an array of steps")
    return Plan(plan_id, tuple(_read_step(number, step) for number, step in enumerate(steps)))


def _read_step(number: int, value: object) -> Step:
    step_id = value.get("id") if isinstance(value, Mapping) else None
    if not isinstance(value, Mapping) or not isinstance(step_id, str) or not step_id:
        raise BadPlan(PLAN, f"steps[{number}] must be an object with a string as its id")
    kinds = [kind for kind in KINDS if value.get(kind) is not None]
    return Step(step_id, kinds[0] if len(kinds) == 1 else "unknown", value)


def check_plan(plan: Plan, tools: Collection[str], binaries: Collection[str]) -> None:
    """Raises BadPlan for the first step that could not run, whatever the others do.

    `tools` are the names of the session's inventory, `binaries` those of `shell.allow`.
    """
    known: set[str] = set()
    for step in plan.steps:
        if step.id in known:
            raise BadPlan(step.id, f"two steps have the id {step.id!r}")
        known.add(step.id)
    for step in plan.steps:
        for problem in _problems(step, known, tools, binaries):
            raise BadPlan(step.id, problem)


def _problems(
    step: Step, known: Collection[str], tools: Collection[str], binaries: Collection[str]
) -> Iterator[str]:
    given = [kind for kind in KINDS if step.raw.get(kind) is not None]
    if len(given) != 1:
        found = ", ".join(given) or "none"
        yield f"a step has exactly one of {', '.join(KINDS)}, and this one has {found}"
    elif not isinstance(step.raw[given[0]], str):
        yield f"{given[0]} must be a string"
    yield from _target_problems(step, tools, binaries)
    yield from _shape_problems(step)
    yield from _name_problems(step, known)


def _target_problems(
    step: Step, tools: Collection[str], binaries: Collection[str]
) -> Iterator[str]:
    if step.kind == "tool":
        if step.target in NOT_OF_A_PLAN:
            yield f"the tool {step.target} cannot be called by a plan"
        if step.target not in tools:
            yield f"there is no tool {step.target!r} in this session"
    elif step.kind == "shell":
        words = split_words(step.target)
        if not words:
            yield "the command line is empty"
        elif words[0] not in binaries:
            yield f"{words[0]!r} is not in capabilities.shell.allow"
    elif step.kind == "capsule" and objective_of(step.input) is None:
        yield 'the input of a capsule is a string, or {"objective": a string}'


def _shape_problems(step: Step) -> Iterator[str]:
    raw = step.raw
    depends_on = raw.get("depends_on")
    if depends_on is not None and (
        not isinstance(depends_on, list) or not all(isinstance(each, str) for each in depends_on)
    ):
        yield "depends_on must be an array of step ids"
    if raw.get("if") is not None and not isinstance(raw["if"], str):
        yield "if must be a string"
    retries = raw.get("retries")
    if retries is not None and (
        isinstance(retries, bool) or not isinstance(retries, int) or retries < 0
    ):
        yield f"retries is {retries!r}, and may be a whole number from 0"


def _name_problems(step: Step, known: Collection[str]) -> Iterator[str]:
    for name in step.depends_on:
        if name not in known:
            yield f"it depends on {name!r}, which is no step of this plan"
    for found in _references(step):
        if found.step not in known:
            yield f"{found} names no step of this plan"
        if found.field not in FIELDS:
            yield f"{found} has no such field; there are {' and '.join(FIELDS)}"
    if step.raw.get("on_error") not in (None, *ON_ERROR):
        yield f"on_error is {step.raw['on_error']!r}, and may be {', '.join(ON_ERROR)}"


def _references(step: Step) -> Iterator[Reference]:
    yield from references_in(step.input)
    yield from condition_references(step.condition)


def objective_of(value: object) -> str | None:
    """What a sub-capsule would be told; None for an input of another shape."""
    if isinstance(value, Mapping):
        value = value.get("objective")
    return value if isinstance(value, str) else None
