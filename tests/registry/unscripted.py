"""What of the event catalogue no table in tests/endtoend/scenarios reaches, and where it is shown.

A key is an event, or an event with a field and one of its values.
"""

from typing import Final

Reached = tuple[str, str | None, str | None]


def _values(event: str, field: str, *values: str) -> tuple[Reached, ...]:
    return tuple((event, field, value) for value in values)


_UNITS: Final = "py/murmur/session/tests"

# Test -> what it shows, where no script of a session reaches it.
ELSEWHERE: Final[dict[tuple[str, str], tuple[Reached, ...]]] = {
    (
        "tests/endtoend/test_scripts.py",
        "test_a_component_that_traps_ends_the_launch_trapped_with_e_run_001",
    ): _values("session_end", "exit_status", "trapped"),
    (
        "tests/endtoend/test_background.py",
        "test_a_resumed_session_is_told_of_commands_that_died_with_theirs",
    ): (("shell_lost", None, None), *_values("task_start", "source", "detached_lost")),
    (
        f"{_UNITS}/test_background.py",
        "test_a_demotion_whose_own_line_is_lost_has_one_that_says_so",
    ): (("shell_detach_unrecorded", None, None),),
    (
        "tests/endtoend/test_providers.py",
        "test_a_busy_provider_is_asked_again_when_it_said_and_each_wait_is_traced",
    ): (("inference_retry", None, None),),
    (
        "tests/endtoend/test_providers.py",
        "test_a_key_replaced_in_the_config_while_a_capsule_runs_reaches_the_next_request",
    ): (("inference_credential", None, None),),
    (
        "tests/endtoend/test_providers.py",
        "test_a_refused_key_ends_the_launch_with_e_run_027_and_then_e_run_040",
    ): _values("task_failed", "cause", "credential_rejected"),
    (
        "tests/endtoend/test_spend.py",
        "test_the_machine_s_ceiling_counts_the_runs_of_a_day_and_refuses_the_one_too_many",
    ): _values("spend_ceiling_reached", "limit", "machine"),
    (
        "tests/endtoend/test_process_harness.py",
        "test_a_cancel_interrupts_the_harness_as_its_driver_says",
    ): _values("task_canceled", "phase", "harness"),
    (
        f"{_UNITS}/test_harness_run.py",
        "test_a_reopened_attempt_goes_on_where_there_is_a_session_to_go_on_with",
    ): _values("task_reopened", "attempt_context", "restarted"),
    (
        f"{_UNITS}/test_task_runner.py",
        "test_a_request_input_that_nobody_answers_fails_the_task",
    ): _values("task_failed", "cause", "input_timeout"),
    (
        f"{_UNITS}/test_task_runner.py",
        "test_a_fault_of_the_runtime_fails_the_task_and_not_the_session",
    ): _values("task_failed", "cause", "runtime_error"),
    (
        f"{_UNITS}/test_task_runner.py",
        "test_a_cancel_during_a_tool_call_ends_the_task_before_the_next_turn",
    ): _values("task_canceled", "phase", "turn"),
    (
        f"{_UNITS}/test_task_runner.py",
        "test_a_cancel_while_input_is_awaited_ends_the_task_in_phase_input",
    ): _values("task_canceled", "phase", "input"),
    (
        f"{_UNITS}/test_retention.py",
        "test_the_age_sweep_takes_owned_records_alone_and_not_the_one_in_use",
    ): _values("retention", "reason", "max_age"),
    (
        "tests/long/sessions/test_slow_hooks.py",
        "test_an_async_hook_that_falls_behind_drops_events_and_is_left_at_the_end",
    ): _values("hook_dispatch_error", "arm", "queue-overflow", "timeout"),
}

# Honoured arms that leave no line of their own -> the test that shows what they do.
SILENT_ARMS: Final[dict[str, tuple[str, str]]] = {
    "write-manifests": (
        "tests/endtoend/test_hooks.py",
        "test_tools_are_described_as_a_hook_says_at_staging",
    ),
    "artifact": (
        "tests/endtoend/test_hooks.py",
        "test_a_hooks_artifact_is_in_the_tasks_stream_under_its_name",
    ),
}

# Issue, or what has to be there first -> what is written only then.
LATER: Final[dict[str, tuple[Reached, ...]]] = {
    "formations": (
        ("formation_ended", None, None),
        *_values("session_end", "exit_status", "formation_ended"),
        *_values("deadline_reached", "source", "inherited"),
        *_values("task_end", "exit_status", "no_answer"),
        *_values("task_canceled", "phase", "member_call"),
    ),
    "delegation": (
        ("spawner_ended", None, None),
        ("task_continued", None, None),
        *_values("task_canceled", "phase", "delegation"),
    ),
    "a controller's key of a gateway other than a driver's": (("gateway_credential", None, None),),
    "a session that stops taking work before it ends": (
        *_values("task_rejected", "cause", "session_stopped"),
    ),
    "seeds under a process driver, which is refused before hooks hear of a task": (
        *_values("context_seed", "reason", "unsupported_transport"),
    ),
}
