"""The `inference` block: which model, through which driver, under which bounds.

spec/formations-and-newer-manifest.md A9 to A11; decisions 1 (old spellings are lowered before).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Transport = Literal["http", "process"]


@dataclass(frozen=True, slots=True)
class Driver:
    """The driver's full name, and settings any driver would act on (None: not declared)."""

    artifact: str
    config: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True)
class Retry:
    """Repeating a model call that failed for a passing reason; delays are milliseconds."""

    max_retries: int = 3
    initial_delay_ms: int = 1000
    max_delay_ms: int = 60_000


@dataclass(frozen=True, slots=True)
class Compaction:
    """How the conversation is shortened; `threshold` is a fraction of the input budget."""

    threshold: float = 0.98
    model: str | None = None
    max_tokens: int | None = None
    system_prompt: str | None = None
    system_prompt_file: str | None = None
    dump_summaries: bool = False


@dataclass(frozen=True, slots=True)
class Alternate:
    """A named driver choice beside the primary one."""

    name: str
    model: str
    driver: Driver


@dataclass(frozen=True, slots=True)
class Inference:
    """How the agent reaches a model. A `None` ceiling means that the manifest sets none.

    `driver` is None when none is named, which `mur run` refuses with E-RUN-005.
    `driver_implied` is set when an old `command` alone picked the process driver.
    """

    transport: Transport = "http"
    model: str | None = None
    driver: Driver | None = None
    driver_implied: bool = False
    command: str | None = None
    max_tokens: int | None = None
    max_turns: int | None = None
    max_session_tokens: int | None = None
    system_prompt: str | None = None
    system_prompt_file: str | None = None
    system_prompt_artifact: str | None = None
    instruction_files: tuple[str, ...] = ()
    retry: Retry = field(default_factory=Retry)
    tool_refresh: Literal["compaction", "immediate"] = "compaction"
    alternates: tuple[Alternate, ...] = ()
    compaction: Compaction = field(default_factory=Compaction)
