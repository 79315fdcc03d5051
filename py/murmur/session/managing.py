"""`murmur:artifact-manager/manage`: what components ask about, and do to, a session's artifacts.

spec/artifacts.md 3; spec/registry.md 18; spec/sessions.md 15.9. A pulled artifact is staged beside
the declared ones, is pinned for later launches as untrusted, and gains no grant. In an agent's
session it can be called from then on; a script capsule's `invoke` does not reach it. A capsule that
runs from its package has no lock: what it pulls is there for its session alone (open in
spec/registry.md 18; taken as recommended), and so it is where a launch writes no lock.
"""

import json
from collections.abc import Callable, Mapping

from murmur.core.diagnostics import MurmurError
from murmur.guest.client import Guests
from murmur.guest.questions import Answer, Err, Ok, Question, Value
from murmur.manifest.capsule import ArtifactEntry
from murmur.manifest.names import bare_name
from murmur.session.artifacts import StagedArtifact, stage_payload
from murmur.session.callable_tools import CallableTools
from murmur.session.inventory import schema_of
from murmur.session.names import RUNTIME_TOOLS
from murmur.session.runtime_files import remove_artifact, write_artifact
from murmur.session.stage import Staged
from murmur.store.lock import Lock, Pin, read_lock
from murmur.store.names import FullName
from murmur.store.pulling import (
    PREFIX,
    NotGranted,
    Origins,
    Pull,
    check_pull,
    decide,
    granted_name,
    pin_pull,
    unpin,
)
from murmur.store.searching import offers_in, search
from murmur.store.sources import Sources
from murmur.store.stores import global_store, project_store
from murmur.trace.writer import TraceWriter

_MOST_FOUND = 100


