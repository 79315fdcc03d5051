"""The native Python rules under the load path of rules_python."""

load("@bazel_tools//tools/python:toolchain.bzl", _py_runtime_pair = "py_runtime_pair")
load(":providers.bzl", "BUILT_IN_PY_INFO", "BUILT_IN_PY_RUNTIME_INFO")

PyInfo = BUILT_IN_PY_INFO
PyRuntimeInfo = BUILT_IN_PY_RUNTIME_INFO

py_binary = native.py_binary
py_library = native.py_library
py_runtime = native.py_runtime
py_runtime_pair = _py_runtime_pair
py_test = native.py_test
