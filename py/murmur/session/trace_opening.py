"""How the trace of a session begins: its file, its first line, and what retention removed then.

spec/sessions.md 6.4, step 7, and 23; spec/observability.md 5.1.
"""

from collections.abc import Mapping

from murmur.core.diagnostics import error, warning
from murmur.guest.client import Guests
from murmur.inference.spend import SpendMeter
from murmur.session.choices import DriverChoice
from murmur.session.commands import Commands
from murmur.session.control import declared_control
from murmur.session.credential_events import keys_of
from murmur.session.notices import tell
from murmur.session.prompt import system_prompt
from murmur.session.retention import Retention
from murmur.session.scope.bounds import session_bounds
from murmur.session.scope.model import ScopeReport
from murmur.session.scope.report import Subject, scope_report
from murmur.session.scope.routes import NO_LOCKDOWN
from murmur.session.scope.routes import Guests as GuestsStance
from murmur.session.stage import Staged
from murmur.trace.content import Capture
from murmur.trace.spans import Spans
from murmur.trace.writer import TraceWriter


def retain(staged: Staged, trace: TraceWriter) -> None:
    """Removes what the capsule's retention rules no longer keep. Raises E-RUN-007."""
    launch, capsule = staged.prepared.launch, staged.capsule
    retention = Retention(launch.home, trace, staged.directories.records_root)
    if capsule.trace.retain is not None:
        retention.sessions(capsule.trace.retain, staged.prepared.place, staged.session_id)
    context = capsule.context
    if context.retain is not None and context.record == "on":
        store = context.record_store or capsule.name
        retention.conversations(context.retain, store, capsule.name, launch.context_id)


def open_trace(staged: Staged) -> TraceWriter:
    """Raises E-RUN-007 when the file cannot be opened."""
    records = staged.directories.records_root
    try:
        trace = TraceWriter(records, staged.session_id, keys_of(staged))
    except OSError as failure:
        reason = f"trace.jsonl cannot be opened: {failure.strerror or failure}"
        raise error("E-RUN-007", reason=reason) from None
    endpoint = staged.capsule.observability.otel_endpoint
    if endpoint is not None:
        from murmur.trace.otlp import Exporter

        capsule, exporter = staged.capsule, Exporter(endpoint, records)
        script = capsule.inference is None
        trace.export(Spans(capsule.name, capsule.version, exporter, script=script))
    return trace


def write_session_start(
    staged: Staged,
    guests: Guests,
    commands: Commands | None,
    trace: TraceWriter,
    capture: Capture,
    choices: Mapping[str, DriverChoice] | None = None,
    meter: SpendMeter | None = None,
) -> None:
    """The first line, and W-SEC-034 for each route outside the class. Raises E-RUN-007."""
    capsule = staged.capsule
    launch = staged.prepared.launch
    inference = capsule.inference
    capabilities = capsule.capabilities
    report = _scope_report(staged, guests, commands)
    driver = capsule.driver_entry
    primary = staged.gateways.get(driver.name) if driver is not None else None
    trace.write(
        "session_start",
        capsule_name=capsule.name,
        capsule_version=capsule.version,
        model=(inference.model or "") if inference is not None else "",
        max_turns=inference.max_turns if inference is not None else None,
        capabilities=list(capabilities.categories),
        tools_declared=list(staged.tools),
        tool_refresh=inference.tool_refresh if inference is not None else None,
        runtime_artifacts=staged.pulled_earlier(),
        containment_declared=staged.containment.declared,
        containment_achieved=staged.containment.achieved,
        userns_grant=staged.containment.reading.userns_grant,
        workdir_exec=capabilities.workdir_exec,
        model_limits=staged.limits.record()
        if inference is not None and inference.transport == "http"
        else None,
        system_prompt_source=staged.prompt.source,
        credential_source=primary.source if primary else "none",
        gateways=[gateway.record() for gateway in staged.gateways.values()],
        system_prompt_sha256=capture.system_prompt(_configured(staged)),
        effective_grants=report.as_json(),
        resumed_from=launch.resumed.session_id if launch.resumed is not None else None,
        context_id=launch.context_id,
        deadline=launch.deadline.record() if launch.deadline is not None else None,
        control=declared_control(capsule.control),
        inference_choices=_records(choices),
        **(meter or SpendMeter()).limits,
    )
    for route in report.routes:
        if route.present and not route.under_class:
            found = warning("W-SEC-034", route=route.route, reason=route.note or route.mechanism)
            tell(staged.directories.records_root, found)


def _records(choices: Mapping[str, DriverChoice] | None) -> list[dict[str, object]] | None:
    """`session_start.inference_choices`; None for a capsule without alternates."""
    if choices is None or len(choices) < 2:
        return None
    return [each.record() for each in choices.values()]


def _scope_report(staged: Staged, guests: Guests, commands: Commands | None) -> ScopeReport:
    prepared = staged.prepared
    subject = Subject(
        capsule=staged.capsule,
        place=prepared.place,
        home=prepared.launch.home,
        containment=staged.containment,
        config=prepared.config,
        scopes={name: each.scope for name, each in prepared.grants.items()},
        environ=prepared.launch.environ,
        harness=staged.harness.grants if staged.harness is not None else None,
    )
    return scope_report(
        subject,
        commands.policy.foreseen if commands else None,
        GuestsStance(guests.contained, guests.process.reason or NO_LOCKDOWN),
        session_bounds(staged.capsule, commands.scope if commands else None),
    )


def _configured(staged: Staged) -> str | None:
    """The resolved prompt before the capsule block; None without one."""
    text = system_prompt("", staged.prompt.text, staged.prompt.appended)
    return text or None
