"""`on-stage`: hooks that describe tools better than their manifests do. spec/artifacts.md 15.2.

Called once the session's directories are there and before it is launched; each hook in an instance
that is thrown away. Faults go to the hook's log alone: there is no trace yet.
"""

import dataclasses
from collections.abc import Mapping
from typing import Final

from murmur.core.diagnostics import MurmurError
from murmur.core.safefs import UnsafePath
from murmur.guest.client import Guests
from murmur.manifest.artifact import parse_artifact_manifest
from murmur.session.hooks.answers import Fault
from murmur.session.hooks.calls import HookCalls
from murmur.session.hooks.contracts import Handler, staged_hooks
from murmur.session.hooks.events import stage_event
from murmur.session.hooks.faults import Faults
from murmur.session.hooks.imports import Imports
from murmur.session.hooks.scope import Scope
from murmur.session.inventory import Tool, schema_of
from murmur.session.runtime_files import write_tool_manifest
from murmur.session.stage import Staged

_HANDLER: Final[Handler] = "on-stage"


def run_on_stage(staged: Staged, guests: Guests) -> Staged:
    """Has every hook of `on-stage` say its piece, in manifest order; later manifests win.

    The session with the tools as they are described now.
    """
    hooks = [hook for hook in staged_hooks(staged.artifacts) if hook.hears(_HANDLER)]
    if not hooks:
        return staged
    faults = Faults(staged.directories.records_root)
    imports = Imports(Scope(), None, None)
    calls = HookCalls(staged, tuple(hooks), guests, None)
    event = stage_event(staged.capsule.capabilities.shell_allow)
    tools = dict(staged.tools)
    for hook in hooks:
        answering = imports.answering(hook, _HANDLER)
        answer = calls.call(hook, _HANDLER, event, answering, lasting=False)
        if isinstance(answer, Fault):
            faults.note(hook.name, _HANDLER, answer.reason)
        elif answer is not None and hook.honours(_HANDLER, answer.arm):
            for name, content in answer.value:
                problem = _describe(staged, tools, name, content)
                if problem is not None:
                    faults.note(hook.name, _HANDLER, f"its manifest for {name!r}: {problem}")
        elif answer is not None and not answer.silent:
            faults.note(hook.name, _HANDLER, f"its {answer.arm} is not honoured here")
    return dataclasses.replace(staged, tools=tools)


def _describe(staged: Staged, tools: dict[str, Tool], name: str, content: str) -> str | None:
    """Writes a manifest, and describes the tool of that name by it; why not, or None.

    A manifest for a tool that the session has not is written and changes nothing: what can be
    called is the operator's to say.
    """
    try:
        manifest = parse_artifact_manifest(content)
        write_tool_manifest(staged.directories.runtime_root, name, content.encode())
    except MurmurError as bad:
        return bad.message
    except (OSError, UnsafePath) as failure:
        return f"it cannot be written: {failure.strerror or failure}"
    tool = tools.get(name)
    if tool is not None:
        schema = schema_of(manifest.input_schema)
        tools[name] = dataclasses.replace(
            tool,
            description=manifest.description or tool.description,
            schema=_merged(tool, schema),
        )
    return None


def _merged(tool: Tool, schema: Mapping[str, object]) -> Mapping[str, object]:
    """The schema that is declared, else the one that the tool had."""
    return schema if schema.get("properties") else tool.schema
