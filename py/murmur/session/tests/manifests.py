"""Manifests as text: the least one, and one that uses every block."""

MINIMAL = "name: small\nversion: 0.1.0\ninference: {model: m, driver: {artifact: local/d}}\n"

# Every block that a manifest can hold. Process drivers and old spellings aside, one capsule.
EVERY_BLOCK = """
name: every-block
version: 1.2.3
description: uses every block
artifacts:
  - name: local/d
    version: 1.0.0
    runtime: driver
    gateway: {endpoint: "https://api.example.com/v1", api_key: "${EXAMPLE_KEY}"}
    config: {a: 1}
    capabilities: {network: {allow: ["https://api.example.com"]}}
  - name: local/t
    version: 1.0.0
    gateway: {endpoint: "https://tool.example.com", api_key: "${TOOL_KEY}"}
    capabilities: {filesystem: {scope: part}, state: {store: kept}}
  - name: local/h
    version: 1.0.0
    runtime: hook
    on_overflow: block
    capabilities: {filesystem: {records: true}, task_io: {read: true}, conversation: {read: true}}
  - {name: local/s, version: 1.0.0, runtime: skill}
capabilities:
  network: {allow: ["https://api.example.com", "example.org:8080"], unix_sockets: true}
  peer_fetch: {allow: ["https://peer.example.com"]}
  filesystem: {scope: sub, read_only: [tests, bench/fixtures], workdir_exec: true}
  shell:
    allow: [bash, python3, node]
    strip_env: ["X_*"]
    baseline_env: [EDITOR]
    interpreter_runtime:
      - binary: python3
        dirs: [{path: /opt/py, list_dir: true}, {path: /opt/data, list_dir: false}]
    staged_runtime: [{binary: node, source_path: /opt/node, pin: v20}]
  env: {allow: [EDITOR]}
  limits: {memory_bytes: 1048576}
  resources: {cgroup_memory_bytes: 268435456, cgroup_io_bytes_per_sec: 1048576}
  containment: scoped
  plan: {submit: true}
  spawn: {allow: [local/child]}
  install: {skill: ["ana/*"], tool: ["ana/t"], from: [stores, sources]}
inference:
  model: m
  driver: {artifact: local/d, config: {effort: low}}
  max_tokens: 100
  max_turns: 5
  system_prompt: be brief
  alternates: [{name: other, model: n, driver: {artifact: local/d}}]
lifecycle:
  task_acceptance: queue
  after_task: sleep
  keep_working: {message: go on, limit: 2}
  done_check: {command: "bash check.sh", limit: 1}
network: {internal_port: 8123}
context: {max_tokens: 1000, images: {max_bytes: 1Mi, keep: 2, max_per_turn: 3}}
trace: {capture: content, retain: {max_sessions: 3}}
observability: {otel_endpoint: "http://127.0.0.1:4318"}
exports:
  files: {root: out, mode: read-only}
  peer_files: {root: out/handoff, max_ttl: 10m}
  peer_tasks: {accept: true}
control: {settings: [inference.driver], secrets: [TOOL_KEY]}
deploy: {mur_version: 0.1.0}
"""
