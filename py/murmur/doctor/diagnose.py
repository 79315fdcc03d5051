"""The whole report in its order. spec/registry.md 20; CLI reference, *mur doctor*."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from murmur.core.diagnostics import MurmurError, printable, render, warning
from murmur.core.streams import complain, emit, report
from murmur.doctor.checklist import check_artifacts
from murmur.doctor.closure import Shelves, spawn_closure
from murmur.doctor.environment import references, requirements
from murmur.doctor.findings import Findings, would_refuse
from murmur.doctor.granted import (
    door_line,
    harness_block,
    install_block,
    preopens_block,
    read_only_block,
)
from murmur.doctor.host import landlock_block, memory_block, namespaces_block
from murmur.doctor.installed import old_layout
from murmur.doctor.model_limits import limits_block
from murmur.doctor.murmur_home import home_block
from murmur.doctor.project import Project, find_project, read_project
from murmur.doctor.roster import roster_block
from murmur.doctor.wit_level import level_block
from murmur.door.exposure import exposure
from murmur.manifest.roster import FILE as ROSTER
from murmur.manifest.warnings import manifest_warnings
from murmur.session.directories import work_place
from murmur.session.explain import Explained, explain_examined
from murmur.session.floors import floor_in_force
from murmur.session.grants import Shapes, declared_scopes, shape_refusals
from murmur.session.launch import Flags
from murmur.session.names import check_names
from murmur.session.prepare import Examined
from murmur.session.scope.text import directory_blocks, scope_line
from murmur.session.spawning import roost_refusal
from murmur.store.platforms import host_platform
from murmur.store.stores import Store, global_store, project_store

# Of the warnings that the containment decision makes, those that doctor prints too (5.6, "dr").
_OF_HOST: Final = frozenset(("W-SEC-012", "W-SEC-013", "W-SEC-029"))
_MANIFEST: Final = "murmur.yaml"


def diagnose(start: Path, bind: str, environ: Mapping[str, str]) -> int:
    """Checks the project or the formation directory at `start`, prints, and returns the status.

    Raises the setup failures: E-IO-001, E-MAN-*, E-CAP-018 and E-RUN-003.
    """
    if (start / ROSTER).is_file() and not (start / _MANIFEST).is_file():
        return _formation(start)
    flags = Flags(manifest=find_project(start), bind=bind)
    return _Report(read_project(flags.manifest, flags, environ)).print()


def _formation(directory: Path) -> int:
    findings = Findings()
    emit(
        f"No murmur.yaml in {directory}: checking its roster.yaml. Run mur doctor in a member's "
        "source directory to check that member's artifacts."
    )
    emit("")
    found = roster_block(directory, findings)
    _show([*found.lines, ""])
    if found.refusal is not None:
        report(found.refusal)
    _show(findings.tally())
    return findings.exit_status


def _show(lines: Sequence[str]) -> None:
    for line in lines:
        emit(printable(line))


class _Report:
    """One run over a project: blocks to standard output, warnings to standard error."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._capsule = project.capsule
        self._findings = Findings()
        self._platform = host_platform()
        self._explained = _explain(project)

    def print(self) -> int:
        """Prints everything and returns the exit status."""
        self._print_warnings()
        self._print_host_and_grants()
        self._print_environment()
        self._print_roster()
        self._print_artifacts()
        for block in self._directories():
            _show(["", *block])
        if self._project.home is not None and self._explained.containment.home_inside:
            place = work_place(None, self._project.directory)
            report(warning("W-SEC-033", workdir=place.root))
        _show(["", *self._findings.tally()])
        return self._findings.exit_status

    def _print_warnings(self) -> None:
        project, capsule, explained = self._project, self._capsule, self._explained
        for notice in project.config.warnings:
            complain(notice)
        for refused in _refusals(project, explained):
            complain(would_refuse(refused))
        of_host = [each for each in explained.containment.warnings if each.code in _OF_HOST]
        known = {render(each) for each in explained.warnings}
        further = [
            each for each in manifest_warnings(capsule, "doctor") if render(each) not in known
        ]
        for found in (*explained.warnings, *further, *of_host):
            if found.code != "W-SEC-035":
                report(found)

    def _print_host_and_grants(self) -> None:
        capsule, explained = self._capsule, self._explained
        resources = capsule.capabilities.resources
        containment = explained.containment
        home, too_wide = home_block(self._project.home, self._project.home_problem)
        blocks = [
            namespaces_block(containment),
            landlock_block(containment.reading, containment.missing),
            [scope_line(explained.report)],
            preopens_block(capsule),
            read_only_block(explained.report),
            install_block(explained.report),
            *filter(None, (harness_block(explained.report),)),
            memory_block(resources.cgroup_memory_bytes, containment.reading.linux),
            [door_line(capsule), *self._exposed()],
            home,
        ]
        for block in blocks:
            _show([*block, ""])
        for found in too_wide:
            report(found)

    def _exposed(self) -> list[str]:
        """W-SEC-032, byte for byte as `mur run --bind` prints it."""
        capsule, bind = self._capsule, self._project.launch.flags.bind
        if capsule.inference is None:
            return []
        found = exposure(
            bind, capsule.lifecycle.task_acceptance, capsule.network.authentication is not None
        )
        return [render(found)] if found is not None else []

    def _print_environment(self) -> None:
        project, capsule = self._project, self._capsule
        refused = roost_refusal(capsule, project.launch.environ)
        if refused is not None:
            complain(would_refuse(refused))
        closure = None
        if capsule.capabilities.spawn_allow:
            shelves = Shelves(self._stores(), project.lock, self._platform, project.launch.environ)
            closure = spawn_closure(capsule, shelves)
        names = project.config.credential_names
        found = requirements(capsule, closure, project.launch.environ, names, self._findings)
        problem = project.dotenv_problem
        if problem is not None:
            report(problem.diagnostic)
            self._findings.errors.append(problem.hint)
        if found.lines:
            _show([*found.lines, ""])
        for each in found.reports:
            report(each)

    def _print_roster(self) -> None:
        if not (self._project.directory / ROSTER).is_file():
            return
        found = roster_block(self._project.directory, self._findings)
        _show([*found.lines, ""])
        if found.refusal is not None:
            report(found.refusal)

    def _print_artifacts(self) -> None:
        project, capsule, findings = self._project, self._capsule, self._findings
        environ, platform = project.launch.environ, self._platform
        stores = self._stores()
        flat = old_layout(stores)
        if flat:
            _show([*flat, ""])
        levels = Findings()
        declared = {entry.label for entry in capsule.artifacts}
        _show([*level_block(stores, platform, environ, declared, levels), ""])
        found = check_artifacts(capsule, stores, project.lock, platform, environ, findings)
        _show([f"Checking {project.launch.manifest} for {platform}...", *found.lines()])
        findings.warnings += levels.warnings
        limits, warnings = limits_block(capsule, found.manifests, findings)
        if limits:
            _show(["", *limits])
        for each in warnings:
            report(each)

    def _stores(self) -> list[Store]:
        stores = [project_store(self._project.directory)]
        if self._project.home is not None:
            stores.append(global_store(self._project.home.artifacts))
        return stores

    def _directories(self) -> list[list[str]]:
        blocks = directory_blocks(self._explained.report)
        if self._project.home is not None:
            return blocks
        return [[block[0], f"  not reported: {self._project.home_problem}"] for block in blocks]


def _explain(project: Project) -> Explained:
    launch, capsule = project.launch, project.capsule
    examined = Examined(
        launch=launch,
        config=project.config,
        loaded=project.loaded,
        floor=floor_in_force(capsule, project.config.containment, None),
    )
    shapes = Shapes(declared_scopes(capsule), {})
    return explain_examined(examined, shapes, work_place(None, project.directory))


def _refusals(project: Project, explained: Explained) -> list[MurmurError]:
    """What `mur run` would refuse the root capsule for.

    A key whose variable is unset is a line further down, and an error; any other key is told here.
    """
    capsule, environ = project.capsule, project.launch.environ
    found = list(project.problems)
    try:
        check_names(capsule)
    except MurmurError as refused:
        found.append(refused)
    found += shape_refusals(capsule)
    unset = [each.name for each in references(capsule) if each.name not in environ]
    return [
        *found,
        *(
            each
            for each in explained.refusals
            if each.code != "E-MAN-003" or not any(name in each.message for name in unset)
        ),
    ]
