"""Where a raised code is provoked through the program, if not in tests/endtoend/test_codes_*.py
and not by `box.refused` in the tests of py/murmur/cli.
"""

from typing import Final

# Code -> a test that provokes it in a whole run of `mur`.
ELSEWHERE: Final = {
    "E-CAP-015": (
        "tests/endtoend/test_doctor.py",
        "test_a_spawn_closure_is_predicted_with_e_cap_015_and_w_reg_002",
    ),
    "E-EVAL-003": (
        "tests/endtoend/test_eval_run.py",
        "test_nothing_is_staged_when_a_case_cannot_be_used",
    ),
    "E-EVAL-004": (
        "tests/endtoend/test_eval_run.py",
        "test_nothing_is_staged_when_a_case_cannot_be_used",
    ),
    "E-IDX-001": (
        "py/murmur/cli/tests/test_index_command.py",
        "test_a_file_that_cannot_be_indexed_is_e_idx_001_with_the_reason_and_no_output_is_touched",
    ),
    "E-IDX-002": (
        "py/murmur/cli/tests/test_list_and_search.py",
        "test_what_is_no_index_of_schema_2_is_e_idx_002_naming_the_path",
    ),
    "E-IDX-003": (
        "py/murmur/cli/tests/test_index_command.py",
        "test_an_unusable_repo_is_e_idx_003_naming_it",
    ),
    "E-RUN-007": (
        "tests/endtoend/test_hard_ground.py",
        "test_e_run_007_ends_a_session_whose_disk_is_full",
    ),
    "E-RUN-011": (
        "tests/endtoend/test_native_tools.py",
        "test_one_that_meets_a_limit_is_an_error_naming_it",
    ),
    "E-RUN-021": (
        "tests/endtoend/test_native_tools.py",
        "test_one_for_another_platform_is_refused_before_anything_is_made",
    ),
    "W-RUN-003": (
        "tests/endtoend/test_control.py",
        "test_w_run_003_names_an_alternate_without_a_key_and_the_launch_goes_on",
    ),
    "E-RUN-027": (
        "tests/endtoend/test_providers.py",
        "test_a_refused_key_ends_the_launch_with_e_run_027_and_then_e_run_040",
    ),
    "E-CAP-017": (
        "tests/endtoend/test_scripts.py",
        "test_a_gateway_on_a_native_tool_is_e_cap_017_and_nothing_is_made",
    ),
    "E-RUN-002": (
        "tests/endtoend/test_scripts.py",
        "test_an_import_that_is_not_linked_is_e_run_002_naming_it",
    ),
    "E-RUN-004": (
        "tests/endtoend/test_scripts.py",
        "test_a_folder_without_exactly_one_component_is_e_run_004_naming_what_is_there",
    ),
    "W-REG-002": (
        "tests/endtoend/test_doctor.py",
        "test_a_spawn_closure_is_predicted_with_e_cap_015_and_w_reg_002",
    ),
    "W-SEC-001": (
        "tests/endtoend/test_tiers.py",
        "test_a_session_without_seccomp_runs_by_its_environment_alone",
    ),
    "W-SEC-010": (
        "tests/endtoend/test_tiers.py",
        "test_a_session_on_another_system_runs_and_says_that_nothing_bounds_its_commands",
    ),
    "W-SEC-013": (
        "tests/endtoend/test_tiers.py",
        "test_w_sec_013_says_that_the_whole_host_gives_user_namespaces_away",
    ),
    "W-SEC-015": (
        "tests/endtoend/test_native_tools.py",
        "test_w_sec_015_says_that_a_native_tool_gets_no_config",
    ),
    "W-SEC-021": (
        "tests/endtoend/test_tiers.py",
        "test_w_sec_021_says_that_disk_traffic_is_not_bounded",
    ),
    "W-SEC-034": (
        "tests/endtoend/test_tiers.py",
        "test_w_sec_034_names_the_routes_outside_the_class_where_there_are_no_namespaces",
    ),
}

# Code -> why no command reaches it in this build or on a test machine, and whose issue that is.
# Each later issue empties its own lines.
NOT_BY_A_COMMAND: Final = {
    "E-RUN-035": "it takes ten minutes of silence: py/murmur/session/tests/test_harness_run.py",
    "W-REG-001": "no command files a native artifact without a platform: "
    "Stores: build, publish, install, lock, index, search, precompile, list",
}
