"""A capsule manifest from its text. spec/diagnostics.md 4.9 and 6.1."""

import json

import pytest

from murmur.core.diagnostics import MurmurError
from murmur.manifest.capsule import Capsule
from murmur.manifest.limits import Limits, Resources
from murmur.manifest.parse import load_capsule

HEAD = "name: demo\nversion: '0.1.0'\n"


def load(body: str) -> Capsule:
    return load_capsule(HEAD + body, "/demo/murmur.yaml").capsule


def refusal(text: str) -> MurmurError:
    with pytest.raises(MurmurError) as caught:
        load_capsule(text, "/demo/murmur.yaml")
    return caught.value


def test_the_defaults_are_those_of_the_reference() -> None:
    capsule = load("inference: {model: m}\n")
    lifecycle = capsule.lifecycle
    assert (lifecycle.task_acceptance, lifecycle.after_task) == ("single", "exit")
    assert (lifecycle.queue_depth, lifecycle.conversation) == (1, "stateless")
    assert (lifecycle.max_task_reopens, lifecycle.shell_grace_secs) == (1, 10)
    assert (lifecycle.delegation_deadline_secs, lifecycle.input_timeout_secs) == (600, None)
    assert capsule.capabilities.limits == Limits(536870912, 100000, 1000, None)
    assert capsule.capabilities.limits.call_deadline == 600
    assert capsule.capabilities.limits.hook_deadline == 30
    assert capsule.capabilities.resources == Resources(
        128, 1024, 4294967296, 3600, 2147483648, 4294967296, 256, 200, 104857600, 10737418240
    )
    assert not capsule.capabilities.resources.declares_cgroup
    assert capsule.trace.capture == "meta" and capsule.trace.retain is None
    assert (capsule.context.record, capsule.context.seed_budget) == ("on", 0.10)
    assert (capsule.context.images.max_bytes, capsule.context.images.keep) == (5242880, 5)
    inference = capsule.inference
    assert inference is not None and inference.transport == "http"
    assert (inference.max_turns, inference.max_tokens, inference.driver) == (None, None, None)
    assert inference.retry.max_retries == 3 and inference.compaction.threshold == 0.98
    assert load("").inference is None


def test_a_full_manifest_is_taken_over() -> None:
    capsule = load(
        """
description: Reads logs
artifacts:
  - {name: murmur/driver-replay, version: 1.0.0, runtime: driver, config: {b: 1, a: [2]}}
  - name: acme/tool-x
    version: "2"
    gateway: {endpoint: "https://api.example.com/v1/", api_key: "${X_KEY}"}
    capabilities: {network: {allow: []}, filesystem: {scope: cache}}
  - {name: local/style, source: ./style, runtime: skill}
capabilities:
  network: {allow: [https://a.example, localhost:80], unix_sockets: true}
  filesystem: {scope: ., read_only: [tests, " ", ""], workdir_exec: true}
  shell:
    allow: [bash, python3]
    strip_env: [AWS_*]
    baseline_env: [PATH]
    interpreter_runtime:
      - {binary: python3, dirs: [{path: /usr/lib/python3, list_dir: false}]}
  env: {allow: [REGION]}
  limits: {deadline_seconds: 5}
  resources: {cgroup_pids_max: 64}
  containment: scoped
network: {internal_port: 14159}
lifecycle: {task_acceptance: queue, after_task: sleep, queue_depth: 2}
context: {record: off, max_tokens: 1000, retain: {max_age: 90d}}
trace: {capture: content, retain: {max_sessions: 5, max_age: 3600}}
inference:
  model: m
  driver: {artifact: murmur/driver-replay, config: {turns: []}}
  system_prompt: |
    Be brief.
  max_turns: 4
  max_tokens: 100
  retry: {max_retries: 0, initial_delay_ms: 5}
  instruction_files: [AGENTS.md]
exports:
  files: {root: out/, mode: read-only, max_bytes: 1Ki}
"""
    )
    driver, tool, skill = capsule.artifacts
    assert driver.config is not None and list(driver.config.value) == ["b", "a"]  # type: ignore[call-overload]
    assert driver.label == "murmur/driver-replay@1.0.0"
    assert tool.gateway is not None and tool.gateway.api_key == "${X_KEY}"
    assert "X_KEY" not in repr(tool)
    assert tool.capabilities is not None and tool.capabilities.network is not None
    assert tool.capabilities.network.allow == ()
    assert tool.capabilities.declared == ("network", "filesystem")
    assert (skill.version, skill.local_source, skill.prompt_payload) == ("local", True, True)
    assert skill.bare_name == "style"
    granted = capsule.capabilities
    assert granted.network_allow == ("https://a.example", "localhost:80")
    assert granted.unix_sockets and granted.workdir_exec
    assert granted.read_only == ("tests",)
    assert granted.shell_allow == ("bash", "python3") and granted.env_allow == ("REGION",)
    assert granted.limits.hook_deadline == granted.limits.call_deadline == 5
    assert granted.resources.declared == {"cgroup_pids_max"} and granted.resources.declares_cgroup
    assert capsule.context.record == "off" and capsule.context.retain is not None
    assert capsule.context.retain.max_age == 90 * 86400
    assert capsule.trace.retain is not None and capsule.trace.retain.max_age == 3600
    assert capsule.inference is not None and capsule.inference.system_prompt == "Be brief."
    assert capsule.inference.retry.max_retries == 0
    assert capsule.driver_entry is driver
    assert capsule.exports.files is not None and capsule.exports.files.max_bytes == 1024
    plain = json.loads(json.dumps(capsule.as_dict()))
    assert plain["capabilities"]["shell"]["interpreter_runtime"][0]["dirs"][0]["list_dir"] is False
    assert plain["artifacts"][0]["config"] == {"value": {"b": 1, "a": [2]}}


