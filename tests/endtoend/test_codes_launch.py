"""Each code that refuses a launch before a session's directories exist, provoked by `mur run`."""

import shutil
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from murmur.store.tests.components import wasm_zip
from tests.endtoend.capsule import Place, replay
from tests.endtoend.ground import Case, Done, Ground, check_refused

Provoke = Callable[[Ground], Done]

WITH_SCRIPT = replay([{"text": "done"}])["artifacts"][0]
EDITOR = {"name": "local/tool-editor", "version": "0.1.0"}


def capsule(*arguments: str, **changes: Any) -> Provoke:
    """Launches the usual capsule with other top-level blocks."""

    def provoke(ground: Ground) -> Done:
        ground.capsule(**changes)
        return ground.run(*arguments)

    return provoke


def granted(**capabilities: Any) -> Provoke:
    return capsule(capabilities=capabilities)


def artifacts(*entries: dict[str, Any]) -> Provoke:
    """Launches the usual capsule with further artifacts."""
    return capsule(artifacts=[*replay([{"text": "done"}])["artifacts"], *entries])


def driver(**more: Any) -> Provoke:
    """Launches the usual capsule with more on its driver's entry."""
    first, *rest = replay([{"text": "done"}])["artifacts"]
    return capsule(artifacts=[{**first, **more}, *rest])


def inference(**more: Any) -> Provoke:
    return capsule(inference={**replay([])["inference"], **more})


def text(manifest: str) -> Provoke:
    def provoke(ground: Ground) -> Done:
        ground.write("murmur.yaml", manifest)
        return ground.run()

    return provoke


def explained(**changes: Any) -> Provoke:
    """Asks what would be granted: some checks come before what this build does not serve."""

    def provoke(ground: Ground) -> Done:
        ground.capsule(**changes)
        return ground.mur("run", "--explain-scope")

    return provoke


def locked(old: str, new: str) -> Provoke:
    """Launches with an edited lock."""

    def provoke(ground: Ground) -> Done:
        ground.capsule()
        ground.mur("install", "--no-precompile")
        lock = ground.folder / "murmur.lock"
        assert old in lock.read_text()
        lock.write_text(lock.read_text().replace(old, new, 1))
        return ground.run()

    return provoke


def _other_bytes(ground: Ground) -> Done:
    ground.capsule()
    ground.mur("install", "--no-precompile")
    lock = ground.folder / "murmur.lock"
    digest = next(line.split()[-1] for line in lock.read_text().splitlines() if " any: " in line)
    lock.write_text(lock.read_text().replace(digest, "f" * 64))
    return ground.run()


def _no_network(ground: Ground) -> Done:
    ground.capsule(capabilities={"shell": {"allow": ["true"]}})
    return ground.run(**ground.host(network="failed unshare 1 user namespace"))


def _no_cgroup(ground: Ground) -> Done:
    ground.capsule(capabilities={"shell": {"allow": ["true"]}})
    return ground.without_cgroups("run", "--task", "go")


def _misfit(ground: Ground) -> Done:
    data = wasm_zip("old-driver", imports=("murmur:driver/turn@9.9.9",), runtime="driver")
    ground.write("old.mur.zip", data)
    ground.mur("publish", "old.mur.zip")
    entry = {"name": "local/old-driver", "version": "0.1.0", "runtime": "driver"}
    ground.capsule(
        artifacts=[entry], inference={"model": "m", "driver": {"artifact": "local/old-driver"}}
    )
    return ground.run()


def _bad_programs(ground: Ground) -> Done:
    ground.write("odd.mur.zip", wasm_zip("odd-tool", programs="{jq: {}}"))
    ground.mur("publish", "odd.mur.zip")
    ground.capsule(artifacts=[WITH_SCRIPT, {"name": "local/odd-tool", "version": "0.1.0"}])
    return ground.run()


def _port_taken(ground: Ground) -> Done:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        held.listen()
        port = held.getsockname()[1]
        ground.capsule(network={"internal_port": port})
        done = ground.run()
    assert str(port) in done.stderr
    return done


def _home_is_a_file(ground: Ground) -> Done:
    ground.capsule()
    return ground.run(HOME=str(ground.write("home", "")))


def _spend_is_a_file(ground: Ground) -> Done:
    home = ground.folder / "thrifty"
    shutil.copytree(ground.place.home / ".murmur" / "artifacts", home / ".murmur" / "artifacts")
    (home / ".murmur" / "config.yaml").write_text("spend: {machine_tokens_per_day: 1000}\n")
    (home / ".murmur" / "spend").write_text("")
    ground.capsule()
    return ground.run(HOME=str(home))


STORE = {"state": {"store": "../x"}}
CLAIMED = {"name": "local/submit-plan", "version": "0.1.0"}
TWIN = {"name": "ana/tool-editor", "version": "0.1.0"}
GATEWAY = {"endpoint": "https://x.example", "api_key": "sk-literal"}

