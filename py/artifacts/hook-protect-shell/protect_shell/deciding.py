"""Whether a command writes to a protected path. None is: not that anybody can tell."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from murmur_hooking.patterns import DEFAULT_PROTECT, Patterns
from murmur_hooking.settings import read_config, texts

from murmur.read_only.check import SHELLS, Write, named_command, shell_write
from murmur.read_only.script import Word, read_script


@dataclass(frozen=True)
class Policy:
    """The hook's settings. `writers` are further programs that write whatever they are given."""

    patterns: Patterns
    writers: tuple[str, ...] = ()


def read_policy(environ: Mapping[str, str]) -> Policy:
    """The settings in force. Raises BadConfig."""
    config = read_config(environ, ("protect", "allow", "shell_write_binaries"))
    return Policy(
        Patterns(texts(config, "protect", DEFAULT_PROTECT), texts(config, "allow", ())),
        texts(config, "shell_write_binaries", ()),
    )


def refusal(
    policy: Policy, argv: Sequence[str], script: str | None, recipe: str | None
) -> str | None:
    """Why the command may not run, or None. `recipe` is what a build tool would run for it."""
    if not argv:
        return None
    binary = argv[0].rpartition("/")[2]
    found = shell_write(policy.patterns, binary, argv) or _by_writer(policy, binary, argv, script)
    if found is None and recipe is not None:
        found = shell_write(policy.patterns, "sh", ("sh", "-c", recipe))
        found = found or _by_writer(policy, "sh", (), recipe)
    if found is None:
        return None
    return f"{found.path} is protected by {found.rule} ({found.signal}); it can still be read"


def _by_writer(
    policy: Policy, binary: str, argv: Sequence[str], script: str | None
) -> Write | None:
    for name, words in _commands(binary, argv, script):
        if name not in policy.writers:
            continue
        for word in words:
            path = word.path
            if path is None or path.startswith("-"):
                continue
            if covered := policy.patterns.covering(path):
                return Write(covered.path, covered.rule, f"target of {name}")
    return None


def _commands(
    binary: str, argv: Sequence[str], script: str | None
) -> Iterator[tuple[str, Sequence[Word]]]:
    if script is None or binary not in SHELLS:
        yield binary, tuple(Word(word) for word in argv[1:])
        return
    for command in read_script(script):
        yield named_command(command)
