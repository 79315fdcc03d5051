"""`mur install`: a project's artifacts, one artifact or a file, into one of the two stores."""

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from murmur.core.diagnostics import error, printable
from murmur.core.home import Home, home_path, open_home
from murmur.core.streams import complain, emit, report

if TYPE_CHECKING:
    from murmur.cli.progress import Display
    from murmur.store.fetching import Fetcher, Watcher
    from murmur.store.install import Installed, Target
    from murmur.store.ready import Ready
    from murmur.store.references import Pinned, Reference
    from murmur.store.sources import Sources
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
    """Fetch and install artifacts: a project's, SCOPE/NAME[@VERSION], a release
    github:OWNER/REPO@TAG, or a .mur.zip file."""
    from murmur.cli.host_programs import allowed_binaries, keep_host_facts, staged_programs
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
    with contextlib.ExitStack() as held:
        with _shown() as display:
            fetcher = _fetcher(home, machine, target, display)
            if all_platforms:
                assert isinstance(parsed, Pinned)
                ready, missed = _every_platform(parsed, machine, fetcher)
            else:
                ready, missed = _ready(parsed, project, target, machine, fetcher), []
            allowed: tuple[str, ...] = ()
            if target.project is not None and not no_precompile:
                allowed = allowed_binaries(target.project / MANIFEST)
            programs = held.enter_context(staged_programs(ready, allowed, home, display))
        for line in missed:
            complain(line)
        installed = store_all(ready, target)
        stored = programs.commit()
    _report(installed, target, all_platforms)
    for line in stored:
        emit(printable(line))
    if no_precompile:
        return
    _precompile(installed.payloads, home)
    kept = keep_host_facts(allowed, target.project, home) if target.project is not None else 0
    if kept:
        emit(f"Kept host facts for {kept} allowlisted binar{'y' if kept == 1 else 'ies'}")


@contextlib.contextmanager
def _shown() -> "Iterator[Display | None]":
    """A display of downloads on a terminal, gone at the end."""
    from murmur.cli.progress import terminal_display

    display = terminal_display()
    try:
        yield display
    finally:
        if display is not None:
            display.close()


def _fetcher(
    home: Home, machine: "Store", target: "Target", watcher: "Watcher | None"
) -> "Fetcher":
    """What asks sources, minding the owners in the project's lock. Raises E-RUN-003."""
    from murmur.store.fetching import Fetcher
    from murmur.store.lock import lock_path, read_lock
    from murmur.store.ready import owner_check

    lock = read_lock(lock_path(target.project)) if target.project is not None else None
    return Fetcher(lambda: _sources(home), machine, owner_check(lock), watcher)


def _sources(home: Home) -> "Sources":
    """The sources of the effective configuration, which is read when one is first needed."""
    from murmur.core.config import read_config
    from murmur.store.sources import Sources

    config = read_config(home, Path.cwd())
    for line in config.warnings:
        complain(line)
    sources = Sources(config.sources, os.environ)
    for first, ignored in sources.shadowed():
        complain(f"warning: the source {ignored} is never asked: {first} serves its scope")
    return sources


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
    fetcher: "Fetcher",
) -> "list[Ready]":
    """What the reference names, resolved, fetched and checked; nothing is written yet."""
    from murmur.store.install import for_this_host, from_file, from_stores, newest_local
    from murmur.store.names import LOCAL_SCOPE
    from murmur.store.references import File, Newest, Release

    if isinstance(parsed, File):
        return [from_file(parsed.path)]
    if isinstance(parsed, Release):
        return for_this_host(fetcher.fetch(fetcher.plan_release(parsed)))
    stores = [machine]
    if isinstance(parsed, Newest):
        if parsed.name.scope == LOCAL_SCOPE:
            parsed = newest_local(parsed.name, machine)
        else:
            parsed = fetcher.newest(parsed.name)
            # The index alone says what is newest, so a copy here must be the one it lists.
            stores = [machine] if fetcher.holds_indexed(parsed) else []
    if parsed is not None:
        return from_stores([parsed], stores, target, fetcher)
    assert project is not None
    stores = [machine] if target.store == machine else [target.store, machine]
    return from_stores(_declared(project), stores, target, fetcher)


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


def _every_platform(
    item: "Pinned", machine: "Store", fetcher: "Fetcher"
) -> "tuple[list[Ready], list[str]]":
    """Every payload of one version, and a line for each platform that cannot be had.

    Raises the first platform's refusal when none can be had.
    """
    from murmur.store.install import from_store_platforms
    from murmur.store.names import LOCAL_SCOPE

    if item.name.scope == LOCAL_SCOPE or not fetcher.serves(item):
        return from_store_platforms(item, machine), []
    ready, failed = fetcher.every_platform(item)
    if not ready:
        raise failed[0][1]
    return ready, [
        f"warning: {item} for {platform} is not installed: {printable(str(failure))}"
        for platform, failure in failed
    ]


def _report(installed: "Installed", target: "Target", all_platforms: bool) -> None:
    names = [item.reference for item in installed.payloads]
    for item in installed.payloads:
        # Which of an artifact's payloads it is needs saying only where several were stored.
        tagged = item.tag is not None and (all_platforms or names.count(item.reference) > 1)
        verb = "Already installed" if item.present else "Installed"
        where = f"{target.store.label} store" + (f", {item.tag}" if tagged else "")
        emit(printable(f"{verb} {item.reference} ({where})"))
    for pin in installed.adopted:
        emit(
            f"Adopted {pin.name}@{pin.resolved_version} as operator-declared "
            f"(it was pulled at runtime by session {pin.session})"
        )


def _precompile(payloads: "Sequence[Ready]", home: Home) -> None:
    """Compiles what a launch would compile. A failure is silent: the first launch compiles."""
    from murmur.cli.compiling import precompile
    from murmur.cli.progress import compiling_display

    eligible = [
        item.payload
        for item in payloads
        if item.payload.kind == "wasm" and item.payload.manifest.runtime != "capsule"
    ]
    if not eligible:
        return
    display = compiling_display(len(eligible))
    try:
        precompile(eligible, home, display)
    finally:
        if display is not None:
            display.close()
