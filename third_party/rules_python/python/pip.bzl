"""Wheels from a hash-pinned lock, under the load path and the attribute names of rules_python.

In WORKSPACE:

    pip_parse(name = "pip", requirements_lock = "//third_party:requirements.lock", ...)
    load("@pip//:requirements.bzl", "install_deps")
    install_deps()

and in a BUILD or .bzl file `load("@pip//:requirements.bzl", "requirement")`. Every distribution is a repository
of its own, `@pip_<name>`, fetched by pip when a target first needs it: `:pkg` is the library (what it requires
on this interpreter comes with it), `:whl` the wheel itself, `bin/` the programs that it ships.
"""

def _normalised(name):
    return name.lower().replace("-", "_").replace(".", "_")

def _parse_lock(text):
    """The lock's entries: normalised name -> (extras, requirement with its hashes, without its marker)."""
    entries = {}
    for line in text.replace("\\\n", " ").splitlines():
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        specifier = line.partition(" --hash=")[0]
        hashes = ["--hash=" + word for word in line.split(" --hash=")[1:]]
        if not hashes:
            fail("{} is locked without a hash".format(line))
        pin = specifier.partition(";")[0].strip()
        name = pin.partition("==")[0]
        extras = name.partition("[")[2].rstrip("]")
        bare = name.partition("[")[0]
        entries[_normalised(bare)] = (
            extras,
            " ".join([bare + "==" + pin.partition("==")[2]] + [word.strip() for word in hashes]),
        )
    return entries

_REQUIREMENTS_BZL = '''"""Generated from {lock}: one repository for each locked distribution."""

load("@rules_python//python:pip.bzl", "whl_library")

_LOCKED = {locked}

def requirement(name):
    """The library of a locked distribution, by its PyPI name (extras are the lock's business)."""
    wanted = name.partition("[")[0].lower().replace("-", "_").replace(".", "_")
    if wanted not in _LOCKED:
        fail("%s is not in {lock}" % name)
    return "@{prefix}%s//:pkg" % wanted

def install_deps():
    """Declares the repositories; each is fetched when something first needs it."""
    for name, entry in _LOCKED.items():
        whl_library(
            name = "{prefix}" + name,
            extras = entry[0],
            locked = _LOCKED.keys(),
            python_interpreter_target = "{python}",
            repo_prefix = "{prefix}",
            requirement = entry[1],
        )
'''

def _pip_parse_impl(rctx):
    rctx.file("BUILD.bazel", "exports_files([\"requirements.bzl\"])\n")
    rctx.file("requirements.bzl", _REQUIREMENTS_BZL.format(
        lock = rctx.attr.requirements_lock,
        locked = repr(_parse_lock(rctx.read(rctx.attr.requirements_lock))),
        prefix = rctx.name + "_",
        python = rctx.attr.python_interpreter_target,
    ))

pip_parse = repository_rule(
    implementation = _pip_parse_impl,
    attrs = {
        "python_interpreter_target": attr.label(mandatory = True),
        "requirements_lock": attr.label(mandatory = True, allow_single_file = True),
    },
    doc = "The hub repository: `requirements.bzl` with `requirement()` and `install_deps()`.",
)

def _pip_environment():
    # What the host set for pip (an index, a certificate) stays as it is: where packages come from is the
    # host's business, what they are is the lock's.
    return {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PYTHONDONTWRITEBYTECODE": "1"}

def _whl_library_impl(rctx):
    rctx.file("requirement.txt", rctx.attr.requirement + "\n")
    result = rctx.execute(
        [
            rctx.path(rctx.attr.python_interpreter_target),
            "-I",
            rctx.path(rctx.attr._fetch),
            "--requirement=requirement.txt",
            "--extras=" + rctx.attr.extras,
            "--repo-prefix=" + rctx.attr.repo_prefix,
        ] + rctx.attr.locked,
        environment = _pip_environment(),
    )
    if result.return_code:
        fail("cannot fetch {}: {}{}".format(
            rctx.attr.requirement.partition(" ")[0],
            result.stdout,
            result.stderr,
        ))

whl_library = repository_rule(
    implementation = _whl_library_impl,
    attrs = {
        "extras": attr.string(),
        "locked": attr.string_list(),
        "python_interpreter_target": attr.label(mandatory = True),
        "repo_prefix": attr.string(mandatory = True),
        "requirement": attr.string(mandatory = True),
        "_fetch": attr.label(default = "//python:fetch_wheel.py", allow_single_file = True),
    },
    doc = "One distribution, installed by pip with --require-hashes from one line of the lock.",
)

def _whl_set_impl(rctx):
    entries = _parse_lock(rctx.read(rctx.attr.requirements_lock))
    wanted = []
    for name in rctx.attr.distributions:
        if _normalised(name) not in entries:
            fail("{} is not in {}".format(name, rctx.attr.requirements_lock))
        wanted.append(entries[_normalised(name)][1])
    rctx.file("requirements.txt", "\n".join(wanted) + "\n")
    result = rctx.execute(
        [
            rctx.path(rctx.attr.python_interpreter_target),
            "-I",
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "--require-hashes",
            "--only-binary=:all:",
            "--requirement=requirements.txt",
            "--dest=wheels",
            "--implementation=cp",
            "--python-version=" + rctx.attr.python_version,
            "--abi=cp" + rctx.attr.python_version.replace(".", ""),
            "--abi=abi3",
            "--abi=none",
        ] + ["--platform=" + platform for platform in rctx.attr.platforms],
        environment = _pip_environment(),
        timeout = 1200,
    )
    if result.return_code:
        fail("cannot fetch the wheels for CPython {}: {}{}".format(
            rctx.attr.python_version,
            result.stdout,
            result.stderr,
        ))
    rctx.file("BUILD.bazel", """\
filegroup(
    name = "wheels",
    srcs = glob(["wheels/*.whl"]),
    visibility = ["//visibility:public"],
)
""")

whl_set = repository_rule(
    implementation = _whl_set_impl,
    attrs = {
        "distributions": attr.string_list(mandatory = True),
        "platforms": attr.string_list(mandatory = True),
        "python_interpreter_target": attr.label(mandatory = True),
        "python_version": attr.string(mandatory = True),
        "requirements_lock": attr.label(mandatory = True, allow_single_file = True),
    },
    doc = "The wheels of the named locked distributions for another interpreter or machine, not unpacked.",
)
