"""Fetches one locked wheel with pip and lays it out as a Bazel repository in the current folder.

Run by `whl_library` (pip.bzl) under the interpreter that the wheel is for. Writes
`site-packages/`, `bin/` and a BUILD.bazel whose `:pkg` depends on what the wheel requires on this
interpreter and platform.
"""

import argparse
import compileall
import os
import py_compile
import re
import shutil
import subprocess
import sys
import zipfile
from email.parser import HeaderParser
from pathlib import Path, PurePosixPath

BUILD = """\
load("@rules_python//python:defs.bzl", "py_library")

package(default_visibility = ["//visibility:public"])

exports_files(glob(["bin/*"]))

filegroup(
    name = "whl",
    srcs = ["{wheel}"],
)

filegroup(
    name = "files",
    srcs = glob(["site-packages/**"], exclude = ["**/* *"]),
)

py_library(
    name = "pkg",
    srcs = glob(["site-packages/**/*.py"], exclude = ["**/* *"]),
    data = glob(["site-packages/**"], exclude = ["**/* *", "**/*.py"]),
    imports = ["site-packages"],
    deps = [{deps}],
)
"""


def normalised(name: str) -> str:
    """The spelling of a distribution's name that repository names are made of."""
    return re.sub(r"[-_.]+", "_", name).lower()


def download(requirement: str) -> Path:
    """Downloads the one wheel that the requirement file pins; pip checks its hash."""
    command = [sys.executable, "-I", "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--require-hashes", "--only-binary=:all:", "--dest=.", "--requirement", requirement]
    result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if result.returncode:
        raise SystemExit(result.stdout + result.stderr)
    [wheel] = Path(".").glob("*.whl")
    return wheel


def destination(member: str) -> Path | None:
    """Where an entry of a wheel goes, None for one that is of no use here."""
    parts = PurePosixPath(member).parts
    if PurePosixPath(member).is_absolute() or ".." in parts:
        raise SystemExit(f"the wheel holds an entry outside of itself: {member}")
    if parts[0].endswith(".data"):
        if parts[1] in ("purelib", "platlib"):
            return Path("site-packages", *parts[2:])
        return Path("bin", *parts[2:]) if parts[1] == "scripts" else None
    if parts[0].endswith(".dist-info") and parts[-1] in ("RECORD", "INSTALLER", "REQUESTED"):
        return None
    return Path("site-packages", *parts)


def unpack(wheel: Path) -> None:
    """Unpacks a wheel as an installer would, keeping the execute bits that it records."""
    with zipfile.ZipFile(wheel) as archive:
        for entry in archive.infolist():
            target = destination(entry.filename)
            if target is None or entry.is_dir():
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(entry) as source, target.open("wb") as sink:
                shutil.copyfileobj(source, sink)
            mode = entry.external_attr >> 16
            os.chmod(target, 0o755 if mode & 0o100 or target.parts[0] == "bin" else 0o644)
            if target.name in ("BUILD", "BUILD.bazel"):
                target.unlink()  # would cut a Bazel package out of this repository


def compile_sources() -> None:
    """Compiles what was unpacked, so that no sandboxed action has to; nothing rechecks the pycs."""
    compileall.compile_dir(
        "site-packages",
        quiet=2,
        invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
    )


def requirements(wheel: Path, extras: str) -> list[str]:
    """The normalised names of what the wheel requires on this interpreter and platform."""
    from pip._vendor.packaging.requirements import Requirement

    with zipfile.ZipFile(wheel) as archive:
        [metadata] = [
            name for name in archive.namelist() if re.fullmatch(r"[^/]+\.dist-info/METADATA", name)
        ]
        headers = HeaderParser().parsestr(archive.read(metadata).decode())
    found = set()
    for text in headers.get_all("Requires-Dist") or []:
        needed = Requirement(text)
        wanted = any(
            needed.marker is None or needed.marker.evaluate({"extra": extra})
            for extra in ["", *filter(None, extras.split(","))]
        )
        if wanted:
            found.add(normalised(needed.name))
    return sorted(found)


def main() -> None:
    """Fetches, unpacks and describes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--requirement", required=True)
    parser.add_argument("--extras", required=True)
    parser.add_argument("--repo-prefix", required=True)
    parser.add_argument("locked", nargs="*")
    options = parser.parse_args()
    wheel = download(options.requirement)
    unpack(wheel)
    compile_sources()
    needed = requirements(wheel, options.extras)
    missing = sorted(set(needed) - set(options.locked))
    if missing:
        raise SystemExit(
            f"{wheel.name} requires {', '.join(missing)}, which the lock does not hold"
        )
    labels = ", ".join(f'"@{options.repo_prefix}{name}//:pkg"' for name in needed)
    Path("BUILD.bazel").write_text(BUILD.format(wheel=wheel.name, deps=labels))


if __name__ == "__main__":
    main()
