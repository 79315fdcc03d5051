"""The skill `create-manifest`: how to write a manifest, and every key that one may hold.

The keys are those of the reference page, so that an agent that was given the skill knows what this
mur reads. The examples are loaded by a test.
"""

from tools.docs.manifest import capsule_sections
from tools.docs.markdown import page

_GUIDE = """<!-- Made by tools/docs: change tools/docs/guide.py or the models, then run
`./bazelw run //tools/docs:generate`. -->

A capsule is an agent and everything that it may reach. Its manifest, `murmur.yaml`, is read by
people who must decide whether to run it: keep it short, and let it grant what the task needs and
nothing else. What a manifest does not name does not exist for the agent."""

_SETTLE = """## Settle these first

1. Which files does the task read, and which does it write? They lie in the work folder, the only
   folder there is. What must stay as it is goes into `capabilities.filesystem.read_only`.
2. Can a tool do it? `tool-editor` reads, writes and searches text without any program. A program
   in `capabilities.shell.allow` is a wider grant, and a shell such as `bash` wider still: it
   combines whatever else is listed, but cannot start a program that is not.
3. Which hosts, if any? Each is an entry of `capabilities.network.allow`. The model's provider is
   not among them: the driver reaches it through its `gateway:`.
4. Does it end after one task, or wait for further ones?
5. Does the task divide among several capsules? Then see the last example; a bounded task does not.

Search for artifacts before you name any, and take each version from what the search found. Never
invent a name, a version, a host or a key of this file."""

_BASE = """## Start from this

```yaml
name: tidy-notes                 # lowercase letters, digits and hyphens
version: 0.1.0
description: Tidies the notes in its work folder.

artifacts:
  - name: murmur/driver-anthropic
    version: 0.1.0
    runtime: driver
    gateway:
      endpoint: https://api.anthropic.com
      api_key: ${ANTHROPIC_API_KEY}
  - name: murmur/tool-editor
    version: 0.1.0
    runtime: tool

inference:
  model: claude-haiku-4-5-20251001
  max_tokens: 4096
  max_turns: 20
  driver:
    artifact: murmur/driver-anthropic
  system_prompt: You keep notes in order. You change the form of a text and never its meaning.
```

- Every artifact stands under its full name, `<scope>/<name>`, with an exact version. What was built
  here and installed from a file has the scope `local`.
- `runtime:` of an entry is `tool`, `driver`, `hook` or `skill`, whatever the artifact is made of.
- A key is a reference `${NAME}` in a `gateway:`, never its text and never an environment variable
  that is passed on. The runtime adds it to the artifact's requests; nothing in the capsule has it.
- `inference.driver.artifact` names the entry with `runtime: driver`."""

_ADD = """## Add only what the task needs

Programs, with a floor for how they are held, and paths that they may not write:

```yaml
capabilities:
  containment: scoped            # refuse to run where the kernel cannot hold commands
  shell:
    allow: [git]
  filesystem:
    read_only: [vendor]
```

Hosts, which tools and programs share:

```yaml
capabilities:
  network:
    allow: ["https://api.example.com"]
```

A hook. It gets nothing from `capabilities:` above, only what its own entry grants:

```yaml
artifacts:
  - name: murmur/hook-protect-tool
    version: 0.1.0
    runtime: hook
    config:
      protect: [tests/]
```

A service that waits for tasks at its door, lets in whoever has a token, and remembers each
conversation:

```yaml
lifecycle:
  task_acceptance: queue
  after_task: sleep
  queue_depth: 4
  conversation: threaded
network:
  authentication:
    scheme: bearer
```

A capsule that divides its work among others. What they answer comes as a further task, so it must
outlive the task that started them:

```yaml
capabilities:
  spawn:
    allow: [local/reader]
lifecycle:
  task_acceptance: queue
  after_task: sleep
```"""

_CHECK = """## Before you hand it over

- Each entry of `capabilities` is needed by a step of the task that you can name. Take out others.
- No grant is wider than its use: a host rather than a domain, a program rather than a shell, a
  folder (`scope` in a tool's own entry) rather than the whole work folder.
- `lifecycle` is absent for a task that ends. A capsule with `after_task: sleep` never ends by
  itself.
- No text in the file is a secret.

Whoever runs it looks at `mur run --explain-scope` first: it prints what the manifest grants, and
starts nothing."""

_KEYS = """## Every key

A key without a value counts as absent. A key that is not listed here has no effect and is reported
(`W-SEC-019`). Durations are seconds, or a number with `s`, `m`, `h` or `d`; sizes are bytes, or a
number with `Ki`, `Mi` or `Gi`."""


def create_manifest_skill() -> str:
    """The text that an agent reads."""
    parts = [[part] for part in (_SETTLE, _BASE, _ADD, _CHECK, _KEYS)]
    return page("Write a capsule's manifest", _GUIDE, *parts, *capsule_sections())
