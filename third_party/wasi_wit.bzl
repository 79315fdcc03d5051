"""WASI's WIT documents, out of a wheel that carries them: no registry but PyPI, pinned by the lock's hash."""

_PACKAGES = ["cli", "clocks", "filesystem", "http", "io", "random", "sockets"]

def _wasi_wit_impl(rctx):
    inside = rctx.path(rctx.attr.wheel).dirname.get_child("site-packages").get_child("spin_sdk")
    found = inside.get_child("wit").get_child("deps")
    for package in _PACKAGES:
        name = "{}@{}".format(package, rctx.attr.version)
        if not found.get_child(name).exists:
            fail("{} has no {}".format(rctx.attr.wheel, name))
        rctx.symlink(found.get_child(name), "wasi/" + name)
    rctx.file("BUILD.bazel", """\
filegroup(
    name = "wit",
    srcs = glob(["wasi/*/*.wit"]),
    visibility = ["//visibility:public"],
)
""")

wasi_wit = repository_rule(
    implementation = _wasi_wit_impl,
    attrs = {
        "version": attr.string(mandatory = True),
        "wheel": attr.label(mandatory = True, doc = "The BUILD file of the wheel's repository."),
    },
    doc = "`:wit`, the documents of WASI's packages at one version, each package in a folder of its own.",
)
