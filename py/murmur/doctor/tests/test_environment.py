"""*Environment requirements*: what is set, by presence alone, along the whole spawn closure."""

from murmur.store.archive import Entry, archive_bytes
from murmur.store.payload import Payload, open_payload

from .project import AGENT, Project, wasm

DRIVER = "artifacts:\n  - {name: local/drive, version: 0.1.0, runtime: driver%s}\n"
MODELS = "models: {m: {max_output_tokens: 10, context_window: 100}}\n"


def agent(project: Project, more: str = "", entry: str = "") -> None:
    project.write(AGENT + DRIVER % entry + more)
    project.put(wasm("drive", runtime="driver", more=MODELS))


def capsule(
    name: str, version: str, *, env: str = "", spawn: str = "", text: str | None = None
) -> Payload:
    """A packaged capsule that declares these names and children."""
    manifest = (
        f"name: {name}\nversion: {version}\nruntime: capsule\nexecution: static\n"
        "inference: {model: m, driver: {artifact: local/drive}}\n"
        f"capabilities: {{env: {{allow: [{env}]}}, spawn: {{allow: [{spawn}]}}}}\n"
    )
    entries = [Entry("murmur.yaml", (manifest if text is None else text).encode())]
    return open_payload(archive_bytes(entries), name, {})


def spawning(project: Project, env: str, spawn: str) -> None:
    agent(project, f"capabilities: {{env: {{allow: [{env}]}}, spawn: {{allow: [{spawn}]}}}}\n")


def test_an_unset_reference_is_an_error_that_names_it_and_never_a_value(project: Project) -> None:
    gateway = ", gateway: {endpoint: 'https://x.example', api_key: '${SOLO_PROVIDER_KEY}'}"
    agent(project, "", gateway)
    told = project.doctor()
    assert told.block("Environment requirements") == [
        "  capsules: solo@0.0.1",
        "  variables:",
        "    ✗  SOLO_PROVIDER_KEY   unset   — solo@0.0.1 (artifacts.local/drive.gateway.api_key)",
    ]
    assert "error[E-CAP-014]: 1 variable " in told.err and "hint:" not in told.err
    assert told.status == 1 and told.tally == "1 check passed, 1 error found."
    for value in ("", "sk-secret-value"):
        again = project.doctor(environ={"SOLO_PROVIDER_KEY": value})
        assert again.status == 0 and "Environment requirements" not in again.out
        assert "sk-secret-value" not in again.out + again.err


def test_a_name_in_the_env_file_or_in_the_operators_credentials_counts_as_set(
    project: Project,
) -> None:
    gateway = ", gateway: {endpoint: 'https://x.example', api_key: '${SOLO_PROVIDER_KEY}'}"
    agent(project, "", gateway)
    project.write("SOLO_PROVIDER_KEY=x\n", ".env")
    assert project.doctor().status == 0
    (project.folder / ".env").unlink()
    (project.home / ".murmur").mkdir(0o700)
    config = project.home / ".murmur" / "config.yaml"
    config.write_text("credentials: {SOLO_PROVIDER_KEY: abc}\n")
    config.chmod(0o600)
    assert project.doctor().status == 0


def test_an_env_file_that_cannot_be_parsed_is_reported_by_file_and_line(project: Project) -> None:
    agent(project)
    project.write("A=1\nnonsense\n", ".env")
    told = project.doctor()
    assert f"error[E-IO-003]: {project.folder}/.env:2: " in told.err
    assert len(told.fixes) == 1 and told.status == 1


def test_a_key_that_is_set_and_cannot_be_sent_is_a_warning_of_its_own(project: Project) -> None:
    gateway = ", gateway: {endpoint: 'https://x.example', api_key: '${SOLO_PROVIDER_KEY}'}"
    agent(project, "", gateway)
    assert "E-MAN-003" not in project.doctor().err
    told = project.doctor(environ={"SOLO_PROVIDER_KEY": ""})
    assert "warning[E-MAN-003]: " in told.err and told.status == 0
    assert "E-MAN-003" not in project.doctor(environ={"SOLO_PROVIDER_KEY": "abc"}).err


def test_a_secret_that_a_controller_supplies_is_not_unset(project: Project) -> None:
    other = (
        "  - {name: local/other, version: 0.1.0, runtime: driver, "
        "gateway: {endpoint: 'https://x.example', api_key: '${CARD_TOKEN}'}}\n"
    )
    manifest = AGENT.replace(
        "inference: {",
        "inference: {alternates: [{name: other, model: m, driver: {artifact: local/other}}], ",
    )
    assert manifest != AGENT
    control = "control: {settings: [inference.driver], secrets: [CARD_TOKEN]}\n"
    project.write(manifest + DRIVER % "" + other + control)
    project.put(wasm("drive", runtime="driver", more=MODELS))
    project.put(wasm("other", runtime="driver", more=MODELS))
    told = project.doctor()
    assert told.block("Environment requirements")[2:] == [
        "    ✓  CARD_TOKEN   controller-supplied   — "
        "solo@0.0.1 (artifacts.local/other.gateway.api_key)"
    ]
    assert "E-CAP-014" not in told.err


