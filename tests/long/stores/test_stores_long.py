"""The tests of //tests/stores at the lengths that their issue names.

Two hundred processes on one store at one moment, and a kill at each single system call: the BUILD
file says so through the environment, which those modules read.
"""

from tests.stores.test_at_once import (
    ground,
    test_different_artifacts_installed_at_once_are_all_stored_pinned_and_listed,
    test_the_same_version_in_other_bytes_installed_at_once_is_never_a_mixture,
    test_versions_of_one_artifact_installed_at_once_are_all_there,
)
from tests.stores.test_killed import (
    test_a_kill_at_any_system_call_leaves_everything_as_before_or_as_after,
)

__all__ = [
    "ground",
    "test_a_kill_at_any_system_call_leaves_everything_as_before_or_as_after",
    "test_different_artifacts_installed_at_once_are_all_stored_pinned_and_listed",
    "test_the_same_version_in_other_bytes_installed_at_once_is_never_a_mixture",
    "test_versions_of_one_artifact_installed_at_once_are_all_there",
]
