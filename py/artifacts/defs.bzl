"""`python_artifact`: everything that a default artifact written in Python needs of the build.

    python_artifact(
        name = "tool-editor",                 # the folder's own name
        module = "editor_tool",               # its package; <module>/component.py is what the component runs
        world = "folder-tool",                # of //py/artifacts/wit:worlds.wit
    )

Gives the artifact itself, `component`, the library `<module>` without what only a component can import, and its
tests in tests/ as `<module>_test`.

`skill_artifact`: a folder whose skill.md is all that its artifact packs.
"""

load("@rules_python//python:defs.bzl", "py_library")
load("//tools/python:defs.bzl", "murmur_test")
load("//tools/wasm:defs.bzl", "mur_artifact", "wasm_component")

def python_artifact(
        name,
        module,
        world,
        version = "0.1.0",
        shared = [],
        deps = [],
        test_deps = [],
        test_data = [],
        test_requirements = [],
        parser = False):
    """Declares one artifact.

    Args:
      name: the artifact's bare name.
      module: its Python package.
      world: the world that its component is built for.
      version: as in murmur.yaml.
      shared: sources of other packages that go into the component.
      deps: libraries with the same sources, for tests in plain Python.
      test_deps: what the tests import besides.
      test_data: files that the tests read.
      test_requirements: PyPI names of locked distributions that the tests import.
      parser: whether it parses Python, so that its interpreter keeps parser and compiler.
    """
    sources = native.glob([module + "/*.py"])
    wasm_component(
        name = "component",
        srcs = sources + shared,
        main_module = module + ".component",
        parser = parser,
        visibility = ["//tests:__subpackages__"],
        wit = ["//py/artifacts/wit:worlds.wit"],
        world = world,
    )
    mur_artifact(
        name = name,
        files = {":component": "capsule.wasm"},
        version = version,
        visibility = ["//visibility:public"],
    )
    native.exports_files(
        ["murmur.yaml"],
        visibility = ["//tests:__subpackages__"],
    )
    py_library(
        name = module,
        srcs = [source for source in sources if source != module + "/component.py"],
        imports = ["."],
        visibility = ["//tests:__subpackages__"],
        deps = deps,
    )
    murmur_test(
        name = module + "_test",
        srcs = native.glob(["tests/*.py"]),
        data = test_data,
        requirements = test_requirements,
        deps = [":" + module] + test_deps,
    )

def skill_artifact(name, version = "0.1.0"):
    """Declares one skill.

    Args:
      name: the artifact's bare name, the folder's own.
      version: as in murmur.yaml.
    """
    mur_artifact(
        name = name,
        files = {"skill.md": "skill.md"},
        version = version,
        visibility = ["//visibility:public"],
    )