@pytest.mark.parametrize("body", ["inference:\n", "capabilities: ~\n", "artifacts:\n", "trace:\n"])
def test_a_key_without_a_value_counts_as_absent(body: str) -> None:
    assert load(body) == load("")


@pytest.mark.parametrize(
    ("text", "code", "facts"),
    [
        ("name: demo\n", "E-MAN-001", ["version"]),
        ("", "E-MAN-001", ["name"]),
        ("name:\nversion: '1'\n", "E-MAN-001", ["murmur.yaml", "name"]),
        ("name: a\nversion: [\n", "E-MAN-002", ["murmur.yaml:3:1"]),
        ("name: a\nname: b\n", "E-MAN-002", ["murmur.yaml:2:1", "'name'", "twice"]),
        ("- a\n", "E-MAN-003", ["mapping", "a list"]),
        ("name: a\nversion: 1.0\n", "E-MAN-003", ["murmur.yaml:2:1", "version", "string", "1.0"]),
        # The first missing field comes before the first wrong one.
        ("version: 1\n", "E-MAN-001", ["name"]),
    ],
)
def test_the_frame_of_the_file(text: str, code: str, facts: list[str]) -> None:
    caught = refusal(text)
    assert caught.code == code and caught.exit_status == 1
    assert caught.message.startswith("murmur.yaml")
    for fact in facts:
        assert fact in caught.message


ENTRY = "artifacts: [{name: a/b, version: '1'"
CONTROL = "inference: {model: m, driver: {artifact: a/b}"


