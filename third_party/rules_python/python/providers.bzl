"""Gives Bazel's built-in Python providers names that another file can re-export."""

BUILT_IN_PY_INFO = PyInfo
BUILT_IN_PY_RUNTIME_INFO = PyRuntimeInfo