REFUSED = [
    Case("E-CAP-001", granted(network={"allow": ["ftp://x"]}), ("'ftp://x'",)),
    Case("E-CAP-002", granted(filesystem={"scope": "../out"}), ("../out",)),
    Case(
        "E-CAP-003",
        granted(filesystem={"workdir_exec": True}, containment="scoped"),
        ("scoped", "advisory", "workdir_exec"),
    ),
    Case("E-CAP-005", _no_network, ("unshare",)),
    Case(
        "E-CAP-008",
        capsule(
            exports={"peer_files": {"root": "out", "max_ttl": "16m"}},
            lifecycle={"task_acceptance": "queue", "after_task": "sleep"},
        ),
        ("exports.peer_files", "960", "900"),
    ),
    Case(
        "E-CAP-009",
        explained(
            artifacts=[WITH_SCRIPT, {**EDITOR, "capabilities": {"state": {"store": "../x"}}}]
        ),
        ("../x",),
    ),
    Case("E-CAP-010", driver(config=["a", "list"]), ("local/driver-replay",)),
    Case("E-CAP-011", capsule(context={"record_store": "a/b"}), ("context.record_store", "a/b")),
    Case("E-CAP-012", granted(filesystem={"read_only": ["../x"]}), ("../x",)),
    Case("E-CAP-013", artifacts(CLAIMED), ("local/submit-plan", "fetch-peer-file")),
    Case("E-CAP-016", granted(env={"allow": ["GITHUB_TOKEN"]}), ("GITHUB_TOKEN",)),
    Case(
        "E-CAP-018",
        driver(gateway={"endpoint": "https://x.example"}),
        ("local/driver-replay", "https://x.example", "keyless: true"),
    ),
    Case("E-CAP-020", artifacts(TWIN), ("ana/tool-editor", "local/tool-editor")),
    Case("E-IO-001", lambda ground: ground.run(), ("murmur.yaml",)),
    Case("E-IO-003", capsule("--containment", "tight"), ("--containment tight", "sealed")),
    Case("E-IO-004", _home_is_a_file, ("HOME",)),
    Case("E-MAN-001", text("version: '1'\n"), ("murmur.yaml", "name")),
    Case("E-MAN-002", text("name: a\nname: b\n"), ("murmur.yaml:2:1", "name")),
    Case("E-MAN-003", capsule(lifecycle={"queue_depth": 0}), ("lifecycle.queue_depth", "above 0")),
    Case("E-REG-002", _other_bytes, ("local/driver-replay@0.1.0", "murmur.lock")),
    Case(
        "E-RUN-001",
        capsule(artifacts=[WITH_SCRIPT, {**EDITOR, "runtime": "skill"}]),
        ("local/tool-editor@0.1.0", "skill"),
    ),
    Case("E-RUN-003", locked("lock_version: 3", "lock_version: 2"), ("murmur.lock",)),
    Case("E-RUN-005", capsule(inference={"model": "m"}), ("inference.driver.artifact",)),
    Case(
        "E-RUN-006",
        capsule(inference={"model": "m", "driver": {"artifact": "local/other"}}),
        ("local/other",),
    ),
    Case(
        "E-RUN-008",
        artifacts({"name": "local/nowhere", "version": "1.0.0"}),
        ("local/nowhere@1.0.0", "mur install"),
    ),
    Case(
        "E-RUN-009",
        inference(system_prompt_file="absent.md"),
        ("inference.system_prompt_file", "absent.md"),
    ),
    Case("E-RUN-010", _port_taken, ("network.internal_port",)),
    Case("E-RUN-012", _no_cgroup, ()),
    Case("E-RUN-025", driver(gateway=GATEWAY), ("local/driver-replay@0.1.0",)),
    Case("E-RUN-026", _spend_is_a_file, ("thrifty/.murmur/spend", "machine_tokens_per_day")),
    Case("E-RUN-029", _misfit, ("local/old-driver@0.1.0", "murmur:driver/turn@9.9.9")),
    Case(
        "E-RUN-043",
        locked("origin: operator", f"origin: runtime\n    session: ses_{'0' * 32}"),
        ("local/driver-replay@0.1.0", "ses_"),
    ),
    Case("E-RUN-052", inference(model="nobody"), ("nobody", "inference.max_tokens")),
    Case("E-RUN-055", capsule(context={"max_tokens": 100}), ("100",)),
    Case("E-RUN-062", _bad_programs, ("local/odd-tool@0.1.0", "programs.jq")),
]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.code)
def test_a_refused_launch_prints_its_code_and_facts(
    place: Place, project: Path, case: Case
) -> None:
    check_refused(case, case.provoke(Ground(place, project)))
