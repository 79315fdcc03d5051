"""What a release consists of: for each machine one zipapp and one helper, checksums, the AppArmor profile."""

load("//tools/pyz:defs.bzl", "zipapp")

# Machine, as uname prints it -> Bazel's word for it.
MACHINES = {
    "aarch64": "aarch64",
    "x86_64": "k8",
}

PYTHON_VERSIONS = ["3.11", "3.12", "3.13", "3.14"]

def wheels_repository(machine, python_version):
    """The repository with the wheels of the runtime's distributions for one interpreter of one machine."""
    return "pip_{}_cp{}".format(machine, python_version.replace(".", ""))

def release_zipapp(name, machine, **kwargs):
    """A zipapp for every supported interpreter of one machine.

    Args:
      name: the target; the file is <name>.pyz.
      machine: one of MACHINES.
      **kwargs: deps and entry, as of zipapp.
    """
    zipapp(
        name = name,
        out = name + ".pyz",
        machine = machine,
        tags = ["manual"],
        versions = PYTHON_VERSIONS,
        wheels = ["@{}//:wheels".format(wheels_repository(machine, each)) for each in PYTHON_VERSIONS],
        **kwargs
    )

def _machine_transition_impl(_settings, attr):
    return {
        "//command_line_option:compilation_mode": "opt",
        "//command_line_option:cpu": MACHINES[attr.machine],
        "//command_line_option:crosstool_top": "//tools/release:toolchains",
    }

_machine_transition = transition(
    implementation = _machine_transition_impl,
    inputs = [],
    outputs = [
        "//command_line_option:compilation_mode",
        "//command_line_option:cpu",
        "//command_line_option:crosstool_top",
    ],
)

def _release_files_impl(ctx):
    outputs = []
    [version] = [file for file in ctx.files._core if file.basename == "version.py"]
    named = ctx.actions.declare_file(ctx.label.name + ".version")
    ctx.actions.run_shell(
        arguments = [ctx.attr.version, version.path, named.path],
        command = """grep -qxF "VERSION: Final = \\"$1\\"" "$2" && echo "$1" >"$3" || {
  echo "the release is named $1, and $2 says otherwise" >&2
  exit 1
}""",
        inputs = [version],
        outputs = [named],
    )
    for program, targets in [("mur", ctx.attr.zipapp), ("mur-sandbox", ctx.attr.helper)]:
        output = ctx.actions.declare_file("{}/{}-{}-linux-{}".format(
            ctx.attr.folder,
            program,
            ctx.attr.version,
            ctx.attr.machine,
        ))
        ctx.actions.run_shell(
            arguments = [targets[0].files.to_list()[0].path, output.path],
            command = "cp \"$1\" \"$2\" && chmod 755 \"$2\"",
            inputs = targets[0].files.to_list() + [named],
            outputs = [output],
        )
        outputs.append(output)
    return [DefaultInfo(files = depset(outputs))]

release_files = rule(
    implementation = _release_files_impl,
    attrs = {
        "folder": attr.string(mandatory = True),
        "helper": attr.label(cfg = _machine_transition, mandatory = True),
        "machine": attr.string(mandatory = True, values = MACHINES.keys()),
        "version": attr.string(mandatory = True),
        "zipapp": attr.label(cfg = _machine_transition, mandatory = True),
        "_core": attr.label(default = "//py/murmur/core"),
        "_allowlist_function_transition": attr.label(
            default = "@bazel_tools//tools/allowlists/function_transition_allowlist",
        ),
    },
    doc = "<folder>/mur-<version>-linux-<machine> and mur-sandbox-..., built for that machine.",
)

def _release_native_artifact_impl(ctx):
    [archive] = ctx.attr.archive[0].files.to_list()
    output = ctx.actions.declare_file("{}/{}-linux-{}.mur.zip".format(
        ctx.attr.folder,
        archive.basename[:-len(".mur.zip")],
        ctx.attr.machine,
    ))
    ctx.actions.run_shell(
        arguments = [archive.path, output.path],
        command = "cp \"$1\" \"$2\"",
        inputs = [archive],
        outputs = [output],
    )
    return [DefaultInfo(files = depset([output]))]

release_native_artifact = rule(
    implementation = _release_native_artifact_impl,
    attrs = {
        "archive": attr.label(cfg = _machine_transition, mandatory = True),
        "folder": attr.string(mandatory = True),
        "machine": attr.string(mandatory = True, values = MACHINES.keys()),
        "_allowlist_function_transition": attr.label(
            default = "@bazel_tools//tools/allowlists/function_transition_allowlist",
        ),
    },
    doc = "A native artifact built for that machine, as <folder>/<name>-<version>-linux-<machine>.mur.zip.",
)
