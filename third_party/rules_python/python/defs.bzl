"""Python rules under the load path of rules_python.

Libraries and runtimes are Bazel's own. Programs and tests are not: the launcher that this Bazel writes for them
starts with `#!/usr/bin/env python`, a name that current systems do not have, and runs Python twice.
"""

load("@bazel_tools//tools/python:toolchain.bzl", _py_runtime_pair = "py_runtime_pair")
load(":program.bzl", _py_binary = "py_binary", _py_test = "py_test")
load(":providers.bzl", "BUILT_IN_PY_INFO", "BUILT_IN_PY_RUNTIME_INFO")

PyInfo = BUILT_IN_PY_INFO
PyRuntimeInfo = BUILT_IN_PY_RUNTIME_INFO

py_binary = _py_binary
py_library = native.py_library
py_runtime = native.py_runtime
py_runtime_pair = _py_runtime_pair
py_test = _py_test
