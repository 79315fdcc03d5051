"""`mur run --explain-scope`: what a launch would be granted and refused, with nothing made.

spec/diagnostics.md 6.2; spec/containment.md 5 and 6. It refuses what stands there; whatever else a
launch would be refused for is reported, and the exit status is 0.
"""

import dataclasses
import time
from collections.abc import Callable, Iterator
from functools import partial

from murmur.core.diagnostics import Diagnostic, MurmurError
from murmur.inference.ledger import check_ledger
from murmur.manifest.capsule import Capsule
from murmur.manifest.network import parse_rules
from murmur.manifest.segments import (
    check_context_name,
    check_handle_lifetime,
    check_read_only,
    check_record_store,
)
from murmur.manifest.warnings import manifest_warnings
from murmur.sandbox.policy import check_grants
from murmur.sandbox.widening import UnusableGrant
from murmur.session.containment import Containment, read_containment, search_of
from murmur.session.demands import unusable_grant
from murmur.session.directories import WorkPlace, check_workdir, holds_home, work_place
from murmur.session.floors import can_start_commands
from murmur.session.gateways import foresee_keys
from murmur.session.grants import Shapes, capsule_rules, check_shapes
from murmur.session.guest_lockdown import find_guest_lockdown
from murmur.session.harness.foreseen import foresee_harness
from murmur.session.launch import Launch
from murmur.session.prepare import (
    Examined,
    check_driver,
    examine,
    notices,
    resolve_lifecycle,
)
from murmur.session.scope.bounds import Preview, preview_bounds
from murmur.session.scope.model import SESSION_ID, ScopeReport
from murmur.session.scope.report import Subject, scope_report
from murmur.session.scope.routes import foreseen_guests
from murmur.session.script.component import find_component
from murmur.session.tool_programs import installed_programs


@dataclasses.dataclass(frozen=True, slots=True)
class Explained:
    """A report and what goes with it: `refusals` are what a launch would be refused for."""

    report: ScopeReport
    containment: Containment
    preview: Preview
    refusals: tuple[MurmurError, ...]
    warnings: tuple[Diagnostic, ...]
    notices: tuple[str, ...]


def explain(launch: Launch) -> Explained:
    """The report of a launch; makes nothing, and reads of stores and lock what tools' programs
    and the harness need, where they are installed.

    Raises E-MAN-*, E-CAP-002, 009, 010, 013, 016, 018 and 020, and E-IO-003 for a configuration or
    a flag's value.
    """
    examined = examine(launch)
    shapes = check_shapes(examined.capsule)
    resolve_lifecycle(launch, examined.capsule.lifecycle)
    place = work_place(launch.flags.workdir, launch.directory)
    return explain_examined(examined, shapes, place)


def explain_examined(examined: Examined, shapes: Shapes, place: WorkPlace) -> Explained:
    """The report of a launch whose shapes have passed; refuses nothing."""
    launch, capsule = examined.launch, examined.capsule
    lifecycle = resolve_lifecycle(launch, capsule.lifecycle)
    containment = read_containment(
        capsule,
        examined.floor,
        lifecycle,
        home_inside=holds_home(place, launch.home),
        search=search_of(launch, place),
    )
    harness, harness_refusals = foresee_harness(examined.loaded, launch)
    subject = Subject(
        capsule=capsule,
        place=place,
        home=launch.home,
        containment=containment,
        config=examined.config,
        scopes=shapes.scopes,
        environ=launch.environ,
        harness=harness,
        programs=installed_programs(capsule, launch),
    )
    lockdown = find_guest_lockdown(containment.helper) is not None
    preview = preview_bounds(capsule, examined.config, str(place.work_folder(SESSION_ID)))
    report = scope_report(
        subject,
        subject.foreseen() if can_start_commands(capsule) else None,
        foreseen_guests(containment.reading, lockdown),
        preview.bounds,
    )
    keys, key_refusals = foresee_keys(examined.loaded, launch)
    scope = (preview.refusal,) if preview.refusal is not None else ()
    return Explained(
        report=report,
        containment=containment,
        preview=preview,
        refusals=(
            *_manifest_refusals(capsule, launch, place),
            *containment.refusals,
            *_grant_refusals(subject, launch.manifest.name),
            *harness_refusals,
            *_ledger_refusals(examined),
            *key_refusals,
            *scope,
        ),
        warnings=(
            *examined.loaded.warnings,
            *manifest_warnings(capsule, "explain", after_task=lifecycle.after_task),
            *keys,
            *((preview.warning,) if preview.warning is not None else ()),
        ),
        notices=(*examined.config.warnings, *notices(capsule)),
    )


def _grant_refusals(subject: Subject, manifest: str) -> Iterator[MurmurError]:
    try:
        check_grants(subject.demands, subject.writable)
    except UnusableGrant as unusable:
        yield unusable_grant(unusable, manifest)


def _ledger_refusals(examined: Examined) -> Iterator[MurmurError]:
    if examined.capsule.inference is None or examined.config.machine_tokens_per_day is None:
        return
    try:
        check_ledger(examined.launch.home, time.time_ns() // 1_000_000)
    except MurmurError as unusable:
        yield unusable


def _manifest_refusals(capsule: Capsule, launch: Launch, place: WorkPlace) -> Iterator[MurmurError]:
    """What staging refuses for the manifest's sake and `--explain-scope` does not."""
    granted = capsule.capabilities
    lifecycle = resolve_lifecycle(launch, capsule.lifecycle)
    checks: list[Callable[[], object]] = [partial(capsule_rules, capsule)]
    for entry in capsule.artifacts:
        if entry.capabilities is not None:
            checks.append(partial(parse_rules, entry.capabilities.network_allow))
    checks.append(partial(check_record_store, capsule))
    if launch.flags.context is not None:
        checks.append(partial(check_context_name, launch.flags.context, "--context"))
    checks.append(partial(check_handle_lifetime, capsule, lifecycle.after_task))
    checks.append(partial(check_read_only, granted.read_only))
    if capsule.inference is not None:
        checks.append(partial(check_driver, capsule, launch.manifest))
    else:
        checks.append(partial(find_component, launch))
    checks.append(partial(check_workdir, place))
    for check in checks:
        try:
            check()
        except MurmurError as refused:
            yield refused