@pytest.mark.parametrize(
    ("body", "field", "reason"),
    [
        (ENTRY + ", runtime: wasm}]", "artifacts[0].runtime", "'tool', 'driver', 'hook' or"),
        (ENTRY + ", runtime: skill, config: {}}]", "artifacts[0].config", "skill"),
        (ENTRY + ", runtime: skill, config: }]", "artifacts[0].config", "skill"),
        (ENTRY + ", runtime: skill, capabilities: {}}]", "artifacts[0].capabilities", "skill"),
        (ENTRY + ", on_overflow: drop}]", "artifacts[0].on_overflow", "hook"),
        (
            ENTRY + ", capabilities: {task_io: {read: true}}}]",
            "artifacts[0].capabilities.task_io",
            "hook",
        ),
        (
            ENTRY + ", runtime: hook, capabilities: {conversation: }}]",
            "artifacts[0].capabilities.conversation.read",
            "never inferred",
        ),
        (
            ENTRY + ", source: ./x}]",
            "artifacts[0]",
            "artifact 'a/b' declares 'source:' but does not declare 'local_source: true' "
            "(runtime: tool)",
        ),
        ("artifacts: [{name: a/b/c, version: '1'}]", "artifacts[0].name", "<scope>/<name>"),
        ("artifacts: [{name: A/b, version: '1'}]", "artifacts[0].name", "<scope>/<name>"),
        (ENTRY + "}, {name: a/b, version: '2'}]", "artifacts[1].name", "declared twice"),
        (ENTRY + ", gateway: {endpoint: 'http://x.example'}}]", "gateway.endpoint", "loopback"),
        (ENTRY + ", gateway: {}}]", "artifacts[0].gateway.endpoint", "base URL"),
        (
            ENTRY + ", gateway: {endpoint: 'https://x.example', api_key: '', keyless: true}}]",
            "artifacts[0].gateway.api_key",
            "keyless",
        ),
        (
            ENTRY + ", runtime: driver, gateway: {endpoint: 'https://x.example', keyless: true}}]",
            "artifacts[0].gateway",
            "inference.driver.artifact",
        ),
        ("inference: {model: m, max_turns: 0}", "inference.max_turns", "above 0"),
        ("inference: {model: m, max_tokens: 0}", "inference.max_tokens", "above 0"),
        ("inference: {model: m, max_session_tokens: 0}", "inference.max_session_tokens", "above"),
        ("context: {max_tokens: 0}", "context.max_tokens", "above 0"),
        (
            "inference: {model: m, driver: {artifact: a/b, config: []}}",
            "inference.driver.config",
            "a mapping",
        ),
        (
            "inference: {model: m, system_prompt: x, system_prompt_file: y}",
            "inference.system_prompt_file",
            "at most one",
        ),
        (
            "inference: {model: m, compaction: {system_prompt: x, system_prompt_file: y}}",
            "inference.compaction.system_prompt_file",
            "at most one",
        ),
        (
            ENTRY + "}]\ninference: {model: m, system_prompt_artifact: a/b}",
            "inference.system_prompt_artifact",
            "prompt_payload",
        ),
        (
            ENTRY + "}]\ninference: {model: m, driver: {artifact: a/b}}",
            "inference.driver.artifact",
            "runtime: tool",
        ),
        ("inference: {model: m, compaction: {threshold: 0}}", "threshold", "above 0"),
        ("inference: {model: m, compaction: {threshold: 1.1}}", "threshold", "at most 1"),
        ("inference: {model: m, command: claude}", "inference.command", "transport: http"),
        ("inference: {transport: process, max_tokens: 3}", "max_tokens", "transport: process"),
        ("inference: {transport: process, tool_refresh: immediate}", "tool_refresh", "process"),
        ("inference: {transport: smoke, model: m}", "inference.transport", "'http' or 'process'"),
        ("capabilities: {shell: {allow: []}}", "capabilities.shell.allow", "empty"),
        ("capabilities: {shell: }", "capabilities.shell.allow", "empty"),
        ("capabilities: {shell: {allow: [/bin/sh]}}", "shell.allow[0]", "bare binary name"),
        ("capabilities: {peer_fetch: {allow: []}}", "capabilities.peer_fetch.allow", "empty"),
        ("capabilities: {plan: {}}", "capabilities.plan.submit", "never inferred"),
        ("capabilities: {task_io: {read: true}}", "capabilities.task_io", "hook"),
        ("capabilities: {limits: {memory_bytes: 0}}", "limits.memory_bytes", "above 0"),
        ("capabilities: {resources: {cpu_seconds: 0}}", "resources.cpu_seconds", "above 0"),
        ("capabilities: {limits: {instances: true}}", "limits.instances", "an integer"),
        ("capabilities: {limits: {instances: 1.0}}", "limits.instances", "an integer"),
        ("capabilities: {limits: {instances: '1'}}", "limits.instances", "an integer"),
        ("capabilities: {install: }", "capabilities.install", "both lists are empty"),
        ("capabilities: {containment: full}", "capabilities.containment", "'sealed'"),
        (
            "capabilities: {shell: {allow: [sh], interpreter_runtime: [{binary: py, dirs: "
            "[{path: /a, list_dir: true}]}]}}",
            "capabilities.shell.interpreter_runtime[0].binary",
            "not in shell.allow",
        ),
        (
            "capabilities: {shell: {allow: [sh], interpreter_runtime: [{binary: sh, dirs: "
            "[{path: a, list_dir: true}]}]}}",
            "capabilities.shell.interpreter_runtime[0].dirs[0].path",
            "absolute",
        ),
        (
            "capabilities: {shell: {allow: [sh], interpreter_runtime: [{binary: sh, dirs: "
            "[{path: /a}]}]}}",
            "capabilities.shell.interpreter_runtime[0].dirs[0].list_dir",
            "never inferred",
        ),
        (
            "capabilities: {shell: {allow: [sh], interpreter_runtime: [{binary: sh, dirs: []}]}}",
            "capabilities.shell.interpreter_runtime[0].dirs",
            "at least one",
        ),
        (
            "capabilities: {shell: {allow: [sh], staged_runtime: [{binary: sh, source_path: /a, "
            "pin: ' '}]}}",
            "capabilities.shell.staged_runtime[0].pin",
            "blank",
        ),
        (
            "capabilities: {shell: {allow: [sh], staged_runtime: [{binary: sh, source_path: /a, "
            "pin: p}], interpreter_runtime: [{binary: sh, dirs: [{path: /a, list_dir: true}]}]}}",
            "capabilities.shell.staged_runtime[0].binary",
            "interpreter_runtime",
        ),
        ("network: {internal_port: 70000}", "network.internal_port", "at most 65535"),
        ("network: {authentication: {scheme: basic}}", "authentication.scheme", "'bearer'"),
        (
            "network: {authentication: {scheme: bearer, credentials: {operator: {scopes: "
            "[GetTask]}}}}",
            "network.authentication.credentials.operator",
            "not 'operator'",
        ),
        (
            "network: {authentication: {scheme: bearer, credentials: {a: {scopes: "
            "[message/send]}}}}",
            "network.authentication.credentials.a.scopes[0]",
            "'message/send'",
        ),
        (
            "network: {authentication: {scheme: bearer}}\n"
            "capabilities: {spawn: {allow: [local/kid]}}",
            "network.authentication",
            "spawn.allow",
        ),
        ("trace: {retain: {}}", "trace.retain", "no bound"),
        ("trace: {retain: }", "trace.retain", "no bound"),
        ("trace: {retain: {max_sessions: 0}}", "trace.retain.max_sessions", "above 0"),
        ("trace: {retain: {max_age: 0}}", "trace.retain.max_age", "above 0"),
        ("context: {retain: {max_messages: 0}}", "context.retain.max_messages", "above 0"),
        ("config: {a: 1}", "config", "artifacts[].config"),
        ("registry: {url: x}", "registry", "gone"),
        ("control: {secrets: [X]}", "control", "inference block"),
        (CONTROL + "}\ncontrol: {settings: [inference.model]}", "control.settings[0]", "none of"),
        (CONTROL + "}\ncontrol: {secrets: [X]}", "control.secrets[0]", "${X}"),
        (
            CONTROL + ", alternates: [{name: fast, model: n, driver: {artifact: a/b}}]}\n"
            "artifacts: [{name: a/b, version: '1', runtime: driver}]",
            "inference.alternates",
            "control.settings",
        ),
        ("exports: {files: {root: /etc, mode: read-only}}", "exports.files.root", "absolute"),
        ("exports: {files: {root: a/../b, mode: read-only}}", "exports.files.root", "'..'"),
        ("exports: {files: {root: '', mode: read-only}}", "exports.files.root", "empty"),
        ("exports: {files: {root: out, mode: rw}}", "exports.files.mode", "'read-only'"),
        ("exports: {peer_files: {root: out, max_ttl: 0}}", "exports.peer_files.max_ttl", "above"),
        ("exports: {peer_tasks: {}}", "exports.peer_tasks.accept", "never inferred"),
        ("lifecycle: {keep_working: {limit: 2}}", "lifecycle.keep_working.message", "both"),
        ("lifecycle: {keep_working: {message: ' ', limit: 2}}", "keep_working.message", "blank"),
        ("lifecycle: {done_check: {command: make, limit: 1}}", "done_check.command", "shell.allow"),
        ("lifecycle: {after_task: stop}", "lifecycle.after_task", "'exit' or 'sleep'"),
    ],
)
def test_a_value_the_runtime_rejects_is_named_with_its_place(
    body: str, field: str, reason: str
) -> None:
    caught = refusal(HEAD + body)
    assert caught.code == "E-MAN-003", caught.message
    place, found, _ = caught.message.split(": ", 2)
    assert place.startswith("murmur.yaml:") and int(place.split(":")[1]) >= 3
    assert found.endswith(field)
    assert reason in caught.message


