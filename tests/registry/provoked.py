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
    "E-RUN-027": (
        "tests/endtoend/test_providers.py",
        "test_a_refused_key_ends_the_launch_with_e_run_027_and_then_e_run_040",
    ),
    "W-REG-002": (
        "tests/endtoend/test_doctor.py",
        "test_a_spawn_closure_is_predicted_with_e_cap_015_and_w_reg_002",
    ),
}

# Code -> why no command reaches it in this build or on a test machine, and whose issue that is.
# Each later issue empties its own lines.
NOT_BY_A_COMMAND: Final = {
    "E-CAP-008": "exports is refused as not served before: The door and every command that uses it",
    "E-RUN-007": "needs a full disk below the records: "
    "Sessions: staging to teardown, the agent loop, shell, hooks, plans, memory",
    "W-REG-001": "no command files a native artifact without a platform: "
    "Stores: build, publish, install, lock, index, search, precompile, list",
    "W-SEC-001": "needs a system that is not Linux: Containment, whole",
    "W-SEC-006": "hooks are refused as not served before: "
    "Sessions: staging to teardown, the agent loop, shell, hooks, plans, memory",
    "W-SEC-010": "needs a system that is not Linux: Containment, whole",
    "W-SEC-013": "needs a kernel with AppArmor, its restriction switched off: Containment, whole",
    "W-SEC-015": "native tools are refused as not served before: "
    "Sessions: staging to teardown, the agent loop, shell, hooks, plans, memory",
    "W-SEC-016": "capabilities.conversation is refused as not served before: "
    "Sessions: staging to teardown, the agent loop, shell, hooks, plans, memory",
    "W-SEC-021": "needs a cgroup hierarchy that refuses an I/O limit: Containment, whole",
    "W-SEC-034": "needs a route outside the class, such as a harness: Containment, whole",
}
