"""The runtime's distributions for every interpreter and machine of a release, fetched when a release is built."""

load("@rules_python//python:pip.bzl", "whl_set")
load(":defs.bzl", "MACHINES", "PYTHON_VERSIONS", "wheels_repository")

# What //py/murmur/cli requires, and what that requires, on any supported interpreter. The zipapp rule refuses a
# release whose wheels are not exactly these.
_DISTRIBUTIONS = [
    "annotated-types",
    "anyio",
    "bpe-openai",
    "cffi",
    "click",
    "h11",
    "idna",
    "pycparser",
    "pydantic",
    "pydantic-core",
    "pyyaml",
    "starlette",
    "typing-extensions",
    "typing-inspection",
    "uvicorn",
    "wasmtime",
]

# glibc 2.28 and later: Debian 10, RHEL 8.
_TAGS = ["manylinux1", "manylinux2010", "manylinux2014"] + [
    "manylinux_2_{}".format(minor)
    for minor in range(5, 29)
]

def release_wheels():
    """Declares one repository for each interpreter of each machine."""
    for machine in MACHINES:
        for python_version in PYTHON_VERSIONS:
            whl_set(
                name = wheels_repository(machine, python_version),
                distributions = _DISTRIBUTIONS,
                platforms = ["{}_{}".format(tag, machine) for tag in _TAGS],
                python_interpreter_target = "@python_interpreter//:python",
                python_version = python_version,
                requirements_lock = "//third_party:requirements.lock",
            )
