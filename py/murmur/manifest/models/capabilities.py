"""`capabilities`, capsule-wide or on one artifact entry.

seeds/manifest-schema.md, `capabilities`; spec/formations-and-newer-manifest.md A5.
"""

from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from murmur.manifest import grants
from murmur.manifest.install_patterns import BadPattern, parse_pattern
from murmur.manifest.limits import Limits, Resources
from murmur.manifest.models.base import Block, Filled, Flag, Positive, Text, Texts, refuse


class NetworkBlock(Block):
    result_type = grants.NetworkGrant
    allow: Texts | None = None
    unix_sockets: Flag = False


class PeerFetchBlock(Block):
    result_type = grants.PeerFetchGrant
    allow: Texts

    @model_validator(mode="after")
    def _names_a_peer(self) -> Self:
        if not self.allow:
            refuse("the list is empty; leave the whole block out to allow no peer", "allow")
        return self


class FilesystemBlock(Block):
    result_type = grants.FilesystemGrant
    scope: Text | None = None
    read_only: Texts = Field(default_factory=list)
    workdir_exec: Flag = False
    records: Flag = False

    def result(self) -> grants.FilesystemGrant:
        given = self.given()
        if "read_only" in given:
            # Blank entries are dropped at parse: seeds/manifest-schema.md, Read-only paths.
            given["read_only"] = tuple(path for path in given["read_only"] if path.strip())
        return grants.FilesystemGrant(**given)


class InterpreterDirectoryBlock(Block):
    result_type = grants.InterpreterDirectory
    path: Text
    list_dir: Flag

    @model_validator(mode="after")
    def _is_absolute(self) -> Self:
        if not self.path.startswith("/"):
            refuse("it must be an absolute path", "path")
        return self


class InterpreterRuntimeBlock(Block):
    result_type = grants.InterpreterRuntime
    binary: Text
    dirs: list[InterpreterDirectoryBlock]

    @model_validator(mode="after")
    def _names_a_directory(self) -> Self:
        if not self.dirs:
            refuse("it must name at least one directory", "dirs")
        return self


class StagedRuntimeBlock(Block):
    result_type = grants.StagedRuntime
    binary: Text
    source_path: Text
    pin: Filled

    @model_validator(mode="after")
    def _is_absolute(self) -> Self:
        if not self.source_path.startswith("/"):
            refuse("it must be an absolute path", "source_path")
        return self


class ShellBlock(Block):
    result_type = grants.ShellGrant
    allow: Texts = Field(default_factory=list)
    strip_env: Texts = Field(default_factory=list)
    baseline_env: Texts = Field(default_factory=list)
    interpreter_runtime: list[InterpreterRuntimeBlock] = Field(default_factory=list)
    staged_runtime: list[StagedRuntimeBlock] = Field(default_factory=list)

    @model_validator(mode="after")
    def _allows_something(self) -> Self:
        if not self.allow:
            refuse("the list is empty; leave the whole block out to allow no binary", "allow")
        for index, entry in enumerate(self.allow):
            if "/" in entry or not entry.strip() or entry in (".", ".."):
                refuse("it must be a bare binary name, without a path", f"allow[{index}]")
        return self

    @model_validator(mode="after")
    def _grants_widen_allowed_binaries(self) -> Self:
        interpreted = {grant.binary for grant in self.interpreter_runtime}
        grants_of: tuple[tuple[str, list[Any]], ...] = (
            ("interpreter_runtime", self.interpreter_runtime),
            ("staged_runtime", self.staged_runtime),
        )
        for key, entries in grants_of:
            for index, grant in enumerate(entries):
                where = f"{key}[{index}].binary"
                if grant.binary not in self.allow:
                    refuse(f"'{grant.binary}' is not in shell.allow", where)
                if key == "staged_runtime" and grant.binary in interpreted:
                    refuse(f"'{grant.binary}' also has an interpreter_runtime grant", where)
        return self


class NamesBlock(Block):
    result_type = grants.NameGrant
    allow: Texts = Field(default_factory=list)


class StateBlock(Block):
    result_type = grants.StateGrant
    store: Text | None = None


class ReadBlock(Block):
    result_type = grants.ReadGrant
    read: Flag


class PlanBlock(Block):
    result_type = grants.PlanGrant
    submit: Flag


class InstallBlock(Block):
    result_type = grants.InstallGrant
    skill: Texts = Field(default_factory=list)
    tool: Texts = Field(default_factory=list)
    sources: list[Literal["stores", "sources"]] = Field(default=["stores"], alias="from")

    @model_validator(mode="after")
    def _names_something(self) -> Self:
        if not self.skill and not self.tool:
            refuse("both lists are empty; leave the whole block out to install nothing")
        for key, entries in (("skill", self.skill), ("tool", self.tool)):
            for index, entry in enumerate(entries):
                try:
                    parse_pattern(entry)
                except BadPattern as problem:
                    refuse(str(problem), f"{key}[{index}]", problem.hint)
        if not self.sources:
            refuse("the list is empty; leave it out to install from the stores", "from")
        return self


class HarnessPathBlock(Block):
    """The form of an operator's `host_paths` entry (open in the reference)."""

    result_type = grants.HarnessPath
    path: Text
    access: Literal["read", "read-write"] = "read"

    @model_validator(mode="after")
    def _is_absolute(self) -> Self:
        if not self.path.startswith(("/", "~/")):
            refuse("it must be an absolute path, or one that begins with ~/", "path")
        return self


class HarnessBlock(Block):
    result_type = grants.HarnessGrant
    paths: list[HarnessPathBlock] = Field(default_factory=list)


class LimitsBlock(Block):
    result_type = Limits
    memory_bytes: Positive | None = None
    table_elements: Positive | None = None
    instances: Positive | None = None
    deadline_seconds: Positive | None = None


class ResourcesBlock(Block):
    result_type = Resources
    max_processes: Positive | None = None
    max_open_files: Positive | None = None
    max_file_size_bytes: Positive | None = None
    cpu_seconds: Positive | None = None
    memory_bytes: Positive | None = None
    cgroup_memory_bytes: Positive | None = None
    cgroup_pids_max: Positive | None = None
    cgroup_cpu_percent: Positive | None = None
    cgroup_io_bytes_per_sec: Positive | None = None
    workdir_max_bytes: Positive | None = None

    def result(self) -> Resources:
        given = self.given()
        return Resources(**given, declared=frozenset(given))


class CapabilitiesBlock(Block):
    result_type = grants.Capabilities
    present_when_empty: ClassVar[frozenset[str]] = frozenset(
        ("peer_fetch", "shell", "conversation", "task_io", "plan", "install")
    )
    network: NetworkBlock | None = None
    peer_fetch: PeerFetchBlock | None = None
    filesystem: FilesystemBlock | None = None
    shell: ShellBlock | None = None
    env: NamesBlock | None = None
    limits: LimitsBlock | None = None
    resources: ResourcesBlock | None = None
    containment: Literal["advisory", "scoped", "sealed"] | None = None
    conversation: ReadBlock | None = None
    task_io: ReadBlock | None = None
    state: StateBlock | None = None
    plan: PlanBlock | None = None
    spawn: NamesBlock | None = None
    install: InstallBlock | None = None
    harness: HarnessBlock | None = None

    def result(self) -> grants.Capabilities:
        given = self.given()
        return grants.Capabilities(**given, declared=tuple(given))
