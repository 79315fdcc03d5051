"""The macros that every Python package of murmur is declared with.

    load("//tools/python:defs.bzl", "murmur_library", "murmur_test")

    murmur_library(
        name = "store",                       # the package's name, so that its label is //py/murmur/store
        srcs = glob(["*.py"]),
        requirements = ["pyyaml"],            # PyPI names, locked in //third_party:requirements.lock
        visibility = [                        # who may import it; private unless said
            "//py/murmur/cli:__subpackages__",
            "//py/murmur/session:__subpackages__",
        ],
        deps = ["//py/murmur/core"],
    )

    murmur_test(
        name = "store_test",
        srcs = glob(["tests/*.py"]),          # test_*.py are handed to pytest, the rest they may import
        requirements = ["hypothesis"],
        deps = [":store"],
    )

The import root of everything below py/ is py/. A library's own modules, the modules of its direct `deps`, the
standard library and what the direct `requirements` ship are all that its sources may import, at whatever depth
the import statement stands; any other import fails the build of the library and of whatever depends on it.
Generated sources (labels of genrules in `srcs`) count as modules like any other. Tests may import anything.
"""

load("@pip//:requirements.bzl", "requirement")
load("@rules_python//python:defs.bzl", "PyInfo", "py_binary", "py_test")

MurmurModulesInfo = provider(
    doc = "What a murmur_library lets those import that name it in their deps.",
    fields = {"modules": "List of dotted module names of its own sources."},
)

def _import_root():
    return "py" if native.package_name().split("/")[0] == "py" else ""

def _module_name(path, root):
    """The dotted name of the module at `path`, which lies below the import root."""
    prefix = root + "/" if root else ""
    if not path.startswith(prefix):
        fail("{} lies outside the import root {}".format(path, root))
    parts = path[len(prefix):].rsplit(".", 1)[0].split("/")
    if parts[-1] == "__init__":
        parts = parts[:-1]
    return ".".join(parts)

def _shipped_modules(target):
    """The top-level modules of a wheel's library: what lies directly in its site-packages."""
    modules = {}
    files = target[DefaultInfo].files.to_list() + [
        file
        for file in target[DefaultInfo].default_runfiles.files.to_list()
        if file.owner.workspace_name == target.label.workspace_name
    ]
    for file in files:
        inside = file.short_path.partition("/site-packages/")[2]
        if inside and ".dist-info/" not in inside:
            modules[inside.split("/")[0].split(".")[0]] = True
    return modules.keys()

def _murmur_library_impl(ctx):
    own = [_module_name(file.short_path, ctx.attr.import_root) for file in ctx.files.srcs]
    allowed = list(own)
    for dep in ctx.attr.deps:
        allowed += dep[MurmurModulesInfo].modules
    shipped = []
    for wheel in ctx.attr.wheels:
        shipped += _shipped_modules(wheel)

    stamp = ctx.actions.declare_file(ctx.label.name + ".imports")
    arguments = ctx.actions.args()
    arguments.add("--label", str(ctx.label))
    arguments.add("--root", ctx.attr.import_root)
    arguments.add("--stamp", stamp)
    arguments.add_all("--module", allowed)
    arguments.add_all("--shipped", shipped)
    arguments.add_all("--source", ctx.files.srcs)
    arguments.use_param_file("@%s")
    arguments.set_param_file_format("multiline")
    ctx.actions.run(
        executable = ctx.executable._checker,
        arguments = [arguments],
        inputs = ctx.files.srcs,
        outputs = [stamp],
        mnemonic = "CheckImports",
        progress_message = "Checking the imports of %s" % ctx.label,
    )

    providers = [dep for dep in ctx.attr.deps + ctx.attr.wheels]
    runfiles = ctx.runfiles(files = ctx.files.srcs + ctx.files.data)
    for target in providers + ctx.attr.data:
        runfiles = runfiles.merge(target[DefaultInfo].default_runfiles)
    return [
        DefaultInfo(files = depset(ctx.files.srcs), runfiles = runfiles),
        MurmurModulesInfo(modules = own),
        # Validations run whenever anything that depends on this library is built.
        OutputGroupInfo(_validation = depset([stamp])),
        PyInfo(
            has_py3_only_sources = True,
            imports = depset(
                [ctx.workspace_name + ("/" + ctx.attr.import_root if ctx.attr.import_root else "")],
                transitive = [target[PyInfo].imports for target in providers],
            ),
            transitive_sources = depset(
                ctx.files.srcs,
                order = "postorder",
                transitive = [target[PyInfo].transitive_sources for target in providers],
            ),
        ),
    ]

