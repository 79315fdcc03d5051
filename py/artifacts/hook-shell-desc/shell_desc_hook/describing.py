"""What the model is told about a shell tool, as the tool's manifest."""

import json
from collections.abc import Iterable

_WHOLE = "`command` is a whole command line"
_ARGUMENTS = "`command` holds the arguments only, without the program's name"

DESCRIPTIONS = {
    "bash": "Run a command line in the work folder with bash: pipes, redirections, loops, several "
    "commands at once. Output beyond 16 KiB a stream is cut and kept in a file.",
    "git": "Version control: status, diff, log, show, add, commit, branch, checkout, restore. Ask "
    "for short output (`status --short`, `log --oneline -n 20`, `diff --stat`) first. There is no "
    "pager and no editor: pass messages with -m.",
    "cargo": "Build and test Rust projects: build, check, test, clippy, fmt. `check` is the "
    "fastest way to see compile errors; `test NAME` runs the tests whose name holds NAME.",
    "rustc": "The Rust compiler, for single files; `--explain E0000` explains an error code.",
    "grep": "Search text: `-rn PATTERN DIR` with line numbers, `-l` for names of files alone, `-E` "
    "for extended patterns, `-C 3` for context. Exit code 1 means that nothing was found.",
    "find": "Find files by name, kind, size or age: `. -name '*.py' -not -path './.git/*'`.",
    "curl": "Fetch a URL: `-sS -L URL`; `-o FILE` keeps the body in a file. Only hosts that the "
    "capsule's manifest lists can be reached.",
    "jq": "Read and reshape JSON: `-r '.items[].name' FILE`.",
    "python3": "Run Python: a file, a module with -m, or a short program with -c.",
    "node": "Run JavaScript: a file, or a short program with -e.",
}
"""The binaries that are described, in the reference's order."""


def manifests(shell_allow: Iterable[str]) -> list[tuple[str, str]]:
    """(binary, manifest) of every allowed binary that is known here."""
    allowed = set(shell_allow)
    return [(name, _manifest(name)) for name in DESCRIPTIONS if name in allowed]


def _manifest(name: str) -> str:
    about = _WHOLE if name == "bash" else _ARGUMENTS
    command = {"type": "string", "description": about}
    # JSON is YAML, and needs no emitter.
    return json.dumps(
        {
            "name": name,
            "version": "0.0.0",
            "runtime": "tool",
            "implementation": "native",
            "description": f"{DESCRIPTIONS[name]} {about[0]}{about[1:]}.",
            "input_schema": {
                "type": "object",
                "properties": {"command": command},
                "required": ["command"],
            },
        },
        indent=2,
    )
