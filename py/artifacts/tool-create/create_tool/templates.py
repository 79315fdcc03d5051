"""The files that a new artifact begins with, by its type and runtime. `mur build` takes each."""

from create_tool.assembled import component_of
from create_tool.starters import EXPORTS, STARTERS

Files = dict[str, bytes]

_MANIFEST = """\
name: {name}
version: 0.1.0
runtime: {type}
{more}description: {description}
requires_files:
  - {file}
"""
_SCHEMA = """\
input_schema:
  type: object
  properties:
    message:
      type: string
      description: "What comes back."
  murmur-destinations: []
"""
_CONTRACT = "execution_mode: blocking\ncommit_policy: none\n"

_BUILD = """\
```
mur build tools/{name}
mur publish tools/{name}/{name}-0.1.0.mur.zip
```

Then list it in a capsule's `artifacts:` as `local/{name}`.
"""

_WASM_README = """\
# {name}

{does} `capsule.wasm` is what runs: a component that exports `{export}`.
It was made of `capsule.wat` and can be replaced by one made of any language that has WebAssembly
components.

To go on from the text, edit `capsule.wat` and assemble it again; the interface comes from the
component that is there:

```
wasm-tools component wit capsule.wasm --out-dir wit
wasm-tools component embed wit capsule.wat --output core.wasm
wasm-tools component new core.wasm --output capsule.wasm
```

To build, and to install for capsules of this machine:

"""

_NATIVE = """\
#!/bin/sh
# One call of {name}: a line of JSON comes in, {{"data": "<the input as JSON>", "log_path": null}},
# and a line of JSON goes out: a status (passed, failed or error) and data.
IFS= read -r call
printf '{{"status":"passed","data":%s}}\\n' "$call"
"""

_NATIVE_README = """\
# {name}

Answers every call with what came in. `bin/{name}` is what runs, as a program of the host: for a
script, the capsule's `capabilities.shell.allow` lists its interpreter (`sh`); a compiled program
needs nothing else.

To build, and to install for capsules of this machine:

"""

_SKILL = """\
# {name}

Say here when this skill is to be used, and then, step by step, how.
"""


def files_of(kind: str, runtime: str, name: str) -> Files:
    """The files of a new artifact, by their paths in its folder."""
    if kind == "skill":
        manifest = _MANIFEST.format(
            name=name, type=kind, more="", description=f"How to {name}.", file="skill.md"
        )
        return {"murmur.yaml": manifest.encode(), "skill.md": _SKILL.format(name=name).encode()}
    if runtime == "native":
        manifest = _MANIFEST.format(
            name=name,
            type=kind,
            more="implementation: native\n",
            description="Answers with what came in.",
            file=f"bin/{name}",
        )
        return {
            "murmur.yaml": (manifest + _SCHEMA).encode(),
            f"bin/{name}": _NATIVE.format(name=name).encode(),
            "README.md": (_NATIVE_README + _BUILD).format(name=name).encode(),
        }
    hook = kind == "hook"
    manifest = _MANIFEST.format(
        name=name,
        type=kind,
        more=_CONTRACT if hook else "",
        description="Hears every event, and does nothing." if hook else "Answers with its input.",
        file="capsule.wasm",
    )
    does = (
        "Hears every event of a session, and does nothing." if hook else "Answers with its input."
    )
    readme = (_WASM_README + _BUILD).format(name=name, does=does, export=EXPORTS[kind])
    return {
        "murmur.yaml": (manifest + ("" if hook else _SCHEMA)).encode(),
        "capsule.wasm": component_of(kind),
        "capsule.wat": STARTERS[kind].encode(),
        "README.md": readme.encode(),
    }