_murmur_library = rule(
    implementation = _murmur_library_impl,
    attrs = {
        "data": attr.label_list(allow_files = True),
        "deps": attr.label_list(providers = [PyInfo, MurmurModulesInfo]),
        "import_root": attr.string(),
        "srcs": attr.label_list(allow_files = [".py", ".pyi"]),
        "wheels": attr.label_list(providers = [PyInfo]),
        "_checker": attr.label(
            default = "//tools/python:check_imports",
            cfg = "exec",
            executable = True,
        ),
    },
)

def murmur_library(name, srcs, deps = [], requirements = [], data = [], visibility = None, **kwargs):
    """A package of Python modules whose imports are checked against its direct dependencies.

    Args:
      name: the target, by custom the package's own name.
      srcs: .py files and labels of rules that generate them.
      deps: murmur_library targets.
      requirements: PyPI names of locked distributions.
      data: files that the modules read at run time.
      visibility: who may depend on it; nobody outside its BUILD file unless said.
      **kwargs: what every rule takes (tags, testonly).
    """
    package = "//py/murmur:package"
    is_package = native.package_name() == "py/murmur" and name == "package"
    _murmur_library(
        name = name,
        srcs = srcs,
        data = data,
        import_root = _import_root(),
        visibility = visibility or ["//visibility:private"],
        wheels = [requirement(each) for each in requirements],
        deps = deps + ([] if is_package or not native.package_name().startswith("py/murmur") else [package]),
        **kwargs
    )

def murmur_binary(name, main, srcs = [], deps = [], requirements = [], **kwargs):
    """A program: `main` is the .py file that runs, `srcs` what else lies beside it.

    Args:
      name: the target.
      main: the file to run.
      srcs: further sources.
      deps: libraries.
      requirements: PyPI names of locked distributions.
      **kwargs: what py_binary takes (args, data, env, tags, visibility).
    """
    py_binary(
        name = name,
        srcs = srcs if main in srcs else srcs + [main],
        imports = [_up_to_root() + _import_root()],
        main = main,
        python_version = "PY3",
        deps = deps + [requirement(each) for each in requirements],
        **kwargs
    )

def _up_to_root():
    return "../" * len([part for part in native.package_name().split("/") if part])

def murmur_test(
        name,
        srcs,
        deps = [],
        requirements = [],
        data = [],
        args = [],
        size = "small",
        pytest_args = [],
        **kwargs):
    """Runs the test_*.py among `srcs` under pytest, configured by //:pyproject.toml.

    Args:
      name: the target.
      srcs: test modules (test_*.py), conftest.py and modules that they import.
      deps: libraries under test, and any other.
      requirements: PyPI names beyond pytest.
      data: files that the tests read, found below the current folder, which is the root of the runfiles.
      args: further arguments after the test files.
      size: small (60 s), medium (300 s), large (3600 s).
      pytest_args: options for pytest, such as ["-n2"] with requirement "pytest-xdist".
      **kwargs: what py_test takes (env, flaky, tags, timeout, visibility). Containment tests, which cannot
        run inside Bazel's own sandbox, are tagged ["local", "exclusive"]; long ones ["long"].
    """
    runner = "//tools/python:run_pytest.py"
    files = [
        src
        for src in srcs
        if src.endswith(".py") and src.split("/")[-1].split(":")[-1].startswith("test_")
    ]
    paths = ["$(rootpath %s)" % file for file in files]
    if not files:
        # The test fails, and says why; the package's other targets stay buildable.
        paths = ["srcs-name-no-test-file"]
    if size == "large" and "timeout" not in kwargs:
        # Bazel counts a test's timeout among its tags, and the one of large tests is called long: the tag of those
        # that //... leaves out.
        kwargs["timeout"] = "eternal"
    py_test(
        name = name,
        size = size,
        srcs = srcs + [runner],
        args = pytest_args + paths + args,
        data = data + ["//:pyproject.toml"],
        imports = [_up_to_root() + _import_root()],
        main = runner,
        python_version = "PY3",
        deps = deps + [requirement(each) for each in requirements + ["pytest"]],
        **kwargs
    )