class Management:
    """Answers the interface for one session; `tools` None is a script capsule's, which calls what
    it declares and nothing else."""

    def __init__(
        self,
        staged: Staged,
        guests: Guests,
        trace: TraceWriter,
        tools: CallableTools | None = None,
    ) -> None:
        self._tools = tools
        self._staged = staged
        self._guests = guests
        self._trace = trace
        self._installed: dict[str, StagedArtifact] = dict(staged.artifacts)
        self._declared = frozenset(staged.artifacts)
        self._grant = staged.capsule.capabilities.install
        launch = staged.prepared.launch
        self._project = launch.directory
        self._lock_file = launch.lock_file
        self._pins = launch.lock_file is not None and launch.flags.writes_lock
        self._origins = Origins(
            stores=(project_store(launch.directory), global_store(launch.home.artifacts)),
            sources=lambda: Sources(staged.prepared.config.sources, launch.environ),
            platform=staged.prepared.platform,
            environ=launch.environ,
        )
        self._answers: Mapping[str, Callable[..., Answer]] = {
            "list": self._list,
            "describe": self._describe,
            "search": self._search,
            "pull": self._pull,
            "remove": self._remove,
            "diagnostics": self._diagnostics,
        }

    def __call__(self, question: Question) -> Answer:
        return self._answers[question.function](*question.arguments)

    def _list(self) -> Answer:
        return Value(self._summaries())

    def _summaries(self) -> list[dict[str, str]]:
        return [_summary(each) for _, each in sorted(self._installed.items())]

    def _describe(self, name: str) -> Answer:
        found = self._find(name)
        if found is None:
            return Err(f"no artifact '{name}' is installed in this session")
        manifest = found.manifest
        return Ok(
            {
                **_summary(found),
                "description": manifest.description,
                "tags": list(manifest.tags),
                "input-schema": _schema(manifest.input_schema),
                "output-schema": _schema(manifest.output_schema),
            }
        )

    def _find(self, name: str) -> StagedArtifact | None:
        """By full name, or by the bare one: two artifacts never share it."""
        by_bare = (each for full, each in self._installed.items() if bare_name(full) == name)
        return self._installed.get(name) or next(by_bare, None)

    def _search(self, query: str) -> Answer:
        """What the stores offer that the grant covers, at the version that fits."""
        found = []
        try:
            for store in self._origins.stores:
                for result in search(offers_in(store), query, self._origins.platform, _MOST_FOUND):
                    if result.choice.version is not None and self._covers(result.offer.name):
                        found.append((result.offer.name, result.choice.version))
        except (MurmurError, OSError) as failure:
            return Err(f"the stores cannot be read: {failure}")
        summaries = []
        for name, version in dict(reversed(found)).items():  # the project's own come first
            stored = next(
                each
                for store in self._origins.stores
                if (each := store.find(FullName(name), version, self._origins.platform))
            )
            record = stored.record()
            native = record is not None and record.runtime == "native"
            runtime = "native" if native else "wasm"
            summaries.append({"name": name, "version": version, "runtime": runtime})
        return Ok(sorted(summaries, key=lambda each: each["name"]))

    def _covers(self, name: str) -> bool:
        try:
            granted_name(self._grant, name)
        except NotGranted:
            return False
        return True

    def _pull(self, name: str, version: str) -> Answer:
        try:
            pull = decide(
                self._grant,
                name,
                version,
                self._origins,
                self._lock(),
                RUNTIME_TOOLS,
            )
            return Ok(_summary(self._install(pull)))
        except NotGranted as refused:
            return Err(str(refused))
        except (MurmurError, OSError) as failure:
            return Err(f"{PREFIX}{failure}")

    def _lock(self) -> Lock | None:
        return None if self._lock_file is None else read_lock(self._lock_file)

    def _pin(self, pull: Pull) -> Pin:
        session = self._staged.session_id
        return pin_pull(self._project, pull, session) if self._pins else pull.pin(session)

    def _unpin(self, name: FullName) -> bool:
        """Whether there was something to take away. Raises NotGranted."""
        declared = name.text in self._declared
        if self._pins:
            return unpin(self._project, name, declared)
        if declared:
            raise NotGranted(f"the capsule's own manifest declares {name}")
        return name.text in self._installed

    def _install(self, pull: Pull) -> StagedArtifact:
        """Stages the artifact, then pins it; a pin that is refused takes the files away again.

        Raises NotGranted, MurmurError and OSError.
        """
        full = pull.name.text
        known = self._check_name(pull)
        check_pull(self._lock(), pull, self._staged.session_id)
        if known is not None and known.sha256 == pull.payload.sha256:
            self._record(pull, self._pin(pull))
            return known
        if full in self._declared:
            raise NotGranted(f"the capsule's own manifest declares {full}, and those bytes differ")
        if self._tools is not None and pull.payload.kind == "native":
            raise NotGranted(
                f"{full} is a native tool, and the programs that this session may start were "
                "settled at its launch; declare it in murmur.yaml"
            )
        entry = ArtifactEntry(full, pull.version, pull.tier)
        prepared = self._staged.prepared
        staged = stage_payload(prepared, entry, pull.payload, self._guests, self._staged.scratch)
        root = self._staged.directories.runtime_root
        write_artifact(root, staged)
        try:
            if self._tools is not None:
                self._tools.add(staged)
            pin = self._pin(pull)
        except BaseException:
            self._forget(pull.name)
            raise
        self._installed[full] = staged
        self._record(pull, pin)
        return staged

    def _check_name(self, pull: Pull) -> StagedArtifact | None:
        """What is installed under the name already. Raises NotGranted for a name of something
        else's."""
        full, bare = pull.name.text, pull.name.name
        if bare in self._staged.capsule.capabilities.shell_allow:
            raise NotGranted(f"{full} has the name of a command of capabilities.shell.allow")
        known = self._find(bare)
        if known is not None and known.entry.name != full:
            raise NotGranted(f"{full} has the bare name of {known.entry.name}, which is installed")
        return known

    def _forget(self, name: FullName) -> None:
        """Takes an artifact out of the session: it cannot be called, and its files are gone."""
        self._installed.pop(name.text, None)
        if self._tools is not None:
            self._tools.remove(name.name)
        remove_artifact(self._staged.directories.runtime_root, name.name)

    def _record(self, pull: Pull, pin: Pin) -> None:
        self._trace.write(
            "artifact_pulled",
            name=pull.name.text,
            version=pull.version,
            runtime=pull.tier,
            origin=pin.origin,
            session=pin.session,
            trust="untrusted" if pin.origin == "runtime" else "trusted",
        )

    def _remove(self, name: str) -> Answer:
        try:
            full = granted_name(self._grant, name)
            removed = self._unpin(full)
            if removed and full.text in self._installed:
                self._forget(full)
        except NotGranted as refused:
            return Err(str(refused))
        except (MurmurError, OSError) as failure:
            return Err(f"{PREFIX}{failure}")
        return Ok(removed)

    def _diagnostics(self) -> Answer:
        return Ok(
            {
                "capsule-id": self._staged.session_id,
                "installed": self._summaries(),
                "capabilities": self._grant_text(),
            }
        )

    def _grant_text(self) -> str:
        grant = self._grant
        if grant is None:
            return "install: nothing"
        lines = [
            f"install {tier}: {', '.join(entries)}"
            for tier, entries in (("skill", grant.skill), ("tool", grant.tool))
            if entries
        ]
        return "\n".join([*lines, f"from: {', '.join(grant.sources)}"])


def _summary(artifact: StagedArtifact) -> dict[str, str]:
    native = artifact.manifest.execution == "native"
    entry = artifact.entry
    runtime = "native" if native else "wasm"
    return {"name": entry.name, "version": entry.version, "runtime": runtime}


def _schema(declared: object) -> str | None:
    """A declared schema as JSON text; None where there is none to read."""
    if not declared:
        return None
    return json.dumps(schema_of(declared), separators=(",", ":"), ensure_ascii=False)
