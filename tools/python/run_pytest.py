"""Runs pytest inside a Bazel test: the main program of every `murmur_test` (defs.bzl).

Configuration is the repository's pyproject.toml; results go where Bazel wants its JUnit report,
everything that a test leaves behind goes below TEST_TMPDIR, and --test_filter becomes pytest's -k.
"""

import importlib.util
import os
import sys
from pathlib import Path

import pytest


def arguments(given: list[str], environment: dict[str, str]) -> list[str]:
    """The command line for pytest."""
    line = ["-c", "pyproject.toml", "--rootdir=.", "-p", "no:cacheprovider"]
    if "TEST_TMPDIR" in environment:
        line.append(f"--basetemp={environment['TEST_TMPDIR']}/pytest")
    if "XML_OUTPUT_FILE" in environment:
        line.append(f"--junit-xml={environment['XML_OUTPUT_FILE']}")
    if environment.get("TESTBRIDGE_TEST_ONLY"):
        line += ["-k", environment["TESTBRIDGE_TEST_ONLY"]]
    return line + given


def settle_hypothesis() -> None:
    """Makes property tests of the everyday suite repeatable and deaf to how busy a machine is."""
    if importlib.util.find_spec("hypothesis") is None:
        return
    from hypothesis import HealthCheck, settings

    slow = [HealthCheck.too_slow]
    settings.register_profile(
        "bazel", database=None, deadline=None, derandomize=True, suppress_health_check=slow
    )
    settings.load_profile("bazel")


def main() -> int:
    """Prepares a home and a folder for temporary files, then hands over to pytest."""
    scratch = os.environ.get("TEST_TMPDIR")
    if scratch is not None:
        home = Path(scratch, "home")
        home.mkdir(exist_ok=True)
        os.environ["HOME"] = str(home)
        os.environ["TMPDIR"] = scratch
    # Bytecode beside the sources would be written into the source tree that the runfiles link to.
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    settle_hypothesis()
    return int(pytest.main(arguments(sys.argv[1:], dict(os.environ))))


if __name__ == "__main__":
    sys.exit(main())
