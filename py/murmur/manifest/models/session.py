"""The blocks that shape a session: lifecycle, network, context, trace and what they hold.

seeds/manifest-schema.md, the sections of these names; spec/formations-and-newer-manifest.md A6
to A8 and A12 to A14.
"""

import re
from typing import Annotated, ClassVar, Literal, Self, TypeVar

from pydantic import Field, model_validator

from murmur.manifest import session as results
from murmur.manifest.models.base import (
    Block,
    Bytes,
    Filled,
    Flag,
    Lifetime,
    Port,
    Positive,
    Seconds,
    Text,
    Texts,
    Whole,
    refuse,
)
from murmur.manifest.segments import relative_problem

SCOPES = (
    "SendMessage",
    "SendStreamingMessage",
    "GetTask",
    "ListTasks",
    "SubscribeToTask",
    "CancelTask",
    "murmur.WatchSession",
    "murmur.StopSession",
    "resources/files",
)
_CREDENTIAL = re.compile(r"[a-z][a-z0-9_-]{0,31}")
# Written (0.0-1.0) by the reference, beside a (0.0-1.0] elsewhere: both ends are outside.
_Fraction = Annotated[float, Field(strict=True, gt=0, lt=1, allow_inf_nan=False)]


class KeepWorkingBlock(Block):
    result_type = results.KeepWorking
    message: Filled
    limit: Positive


class DoneCheckBlock(Block):
    result_type = results.DoneCheck
    command: Filled
    limit: Whole
    timeout_secs: Positive | None = None


class LifecycleBlock(Block):
    result_type = results.Lifecycle
    task_acceptance: Literal["none", "single", "queue"] | None = None
    after_task: Literal["exit", "sleep"] | None = None
    queue_depth: Positive | None = None
    input_timeout_secs: Positive | None = None
    conversation: Literal["stateless", "threaded"] | None = None
    max_task_reopens: Whole | None = None
    shell_grace_secs: Whole | None = None
    delegation_deadline_secs: Whole | None = None
    deadline_notice_secs: Whole | None = None
    keep_working: KeepWorkingBlock | None = None
    done_check: DoneCheckBlock | None = None


class CredentialBlock(Block):
    result_type = results.Credential
    scopes: Texts

    @model_validator(mode="after")
    def _names_methods(self) -> Self:
        if not self.scopes:
            refuse("it names no scope", "scopes")
        for index, scope in enumerate(self.scopes):
            if scope not in SCOPES:
                refuse(f"'{scope}' is none of {', '.join(SCOPES)}", f"scopes[{index}]")
            if scope in self.scopes[:index]:
                refuse(f"'{scope}' is named twice", f"scopes[{index}]")
        return self


class AuthenticationBlock(Block):
    result_type = results.Authentication
    scheme: Literal["bearer"]
    credentials: dict[str, CredentialBlock] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _names_credentials(self) -> Self:
        for name in self.credentials:
            if not _CREDENTIAL.fullmatch(name) or name == "operator":
                refuse(
                    "a credential's name begins with a letter, holds lowercase letters, digits, "
                    "'_' and '-', is at most 32 characters and is not 'operator'",
                    f"credentials.{name}",
                )
        return self


class NetworkBlock(Block):
    result_type = results.Network
    internal_port: Port | None = None
    authentication: AuthenticationBlock | None = None


class ContextRetainBlock(Block):
    result_type = results.ContextRetain
    max_messages: Positive | None = None
    max_age: Seconds | None = None

    @model_validator(mode="after")
    def _bounds_something(self) -> Self:
        return _bounds(self)


class TraceRetainBlock(Block):
    result_type = results.TraceRetain
    max_sessions: Positive | None = None
    max_age: Seconds | None = None

    @model_validator(mode="after")
    def _bounds_something(self) -> Self:
        return _bounds(self)


_Retain = TypeVar("_Retain", bound=Block)


def _bounds(block: _Retain) -> _Retain:
    if not block.given():
        refuse("it sets no bound; leave the whole block out to keep everything")
    return block


class ImagesBlock(Block):
    result_type = results.Images
    max_bytes: Bytes | None = None
    keep: Whole | None = None
    max_per_turn: Whole | None = None


class ContextBlock(Block):
    result_type = results.Context
    present_when_empty: ClassVar[frozenset[str]] = frozenset(("retain",))
    max_tokens: Positive | None = None
    seed_budget: _Fraction | None = None
    seed_overflow_margin: _Fraction | None = None
    record: Literal["on", "off"] | None = None
    record_store: Text | None = None
    retain: ContextRetainBlock | None = None
    images: ImagesBlock | None = None


class TraceBlock(Block):
    result_type = results.Trace
    present_when_empty: ClassVar[frozenset[str]] = frozenset(("retain",))
    capture: Literal["none", "meta", "content"] | None = None
    retain: TraceRetainBlock | None = None


class ScorerBlock(Block):
    """An unknown `type` is the scoring hook's to skip, so it is not refused here."""

    result_type = results.Scorer
    type: Filled
    name: Filled | None = None
    max: Whole | None = None
    expected: Texts | None = None


class EvaluationBlock(Block):
    result_type = results.Evaluation
    dataset_id: Text | None = None
    scorers: list[ScorerBlock] = Field(default_factory=list)


class ObservabilityBlock(Block):
    result_type = results.Observability
    otel_endpoint: Text | None = None
    eval: EvaluationBlock | None = None

    def result(self) -> results.Observability:
        given = self.given()
        # An empty endpoint counts as none: seeds/manifest-schema.md, observability.
        given["otel_endpoint"] = given.get("otel_endpoint") or None
        return results.Observability(**given)


def _check_root(root: str) -> None:
    if not root.strip():
        refuse("it is empty", "root")
    if ".." in root.split("/"):
        refuse("it holds '..'", "root")
    if problem := relative_problem(root):
        refuse(problem, "root")


class FileExportBlock(Block):
    result_type = results.FileExport
    root: Text
    mode: Literal["read-only"]
    max_bytes: Bytes | None = None

    @model_validator(mode="after")
    def _stays_inside(self) -> Self:
        _check_root(self.root)
        return self


class PeerFileExportBlock(Block):
    result_type = results.PeerFileExport
    root: Text
    max_ttl: Lifetime | None = None
    max_bytes: Bytes | None = None

    @model_validator(mode="after")
    def _stays_inside(self) -> Self:
        _check_root(self.root)
        return self


class PeerTasksBlock(Block):
    result_type = results.PeerTasks
    accept: Flag


class ExportsBlock(Block):
    result_type = results.Exports
    present_when_empty: ClassVar[frozenset[str]] = frozenset(("peer_tasks",))
    files: FileExportBlock | None = None
    peer_files: PeerFileExportBlock | None = None
    peer_tasks: PeerTasksBlock | None = None


class ControlBlock(Block):
    result_type = results.Control
    settings: Texts = Field(default_factory=list)
    secrets: Texts = Field(default_factory=list)
    agent_settings: Texts = Field(default_factory=list)


class DeployBlock(Block):
    result_type = results.Deploy
    mur_version: Text | None = None
