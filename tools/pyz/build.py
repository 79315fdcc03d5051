"""Writes a zipapp whose bytes depend on nothing but the files that go into it.

Run by the `zipapp` rule (defs.bzl). The outer archive is small, because Python reads its whole
directory at every start: the launcher, the facts that it needs, and one stored `payload.zip`.
Entries are sorted, times and modes fixed. For one interpreter the payload carries unchecked-hash
bytecode; for several, the sources alone.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import py_compile
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath

EPOCH = (1980, 1, 1, 0, 0, 0)
SHEBANG = b"#!/usr/bin/env python3\n"
# What an installer leaves behind, and what only a type checker reads.
DROPPED_SUFFIXES = (".pyc", ".pyi")
DROPPED_NAMES = ("RECORD", "INSTALLER", "REQUESTED", "WHEEL", "direct_url.json", "py.typed")


def wanted(name: str) -> bool:
    """Whether a file belongs into the payload."""
    if ".dist-info/sboms/" in name:
        return False  # of one build of one wheel: two interpreters' wheels disagree
    return not name.endswith(DROPPED_SUFFIXES) and PurePosixPath(name).name not in DROPPED_NAMES


def wheel_files(wheel: Path) -> Iterator[tuple[str, bytes, bool]]:
    """The importable files of a wheel: name, content, whether it is a program."""
    with zipfile.ZipFile(wheel) as archive:
        for entry in archive.infolist():
            parts = PurePosixPath(entry.filename).parts
            if parts[0].endswith(".data"):
                if parts[1] not in ("purelib", "platlib"):
                    continue
                parts = parts[2:]
            if not entry.is_dir():
                executable = bool(entry.external_attr >> 16 & 0o100)
                yield "/".join(parts), archive.read(entry), executable


def check_wheels(wheels: Iterable[Path], installed: Iterable[str]) -> None:
    """Ends the build unless the wheels are of the distributions that the build itself installed."""
    carried = {"pip_" + wheel.name.partition("-")[0].lower().replace(".", "_") for wheel in wheels}
    missing, unused = set(installed) - carried, carried - set(installed)
    if missing or unused:
        raise SystemExit(f"wheels missing: {sorted(missing)}; of no use: {sorted(unused)}")


def commit_of(status: str) -> str | None:
    """The commit that Bazel's workspace status names; None outside a checkout."""
    for line in status.splitlines():
        key, _, value = line.partition(" ")
        if key == "STABLE_COMMIT":
            return value
    return None


def bytecode(name: str, source: bytes) -> tuple[str, bytes]:
    """The compiled form of a source and the name that this interpreter looks for."""
    path = PurePosixPath(name)
    with tempfile.TemporaryDirectory() as scratch:
        text = Path(scratch, "source.py")
        text.write_bytes(source)
        made = Path(scratch, "source.pyc")
        py_compile.compile(
            str(text),
            cfile=str(made),
            dfile=name,
            doraise=True,
            invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
        )
        cached = f"{path.stem}.{sys.implementation.cache_tag}.pyc"
        return str(path.parent / "__pycache__" / cached), made.read_bytes()


def with_bytecode(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files and the bytecode of every source among them that this interpreter can compile."""
    every = dict(files)
    for name, content in files.items():
        if name.endswith(".py"):
            try:
                compiled, data = bytecode(name, content)
            except py_compile.PyCompileError:
                continue  # a distribution may ship a template, or newer syntax unused here
            every[compiled] = data
    return every


def write_zip(
    sink: io.BytesIO, files: Mapping[str, bytes], programs: Iterable[str], stored: bool
) -> None:
    """Writes an archive with sorted entries, fixed times and modes."""
    executable = frozenset(programs)
    with zipfile.ZipFile(sink, "w") as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.create_system = 3
            entry.compress_type = zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if name in executable else 0o100644) << 16
            archive.writestr(entry, files[name], compresslevel=6)


def facts(entry: str, machine: str, payload: str, versions: list[str]) -> bytes:
    """The source of the module that tells the launcher what this zipapp is."""
    pairs = [tuple(int(part) for part in version.split(".")) for version in versions]
    lines = [
        '"""What this zipapp holds; written by the build."""',
        f"ENTRY = {entry!r}",
        f"MACHINE = {machine!r}",
        f"PAYLOAD = {payload!r}",
        f"VERSIONS = {pairs!r}",
    ]
    return ("\n".join(lines) + "\n").encode()


def main() -> None:
    """Builds what the command line asks for."""
    parser = argparse.ArgumentParser(fromfile_prefix_chars="@")
    parser.add_argument("--output", required=True, type=Path)
    parser.add_argument("--entry", required=True, help="module:function")
    parser.add_argument("--machine", required=True)
    parser.add_argument("--version", action="append", required=True, help="a CPython, as 3.11")
    parser.add_argument("--launcher", action="append", required=True, type=Path)
    parser.add_argument("--file", action="append", default=[], help="name in the payload=path")
    parser.add_argument("--wheel", action="append", default=[], type=Path)
    parser.add_argument("--installed", action="append", default=[], help="a wheel's repository")
    parser.add_argument("--commit-file", help="name in the payload of the commit's file")
    parser.add_argument("--status", type=Path, help="Bazel's workspace status")
    options = parser.parse_args()

    check_wheels(options.wheel, options.installed)
    files: dict[str, bytes] = {}
    programs: set[str] = set()
    for pair in options.file:
        name, _, path = pair.partition("=")
        if wanted(name):
            files[name] = Path(path).read_bytes()
            if Path(path).stat().st_mode & 0o100 and not name.endswith(".py"):
                programs.add(name)
    for wheel in sorted(options.wheel):
        for name, content, executable in wheel_files(wheel):
            if not wanted(name):
                continue
            if files.setdefault(name, content) != content:
                raise SystemExit(f"two distributions hold different files named {name}")
            if executable and not name.endswith(".py"):
                programs.add(name)

    if options.commit_file is not None:
        commit = commit_of(options.status.read_text())
        if commit is not None:
            files[options.commit_file] = f"{commit}\n".encode()

    if options.version == [f"{sys.version_info[0]}.{sys.version_info[1]}"]:
        files = with_bytecode(files)
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    manifest = "".join(f"{digests[name]}  {name}\n" for name in sorted(digests)).encode()
    files["MANIFEST"] = manifest
    payload = io.BytesIO()
    write_zip(payload, files, programs, stored=False)

    outer = {path.name: path.read_bytes() for path in options.launcher}
    name = hashlib.sha256(manifest).hexdigest()
    outer["zipapp_facts.py"] = facts(options.entry, options.machine, name, options.version)
    outer["payload.zip"] = payload.getvalue()
    archive = io.BytesIO(SHEBANG)
    archive.seek(len(SHEBANG))
    write_zip(archive, outer, [], stored=True)
    options.output.write_bytes(archive.getvalue())
    options.output.chmod(0o755)


if __name__ == "__main__":
    main()
