#!/usr/bin/env python3
"""Builds the default artifacts' components without Bazel, for work on them:

    tools/dev/build_artifacts.py [--force] [--pack FOLDER] [NAME...]

Each goes to $MURMUR_DEV (default /tmp/murdev)/artifacts/<name>/ with murmur.yaml and capsule.wasm,
or skill.md. What it consists of is read from the BUILD.bazel files, which are Python enough for it.
Needs an interpreter that has componentize-py and spin-sdk. An artifact is left alone when its
sources and tools/wasm are older than its component. With --pack, `mur build` also makes its
.mur.zip in FOLDER.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
ARTIFACTS = ROOT / "py" / "artifacts"


class Package:
    """What one BUILD.bazel declares: its targets, each as the rule's arguments."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.targets: dict[str, dict[str, Any]] = {}
        names: dict[str, Any] = {"load": self._nothing, "glob": self._glob}
        text = (folder / "BUILD.bazel").read_text()
        code = compile(text, str(folder / "BUILD.bazel"), "exec")
        for name in code.co_names:
            names.setdefault(name, self._rule(name))
        exec(code, names)

    def _nothing(self, *_: object, **__: object) -> None:
        pass

    def _rule(self, kind: str) -> Any:
        def declare(*_: object, **arguments: Any) -> None:
            self.targets[arguments.get("name", kind)] = {"rule": kind, **arguments}

        return declare

    def _glob(self, patterns: list[str], exclude: list[str] | None = None) -> list[str]:
        left_out = {path for pattern in exclude or [] for path in self.folder.glob(pattern)}
        found = {path for pattern in patterns for path in self.folder.glob(pattern)}
        return sorted(str(path.relative_to(self.folder)) for path in found - left_out)


def sources(label: str, package: Package) -> list[Path]:
    """The files of a filegroup, or the file itself."""
    if label.startswith("//"):
        place, _, name = label[2:].partition(":")
        package = Package(ROOT / place)
        label = ":" + (name or package.folder.name)
    if not label.startswith(":"):
        return [package.folder / label]
    group = package.targets[label[1:]]
    return [path for entry in group["srcs"] for path in sources(entry, package)]


def place(path: Path) -> str:
    """Where a source lies for the component: below its package, one of the runtime's below py/."""
    if path.is_relative_to(ROOT / "py" / "murmur"):
        return str(path.relative_to(ROOT / "py"))
    return str(Path(*path.relative_to(ARTIFACTS).parts[1:]))


def still_library(out: Path) -> Path:
    """The library that holds builds still, made where it is missing or older than its source."""
    library, source = out / "libstill.so", ROOT / "tools" / "wasm" / "still.c"
    if not library.exists() or source.stat().st_mtime > library.stat().st_mtime:
        compiler = os.environ.get("CC", "cc")
        subprocess.run([compiler, "-shared", "-fPIC", "-O2", "-o", library, source], check=True)
    return library


def build(artifact: dict[str, Any], package: Package, out: Path, *, force: bool) -> None:
    """Puts one artifact's manifest and payload, componentized if need be, below `out`."""
    name = artifact["name"]
    folder = out / "artifacts" / name
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(package.folder / "murmur.yaml", folder / "murmur.yaml")
    if artifact["rule"] == "skill_artifact":
        shutil.copy(package.folder / "skill.md", folder / "skill.md")
        print(folder)
        return
    module = artifact["module"]
    files = [package.folder / entry for entry in package._glob([module + "/*.py"])]
    for label in artifact.get("shared", []):
        files += sources(label, package)
    component = folder / "capsule.wasm"
    made_by = [*ROOT.glob("tools/wasm/*.py"), ARTIFACTS / "wit" / "worlds.wit"]
    newest = max(path.stat().st_mtime for path in [*files, *made_by])
    if not force and component.exists() and component.stat().st_mtime >= newest:
        print(f"{folder} is up to date")
        return
    spin = importlib.util.find_spec("spin_sdk")
    assert spin is not None and spin.submodule_search_locations, "install spin-sdk first"
    wasi = Path(spin.submodule_search_locations[0]) / "wit" / "deps"
    command = [sys.executable, "-B", str(ROOT / "tools" / "wasm" / "componentize.py")]
    command += ["--still", str(still_library(out)), "--wit", str(ARTIFACTS / "wit" / "worlds.wit")]
    command += ["--world", artifact["world"], "--module", module + ".component"]
    for document in [*sorted(ROOT.glob("wit/*/*.wit")), *sorted(wasi.glob("*@0.2.0/*.wit"))]:
        command += ["--wit-dep", str(document)]
    for path in files:
        command += ["--source", f"{place(path)}={path}"]
    if artifact.get("parser"):
        command += ["--parser"]
    fresh = folder / "capsule.wasm.new"
    command += ["--output", str(fresh)]
    subprocess.run(command, check=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
    fresh.replace(component)
    print(folder)


def pack(folder: Path, into: Path) -> None:
    """Packs one artifact as its users would."""
    into.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "murmur.cli.main", "build", str(folder), "--output", str(into)]
    subprocess.run(command, check=True, env={**os.environ, "PYTHONPATH": str(ROOT / "py")})


def main() -> int:
    """Builds what the command line names, or every artifact."""
    parser = argparse.ArgumentParser(description="Builds default artifacts without Bazel.")
    parser.add_argument("--force", action="store_true")
    parser.add_argument("--pack", type=Path, metavar="FOLDER")
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    out = Path(os.environ.get("MURMUR_DEV", "/tmp/murdev"))
    out.mkdir(parents=True, exist_ok=True)
    packages = [Package(path.parent) for path in sorted(ARTIFACTS.glob("*/BUILD.bazel"))]
    known = {
        target["name"]: (target, package)
        for package in packages
        for target in package.targets.values()
        if target["rule"] in ("python_artifact", "skill_artifact")
    }
    for name in options.names or known:
        if name not in known:
            parser.error(f"no artifact {name}; there are {', '.join(known)}")
        artifact, package = known[name]
        build(artifact, package, out, force=options.force)
        if options.pack is not None:
            pack(out / "artifacts" / name, options.pack.absolute())
    return 0


if __name__ == "__main__":
    sys.exit(main())
