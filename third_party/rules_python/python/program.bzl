"""py_binary and py_test: a shell launcher that finds its runfiles and execs the toolchain's interpreter.

The interpreter sees the import paths of the dependencies and the standard library: neither the script's own
folder nor any site-packages but those of the dependencies.
"""

_TOOLCHAIN = "@bazel_tools//tools/python:toolchain_type"

_LAUNCHER = """\
#!/bin/sh
# {label}
self=$0
case $self in /*) ;; *) self=$PWD/$self ;; esac
runfiles=
while :; do
  if [ -d "$self.runfiles" ]; then runfiles=$self.runfiles; break; fi
  case $self in *.runfiles/*) runfiles=${{self%.runfiles/*}}.runfiles; break ;; esac
  [ -L "$self" ] || break
  target=$(readlink "$self")
  case $target in /*) self=$target ;; *) self=$(dirname "$self")/$target ;; esac
done
if [ -z "$runfiles" ]; then
  echo "$0: cannot find its runfiles; build {label} again" >&2
  exit 1
fi
export RUNFILES_DIR="$runfiles" PYTHONNOUSERSITE=1 PYTHONSAFEPATH=1
export PYTHONPATH="{path}"
{environment}exec {interpreter} -S "$runfiles/{main}" "$@"
"""

def _quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"

def _main_file(ctx):
    if ctx.file.main:
        return ctx.file.main
    for file in ctx.files.srcs:
        if file.basename == ctx.label.name + ".py":
            return file
    fail("{} needs main, or a source {}.py".format(ctx.label, ctx.label.name))

def _import_paths(ctx):
    base = [ctx.workspace_name] + [part for part in ctx.label.package.split("/") if part]
    paths = []
    for entry in ctx.attr.imports:
        parts = list(base)
        for part in entry.split("/"):
            if part == "..":
                parts = parts[:-1]
            elif part and part != ".":
                parts.append(part)
        paths.append("/".join(parts))
    return paths

def _runfiles_path(ctx, file):
    return file.short_path[3:] if file.short_path.startswith("../") else ctx.workspace_name + "/" + file.short_path

def _program_impl(ctx):
    imports = depset(
        _import_paths(ctx),
        transitive = [dep[PyInfo].imports for dep in ctx.attr.deps],
    )
    environment = [
        "export {}={}\n".format(name, _quoted(ctx.expand_location(value, ctx.attr.data)))
        for name, value in ctx.attr.env.items()
    ]
    launcher = ctx.actions.declare_file(ctx.label.name)
    ctx.actions.write(launcher, is_executable = True, content = _LAUNCHER.format(
        environment = "".join(environment),
        interpreter = _quoted(ctx.toolchains[_TOOLCHAIN].py3_runtime.interpreter_path),
        label = ctx.label,
        main = _runfiles_path(ctx, _main_file(ctx)),
        path = ":".join(["$runfiles/" + path for path in imports.to_list()]),
    ))
    own = ctx.files.srcs + ctx.files.data + [_main_file(ctx)]
    runfiles = ctx.runfiles(files = own)
    for target in ctx.attr.deps + ctx.attr.data + ctx.attr.srcs:
        runfiles = runfiles.merge(target[DefaultInfo].default_runfiles)
    return [
        DefaultInfo(executable = launcher, files = depset([launcher]), runfiles = runfiles),
        PyInfo(
            has_py3_only_sources = True,
            imports = imports,
            transitive_sources = depset(
                ctx.files.srcs,
                transitive = [dep[PyInfo].transitive_sources for dep in ctx.attr.deps],
            ),
        ),
    ]

_ATTRIBUTES = {
    "data": attr.label_list(allow_files = True),
    "deps": attr.label_list(providers = [PyInfo]),
    "env": attr.string_dict(),
    "imports": attr.string_list(),
    "main": attr.label(allow_single_file = [".py"]),
    "python_version": attr.string(default = "PY3", values = ["PY3"]),
    "srcs": attr.label_list(allow_files = [".py"]),
}

py_binary = rule(
    implementation = _program_impl,
    attrs = _ATTRIBUTES,
    executable = True,
    toolchains = [_TOOLCHAIN],
)

py_test = rule(
    implementation = _program_impl,
    attrs = _ATTRIBUTES,
    test = True,
    toolchains = [_TOOLCHAIN],
)