@pytest.mark.parametrize(
    "body", ["exports: {peer_tasks: yes}", "exports: {peer_tasks: {accept: 1}}"]
)
def test_a_peer_tasks_block_of_the_wrong_type_is_e_man_002(body: str) -> None:
    caught = refusal(HEAD + body)
    assert caught.code == "E-MAN-002" and "exports.peer_tasks" in caught.message


@pytest.mark.parametrize("rest", ["", ", api_key: ", ", api_key: '  '", ", keyless: false"])
def test_a_gateway_without_a_key_says_keyless(rest: str) -> None:
    body = f"artifacts: [{{name: a/b, version: '1', gateway: {{endpoint: 'https://x.example'{rest}}}}}]"
    caught = refusal(HEAD + body)
    assert caught.code == "E-CAP-018"
    for fact in ("artifacts[0]", "a/b", "https://x.example"):
        assert fact in caught.message
    assert "keyless: true" in caught.hint and "${NAME}" in caught.hint


def test_a_refused_secret_is_not_quoted() -> None:
    body = (
        "artifacts: [{name: a/b, version: '1', gateway: {endpoint: 'https://x', api_key: 31337}}]"
    )
    caught = refusal(HEAD + body)
    assert caught.code == "E-MAN-003" and "31337" not in caught.message
    body = "artifacts: [{name: a/b, version: '1', gateway: {endpoint: 'https://u:hunter2@x'}}]"
    assert "hunter2" not in refusal(HEAD + body).message


def test_packaging_keys_are_accepted_in_silence() -> None:
    text = HEAD + (
        "runtime: capsule\nimplementation: wasm\nexecution: static\nrequires_files: [a]\n"
        "upstream_auth: {}\nprograms: {}\ntags: [x]\n"
    )
    assert load_capsule(text, "murmur.yaml").warnings == ()
