"""Every event of a session, every way to end and every arm of a hook is reached by a script."""

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

from murmur.trace.catalogue import Event
from tests.endtoend.scenarios import SCENARIOS
from tests.endtoend.scenarios.unheeded import ARMS, HANDLERS, HONOURED
from tests.registry.unscripted import ELSEWHERE, LATER, SILENT_ARMS, Reached

ROOT = Path("pyproject.toml").resolve().parent
# Modules of the catalogue whose events belong to a session of one capsule.
AREAS = ("session", "tasks", "calls", "background", "plans", "hooks", "context", "inference")
# What says how something ended, or why: each of its values is reached too.
ENDINGS = {
    "session_end": ("exit_status",),
    "deadline_reached": ("source",),
    "retention": ("store", "reason"),
    "task_start": ("source",),
    "task_end": ("exit_status",),
    "task_failed": ("cause",),
    "task_reopened": ("attempt_context",),
    "task_canceled": ("phase",),
    "task_rejected": ("cause",),
    "done_check": ("outcome",),
    "tool_call": ("status",),
    "call_denied": ("event",),
    "protected_path_denied": ("call",),
    "shell_completed": ("status",),
    "plan_step": ("status",),
    "plan_end": ("outcome",),
    "compaction_declined": ("reason",),
    "context_seed": ("outcome", "reason"),
    "inference": ("decision",),
    "spend_ceiling_reached": ("limit",),
}
# Faults that are no output arm, and those of an async hook.
FAULTS = ("error", "queue-overflow", "timeout", "seed-rejected")
FEWEST = 60


def _catalogue() -> Iterator[Event]:
    for area in AREAS:
        module = importlib.import_module(f"murmur.trace.events.{area}")
        yield from (each for each in vars(module).values() if isinstance(each, Event))


def _wanted() -> Iterator[Reached]:
    for event in _catalogue():
        yield event.name, None, None
        for field in event.fields:
            if field.name in ENDINGS.get(event.name, ()):
                yield from ((event.name, field.name, value) for value in field.values)
    for arm in FAULTS:
        yield "hook_dispatch_error", "arm", arm


WANTED = frozenset(_wanted())
SCRIPTED = frozenset(each for scenario in SCENARIOS for each in scenario.reached())
SHOWN = frozenset(each for shown in ELSEWHERE.values() for each in shown)
DECLARED = frozenset(each for declared in LATER.values() for each in declared)


def test_every_ending_names_a_field_with_a_closed_set_of_values() -> None:
    closed = {
        (event.name, field.name) for event in _catalogue() for field in event.fields if field.values
    }
    assert {(event, name) for event, names in ENDINGS.items() for name in names} <= closed


def test_every_event_and_every_ending_is_scripted_or_said_to_be_elsewhere() -> None:
    missing = sorted(WANTED - SCRIPTED - SHOWN - DECLARED, key=str)
    assert missing == [], "script it in tests/endtoend/scenarios, or list it in unscripted.py"


def test_what_is_scripted_is_not_listed_as_missing() -> None:
    assert sorted(SCRIPTED & (SHOWN | DECLARED), key=str) == []
    assert sorted(SHOWN & DECLARED, key=str) == []


def test_what_is_listed_is_in_the_catalogue() -> None:
    assert sorted((SHOWN | DECLARED) - WANTED, key=str) == []


def test_a_listed_test_exists_and_names_what_it_shows() -> None:
    for (file, test), shown in ELSEWHERE.items():
        text = _text_of(file, test)
        for event, _, value in shown:
            assert f'"{value or event}"' in text, f"{file} says nothing of {value or event}"
    for file, test in SILENT_ARMS.values():
        _text_of(file, test)


def _text_of(file: str, test: str) -> str:
    text = (ROOT / file).read_text()
    functions = {each.name for each in ast.parse(text).body if isinstance(each, ast.FunctionDef)}
    assert test in functions, f"{file} has no {test}"
    return text


def test_every_arm_that_a_handler_does_not_honour_is_a_fault_in_some_script() -> None:
    """All handlers of a session with a trace; on-stage comes before there is one."""
    faults: set[tuple[object, object]] = set()
    for scenario in SCENARIOS:
        for launch in scenario.launches:
            for each in launch.events:
                if not isinstance(each, str) and each.kind == "hook_dispatch_error":
                    faults.add((each.fields.get("event"), each.fields.get("arm")))
    wanted = {(handler, arm) for handler in HANDLERS for arm in ARMS} - HONOURED
    assert sorted(wanted - faults) == []


def test_every_honoured_arm_is_reached() -> None:
    lines = {
        "replace-context": ("compaction", None, None),
        "seed-context": ("context_seed", "outcome", "seeded"),
        "reopen-task": ("task_reopened", None, None),
        "deny": ("call_denied", None, None),
    }
    assert set(lines) | set(SILENT_ARMS) == set(ARMS)
    assert set(lines.values()) <= SCRIPTED


def test_there_are_as_many_scripted_sessions_as_asked_for() -> None:
    launches = [launch for scenario in SCENARIOS for launch in scenario.launches]
    assert sum(bool(launch.events) for launch in launches) >= FEWEST
    names = [scenario.name for scenario in SCENARIOS]
    assert len(names) == len(set(names))