def test_every_variable_of_the_closure_names_every_capsule_that_needs_it(
    project: Project,
) -> None:
    spawning(project, "EDITOR, WORKER_X", "local/worker")
    project.put(capsule("worker", "0.1.0", env="EDITOR, WORKER_X", spawn="local/deep-worker"))
    project.put(capsule("deep-worker", "0.2.0", env="WORKER_X"), globally=True)
    told = project.doctor(environ={"EDITOR": "vi"})
    assert told.block("Environment requirements") == [
        "  capsules: solo@0.0.1, worker@0.1.0, deep-worker@0.2.0",
        "  variables:",
        "    ✓  EDITOR     set     — solo@0.0.1, worker@0.1.0",
        "    ✗  WORKER_X   unset   — solo@0.0.1, worker@0.1.0, deep-worker@0.2.0",
    ]
    assert "error[E-CAP-014]: 1 variable " in told.err and told.status == 1
    assert project.doctor(environ={"EDITOR": "", "WORKER_X": ""}).status == 0


def test_a_stored_credential_is_no_variable_of_a_capsules_own(project: Project) -> None:
    spawning(project, "MY_NAME", "local/worker")
    project.put(capsule("worker", "0.1.0"))
    (project.home / ".murmur").mkdir(0o700)
    (project.home / ".murmur" / "config.yaml").write_text("credentials: {MY_NAME: abc}\n")
    assert project.doctor().status == 1


def test_a_child_may_declare_no_more_than_its_parent(project: Project) -> None:
    spawning(project, "EDITOR", "local/worker")
    project.put(capsule("worker", "0.1.0", env="EDITOR, EXTRA"))
    told = project.doctor(environ={"EDITOR": "x", "EXTRA": "x"})
    assert told.block("Environment requirements")[-2:] == [
        "  declarations mur-roost will refuse:",
        "    worker@0.1.0 declares EXTRA, which solo@0.0.1 does not hold",
    ]
    head, detail = told.err.splitlines()[-2:]
    assert head.startswith("error[E-CAP-015]: 1 env.allow entry ")
    assert detail == "  a capsule may declare no env.allow name that its parent lacks"
    assert told.status == 1


def test_what_could_not_be_inspected_is_said_with_its_reason_and_exit_0(project: Project) -> None:
    spawning(project, "", "local/ghost, local/many, local/broken, local/worker")
    project.put(capsule("many", "0.1.0"))
    project.put(capsule("many", "0.2.0"))
    project.put(capsule("broken", "0.1.0", text="name: broken\nversion: 0.1.0\ncontrol: 3\n"))
    project.put(capsule("worker", "0.1.0"))
    told = project.doctor()
    block = told.block("Environment requirements")
    assert block[0] == "  capsules: solo@0.0.1, worker@0.1.0"
    assert block[1] == "  could not inspect 3 of 5 capsules in the spawn closure:"
    assert block[2:4] == [
        "    local/ghost: not installed",
        "    local/many: 0.2.0, 0.1.0 are in the project store, and nothing pins one",
    ]
    assert block[4].startswith("    local/broken: broken@0.1.0: murmur.yaml:3:1: control: ")
    assert "warning[W-REG-002]: 3 capsules could not be inspected: " in told.err
    assert told.status == 0


def test_the_lock_settles_a_version_and_else_the_project_store_alone(project: Project) -> None:
    spawning(project, "", "local/many")
    for version in ("0.1.0", "0.2.0"):
        project.put(capsule("many", version), globally=True)
    assert "local/many: 0.2.0, 0.1.0 are in the global store" in project.doctor().out
    project.put(capsule("many", "0.3.0"))
    assert "capsules: solo@0.0.1, many@0.3.0" in project.doctor().out
    driver = wasm("drive", runtime="driver", more=MODELS).sha256
    project.write(
        "lock_version: 3\nartifacts:\n"
        f"  - {{name: local/drive, resolved_version: 0.1.0, sha256: {{any: '{driver}'}}}}\n"
        f"  - {{name: local/many, resolved_version: 0.1.0, sha256: {{any: '{'a' * 64}'}}}}\n",
        "murmur.lock",
    )
    assert "capsules: solo@0.0.1, many@0.1.0" in project.doctor().out


def test_an_edge_back_to_the_walk_is_a_cycle_and_a_second_way_is_none(project: Project) -> None:
    spawning(project, "", "local/a, local/b")
    project.put(capsule("a", "1.0.0", spawn="local/b"))
    project.put(capsule("b", "2.0.0", spawn="local/a, local/c"))
    project.put(capsule("c", "3.0.0"))
    told = project.doctor()
    block = told.block("Environment requirements")
    assert block == [
        "  capsules: solo@0.0.1, a@1.0.0, b@2.0.0, c@3.0.0",
        "  spawn.allow cycle: b@2.0.0 → a@1.0.0",
    ]
    assert told.status == 0
