"""`zipapp`: one executable file that holds murmur and every distribution that it needs.

    zipapp(
        name = "zipapp",
        out = "zipapp.pyz",
        deps = ["//py/murmur/cli"],
        entry = "murmur.cli.main:main",
    )

Without `wheels` it is for the building interpreter and machine, and holds the unpacked distributions that `deps`
require. With `wheels` and `versions` it holds those wheels instead, for several interpreters of one `machine`.
"""

load("@python_interpreter//:version.bzl", "PYTHON_VERSION")
load("@rules_python//python:defs.bzl", "PyInfo")

_IMPORT_ROOT = "py/"

_MACHINES = {
    "aarch64": "aarch64",
    "k8": "x86_64",
}

def _payload_name(file):
    """Where a runfile goes in the payload: below its import root."""
    if file.short_path.startswith("../"):
        return file.short_path.partition("/site-packages/")[2]
    if file.short_path.startswith(_IMPORT_ROOT):
        return file.short_path[len(_IMPORT_ROOT):]
    fail("{} lies outside {}, so a zipapp has no place for it".format(file.short_path, _IMPORT_ROOT))

def _zipapp_impl(ctx):
    files = depset(transitive = [dep[DefaultInfo].default_runfiles.files for dep in ctx.attr.deps]).to_list()
    installed = {
        file.owner.workspace_name: True
        for file in files
        if file.short_path.startswith("../")
    }.keys()
    if ctx.files.wheels:
        files = [file for file in files if not file.short_path.startswith("../")]
    files = [file for file in files if not file.basename.endswith(".pyc")]
    arguments = ctx.actions.args()
    arguments.add("--output", ctx.outputs.out)
    arguments.add("--entry", ctx.attr.entry)
    arguments.add("--machine", ctx.attr.machine or _MACHINES[ctx.var["TARGET_CPU"]])
    arguments.add_all(ctx.attr.versions or [PYTHON_VERSION], before_each = "--version")
    arguments.add_all(ctx.files._launcher, before_each = "--launcher")
    if ctx.files.wheels:
        arguments.add_all(ctx.files.wheels, before_each = "--wheel")
        arguments.add_all(installed, before_each = "--installed")
    for file in files:
        arguments.add("--file", file, format = _payload_name(file) + "=%s")
    inputs = files + ctx.files._launcher + ctx.files.wheels
    if ctx.attr.commit_file:
        arguments.add("--commit-file", ctx.attr.commit_file)
        arguments.add("--status", ctx.info_file)
        inputs.append(ctx.info_file)
    arguments.use_param_file("@%s", use_always = True)
    arguments.set_param_file_format("multiline")
    ctx.actions.run(
        executable = ctx.executable._build,
        arguments = [arguments],
        inputs = inputs,
        outputs = [ctx.outputs.out],
        mnemonic = "Zipapp",
        progress_message = "Packing %s" % ctx.outputs.out.short_path,
    )
    return [DefaultInfo(files = depset([ctx.outputs.out]))]

zipapp = rule(
    implementation = _zipapp_impl,
    attrs = {
        "commit_file": attr.string(doc = "Where the payload carries the commit that it was built from."),
        "deps": attr.label_list(mandatory = True, providers = [PyInfo]),
        "entry": attr.string(mandatory = True),
        "machine": attr.string(),
        "out": attr.output(mandatory = True),
        "versions": attr.string_list(),
        "wheels": attr.label_list(allow_files = [".whl"]),
        "_build": attr.label(default = "//tools/pyz:build", cfg = "exec", executable = True),
        "_launcher": attr.label_list(
            default = ["//tools/pyz:__main__.py", "//tools/pyz:unpacking.py"],
            allow_files = True,
        ),
    },
)
