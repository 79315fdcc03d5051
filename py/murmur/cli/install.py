"""`mur install`: a project's artifacts, one artifact or a file, into one of the two stores."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from murmur.core.diagnostics import error
from murmur.core.home import Home, home_path, open_home
from murmur.core.streams import emit, report

if TYPE_CHECKING:
    from murmur.store.install import Fetch, Installed, Ready, Target
    from murmur.store.names import FullName
    from murmur.store.references import Pinned, Reference
    from murmur.store.stores import Store

MANIFEST = "murmur.yaml"


def refuse_registry(_: click.Context, __: click.Parameter, value: str | None) -> None:
    """`--registry` is gone: a usage error with a hint at what replaced it."""
    if value is not None:
        raise click.UsageError(
            "--registry is no longer an option\n"
            "  hint: mur install asks the global store, then the source of the artifact's scope"
        )


@click.command("install")
@click.argument("reference", required=False)
@click.option("-g", "into_global", is_flag=True, help="Install into the global store; no lock.")
@click.option(
    "--all-platforms",
    is_flag=True,
    help="Install every platform's payload of one scope/name@version into the global store.",
)
@click.option("--no-precompile", is_flag=True, help="Neither compile nor keep host facts.")
@click.option(
    "--registry",
    is_flag=False,
    flag_value="",
    hidden=True,
    expose_value=False,
    callback=refuse_registry,
)
def command(
    reference: str | None, into_global: bool, all_platforms: bool, no_precompile: bool
) -> None:
    """Fetch and install artifacts: a project's, SCOPE/NAME[@VERSION], or a .mur.zip file."""
    from murmur.store.install import Target, store_all
    from murmur.store.references import Pinned, parse_reference
    from murmur.store.stores import global_store, project_store

    parsed = parse_reference(reference) if reference is not None else None
    if all_platforms and not isinstance(parsed, Pinned):
        raise click.UsageError("--all-platforms needs a reference: <scope>/<name>@<version>")
    into_global = into_global or all_platforms
    project = None if parsed is not None and into_global else _project(Path.cwd())
    # A project install that keeps nothing for this machine leaves ~/.murmur alone.
    untouched = no_precompile and not into_global
    home = Home(home_path(os.environ)) if untouched else open_home(os.environ)
    machine = global_store(home.artifacts)
    if into_global or project is None:
        target = Target(machine, None)
    else:
        target = Target(project_store(project), project)
    if all_platforms:
        assert isinstance(parsed, Pinned)
        _every_platform(parsed, machine, home)
        return
    installed = store_all(_ready(parsed, project, target, machine, home), target)
    _report(installed, target)
    if not no_precompile:
        _precompile(installed.payloads, home)


def _project(start: Path) -> Path:
    """The nearest folder at or above `start` that holds a `murmur.yaml`. Raises E-IO-001."""
    for folder in (start, *start.parents):
        if (folder / MANIFEST).is_file():
            return folder
    raise error(
        "E-IO-001",
        what=MANIFEST,
        path=start / MANIFEST,
        hint="run it in a project, or install into the global store with "
        "`mur install -g <scope>/<name>@<version>`",
    )


def _ready(
    parsed: "Reference | None",
    project: Path | None,
    target: "Target",
    machine: "Store",
    home: Home,
) -> "list[Ready]":
    """What the reference names, resolved and checked; nothing is written yet."""
    from murmur.store.install import from_file, from_stores, newest_fitting
    from murmur.store.references import File, Newest, Release
    from murmur.store.sources import unfetched_release

    fetch = _fetch(home)
    if isinstance(parsed, File):
        return [from_file(parsed.path)]
    if isinstance(parsed, Release):
        raise unfetched_release(parsed)
    if isinstance(parsed, Newest):
        parsed = newest_fitting(parsed.name, machine, lambda name: _unserved(home, name, None))
    if parsed is not None:
        return from_stores([parsed], [machine], target, fetch)
    assert project is not None
    stores = [machine] if target.store == machine else [target.store, machine]
    return from_stores(_declared(project), stores, target, fetch)


def _declared(project: Path) -> "list[Pinned]":
    """The artifacts of the project's manifest that come from stores, in its order."""
    from murmur.manifest.parse import load_capsule
    from murmur.store.names import parse_full_name
    from murmur.store.references import Pinned

    path = project / MANIFEST
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as failure:
        raise error(
            "E-IO-003", what=f"{path} cannot be read", reason=str(failure), hint=""
        ) from failure
    loaded = load_capsule(text, str(path))
    for diagnostic in loaded.warnings:
        report(diagnostic)
    return [
        Pinned(parse_full_name(entry.name), entry.version)
        for entry in loaded.capsule.artifacts
        if entry.source is None and entry.version is not None
    ]


def _fetch(home: Home) -> "Fetch":
    def fetch(item: "Pinned") -> "Ready":
        raise _unserved(home, item.name, item.version)

    return fetch


def _unserved(home: Home, name: "FullName", version: str | None) -> Exception:
    """The refusal of an artifact that no store holds; the configuration is read only now."""
    from murmur.store.sources import scope_repository, source_repositories, unserved
    from murmur.store.stores import global_store

    repositories = source_repositories(home.config, Path.cwd() / ".murmur" / "config.yaml")
    machine = global_store(home.artifacts)
    found = machine.payloads(name, version) if version is not None else ()
    others = [stored.tag for stored in found if stored.tag is not None]
    return unserved(name, version, scope_repository(name.scope, repositories), others)


def _every_platform(item: "Pinned", machine: "Store", home: Home) -> None:
    """Every payload of one version: those that the global store holds, verified."""
    found = list(machine.payloads(item.name, item.version))
    if not found:
        raise _unserved(home, item.name, item.version)
    for stored in found:
        stored.open()
        emit(f"{stored.reference} {stored.tag or 'platform-independent'}: in the global store")


def _report(installed: "Installed", target: "Target") -> None:
    for item in installed.payloads:
        verb = "Already installed" if item.present else "Installed"
        emit(f"{verb} {item.reference} ({target.store.label} store)")
    for pin in installed.adopted:
        emit(
            f"Adopted {pin.name}@{pin.resolved_version} as operator-declared "
            f"(it was pulled at runtime by session {pin.session})"
        )


def _precompile(payloads: "Sequence[Ready]", home: Home) -> None:
    """Compiles what a launch would compile. A failure is silent: the first launch compiles."""
    from murmur.cli.compiling import precompile

    eligible = [
        item.payload
        for item in payloads
        if item.payload.kind == "wasm" and item.payload.manifest.runtime != "capsule"
    ]
    if eligible:
        precompile(eligible, home)
