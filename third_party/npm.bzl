"""Packages from the npm registry, through npm's own client, pinned by integrity hash."""

# Prints the Subresource Integrity string of a file.
_INTEGRITY = """
import base64, hashlib, sys
digest = hashlib.sha512(open(sys.argv[1], "rb").read()).digest()
print("sha512-" + base64.b64encode(digest).decode(), end="")
"""

def _npm_package_impl(rctx):
    spec = "{}@{}".format(rctx.attr.package, rctx.attr.version)
    npm = rctx.which("npm")
    if not npm:
        fail("{} is fetched with npm, which is not installed (Debian: apt-get install npm)".format(spec))
    packed = rctx.execute([npm, "pack", "--silent", "--ignore-scripts", spec])
    if packed.return_code:
        fail("cannot fetch {}: {}".format(spec, packed.stderr))
    archive = packed.stdout.strip().split("\n")[-1]
    python = rctx.path(rctx.attr.python_interpreter_target)
    found = rctx.execute([python, "-I", "-c", _INTEGRITY, archive])
    if found.stdout != rctx.attr.integrity:
        fail("{} has the integrity {}, not {}".format(spec, found.stdout, rctx.attr.integrity))
    rctx.extract(archive, stripPrefix = "package")
    rctx.delete(archive)
    rctx.file("BUILD.bazel", rctx.attr.build_file_content)

npm_package = repository_rule(
    implementation = _npm_package_impl,
    attrs = {
        "build_file_content": attr.string(mandatory = True),
        "integrity": attr.string(mandatory = True),
        "package": attr.string(mandatory = True),
        "python_interpreter_target": attr.label(mandatory = True),
        "version": attr.string(mandatory = True),
    },
    doc = "One package, unpacked; its dependencies are not.",
)
