"""Finds the CPython that builds, tests and runs use.

Supported are CPython 3.11 to 3.14. The first of these that works is taken: the program that $MURMUR_PYTHON
names, then on $PATH `python3` (what the shebang of a built `mur` would pick) and `python3.14` down to
`python3.11`, then the same names in /usr/bin and /usr/local/bin. "Works" means: starts, is CPython of a
supported version, and has the modules that building needs, pip among them.
"""

_NAMES = ["python3", "python3.14", "python3.13", "python3.12", "python3.11"]

_FOLDERS = ["/usr/bin", "/usr/local/bin"]

_BUILD = """\
load("@rules_python//python:defs.bzl", "py_runtime", "py_runtime_pair")

exports_files(["python"])

py_runtime(
    name = "runtime",
    interpreter_path = "{path}",
    python_version = "PY3",
    visibility = ["//visibility:public"],
)

py_runtime_pair(
    name = "pair",
    py3_runtime = ":runtime",
)

toolchain(
    name = "toolchain",
    toolchain = ":pair",
    toolchain_type = "@bazel_tools//tools/python:toolchain_type",
)
"""

def _candidates(rctx):
    chosen = rctx.os.environ.get("MURMUR_PYTHON", "")
    if chosen:
        return [chosen]
    found = [rctx.which(name) for name in _NAMES]
    found += [rctx.path(folder + "/" + name) for folder in _FOLDERS for name in _NAMES]
    unique = {}
    for path in found:
        if path and path.exists:
            unique[str(path)] = True
    return unique.keys()

def _python_interpreter_impl(rctx):
    tried = []
    for candidate in _candidates(rctx):
        result = rctx.execute(
            [candidate, "-I", rctx.path(rctx.attr._probe)],
            environment = {"PYTHONDONTWRITEBYTECODE": "1"},
            timeout = 60,
        )
        answer = result.stdout.strip().split("\n")
        if result.return_code == 0 and len(answer) == 2:
            rctx.file("BUILD.bazel", _BUILD.format(path = answer[0]))
            rctx.file("version.bzl", "PYTHON_VERSION = \"{}\"\n".format(answer[1]))
            rctx.symlink(answer[0], "python")
            return
        tried.append("{}: {}".format(candidate, result.stdout.strip() or "does not start"))
    fail("murmur needs CPython 3.11 to 3.14 with pip (name one in MURMUR_PYTHON); {}".format(
        "; ".join(tried) or "found no python3",
    ))

python_interpreter = repository_rule(
    implementation = _python_interpreter_impl,
    attrs = {
        "_probe": attr.label(default = "//tools/python:probe.py", allow_single_file = True),
    },
    environ = ["MURMUR_PYTHON", "PATH"],
    doc = "A repository with `:toolchain`, the interpreter as `:python` and PYTHON_VERSION in version.bzl.",
)
