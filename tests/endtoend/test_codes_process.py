"""Each code that only `transport: process` raises, or that reads otherwise there."""

import json
import shutil
from collections.abc import Callable
from typing import Any

import pytest

from murmur.store.archive import Entry, archive_bytes
from murmur.store.tests.components import manifest as packed_manifest
from tests.endtoend.capsule import Place, write_manifest
from tests.endtoend.ground import Case, Done, check_refused, check_warned
from tests.endtoend.harnessed import DRIVER, Harnessed, Step
from tests.endtoend.wat_drivers import MUTE, TRAPS, driver

Provoke = Callable[[Harnessed], Done]


@pytest.fixture(scope="module")
def at(place: Place, tmp_path_factory: pytest.TempPathFactory) -> Harnessed:
    project = tmp_path_factory.mktemp("codes") / "project"
    project.mkdir()
    return Harnessed(place, project)


def _publish(
    at: Harnessed, name: str, component: bytes, version: str = "0.1.0", **keys: str
) -> dict[str, Any]:
    """A published process driver; the entry of a capsule that has it."""
    manifest = packed_manifest(name, version, runtime="driver", **keys)
    entries = [Entry("murmur.yaml", manifest), Entry("capsule.wasm", component)]
    archive = at.project / f"{name}.mur.zip"
    archive.write_bytes(archive_bytes(entries))
    done = at.place.mur("publish", str(archive), cwd=at.project)
    assert done.returncode == 0 or "already" in done.stderr, done.stderr
    return {"name": f"local/{name}", "version": version, "runtime": "driver"}


def _other_driver(at: Harnessed, name: str, describe: str, **changes: Any) -> Done:
    entry = _publish(at, name, driver(describe))
    inference = {"driver": {"artifact": entry["name"]}, **changes}
    at.capsule(artifacts=[entry], inference=inference)
    return _run(at)


def _run(at: Harnessed, *steps: Step, **environ: str) -> Done:
    (at.project / "murmur.lock").unlink(missing_ok=True)
    return at.run(list(steps) or [["end"]], **environ)


def _without_path(at: Harnessed) -> Done:
    at.capsule(capabilities={"env": {"allow": ["STAND_IN_HOME"]}})
    return _run(at)


def _unallowed_needs(at: Harnessed) -> Done:
    needs = {"paths": [{"path": "~/.needy"}], "hosts": ["https://needy.example"]}
    if not (at.project / "needy-driver").exists():
        at.publish_driver("needy-driver", harness_needs=needs)
    at.driven_by("local/needy-driver")
    return _run(at)


def _malformed_needs(at: Harnessed) -> Done:
    entry = _publish(at, "odd-driver", driver(MUTE), harness_needs="{paths: 7}")
    at.driven_by(entry["name"])
    return _run(at)


def _no_such_program(at: Harnessed) -> Done:
    at.capsule(inference={"command": "nowhere-to-be-found"})
    return _run(at)


def _program_in_the_work_folder(at: Harnessed) -> Done:
    program = at.work / "harness"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    at.capsule(inference={"command": str(program)})
    return _run(at)


def _program_that_commands_may_write(at: Harnessed) -> Done:
    config = at.place.home / ".murmur" / "config.yaml"
    before = config.read_bytes() if config.exists() else None
    path = {"path": str(at.program.parent), "access": "read-write"}
    config.write_text(json.dumps({"host_paths": [path]}))
    config.chmod(0o600)
    at.capsule()
    try:
        return _run(at)
    finally:
        if before is None:
            config.unlink()
        else:
            config.write_bytes(before)


def _over_http(at: Harnessed) -> Done:
    manifest = at.capsule()
    manifest["inference"] = {"model": "m", "driver": {"artifact": DRIVER}}
    del manifest["capabilities"]["harness"]
    write_manifest(at.project, manifest)
    return _run(at)


def _no_process_driver(at: Harnessed) -> Done:
    entry = {"name": "local/driver-replay", "version": "0.1.0", "runtime": "driver"}
    at.capsule(artifacts=[entry], inference={"driver": {"artifact": "local/driver-replay"}})
    return _run(at)


def _unkept_ceiling(at: Harnessed) -> Done:
    return _other_driver(at, "mute-driver", MUTE, command=str(at.program), max_session_tokens=1000)


REFUSED = [
    pytest.param("E-CAP-019", _without_path, (DRIVER, "PATH"), id="E-CAP-019"),
    pytest.param(
        "E-CAP-021",
        _unallowed_needs,
        ("local/needy-driver@0.1.0", "~/.needy (read)", "https://needy.example"),
        id="E-CAP-021",
    ),
    pytest.param(
        "E-RUN-006", _no_such_program, ("nowhere-to-be-found", "inference.command"), id="E-RUN-006"
    ),
    pytest.param(
        "E-RUN-006",
        _program_in_the_work_folder,
        ("w/harness", "commands could change it"),
        id="E-RUN-006-writable",
    ),
    pytest.param(
        "E-RUN-006",
        _program_that_commands_may_write,
        ("programs/stand-in-harness", "commands could change it"),
        id="E-RUN-006-host-path",
    ),
    pytest.param(
        "E-RUN-029",
        _no_process_driver,
        ("local/driver-replay@0.1.0", "murmur:driver/process@0.4.0"),
        id="E-RUN-029",
    ),
    pytest.param("E-RUN-030", _over_http, (DRIVER, "murmur:driver/process@0.4.0"), id="E-RUN-030"),
    pytest.param(
        "E-RUN-032",
        lambda at: _other_driver(at, "broken-driver", TRAPS),
        ("local/broken-driver@0.1.0", "unreachable"),
        id="E-RUN-032",
    ),
    pytest.param(
        "E-RUN-038",
        _unkept_ceiling,
        ("local/mute-driver@0.1.0", "inference.max_session_tokens"),
        id="E-RUN-038",
    ),
    pytest.param(
        "E-RUN-062",
        _malformed_needs,
        ("local/odd-driver@0.1.0", "harness_needs.paths", "a number"),
        id="E-RUN-062",
    ),
]


@pytest.mark.parametrize(("code", "provoke", "facts"), REFUSED)
def test_a_launch_that_cannot_run_its_harness_is_refused_and_leaves_nothing(
    at: Harnessed, code: str, provoke: Provoke, facts: tuple[str, ...]
) -> None:
    sessions = at.place.home / ".murmur" / "sessions"
    before = sorted(path.name for path in sessions.iterdir()) if sessions.exists() else []
    check_refused(Case(code, lambda _: provoke(at), facts), provoke(at))
    after = sorted(path.name for path in sessions.iterdir()) if sessions.exists() else []
    assert before == after


def check_failed(done: Done, code: str, *facts: str, status: str = "failed") -> None:
    """A session whose task ended so: its error, then E-RUN-040."""
    assert done.returncode == 1 and done.stdout.endswith(f"status:  {status}\n"), done.stderr
    heads = [line for line in done.stderr.splitlines() if line.startswith("error[")]
    assert [line[6:15] for line in heads] == [code, "E-RUN-040"], done.stderr
    for fact in facts:
        assert fact in heads[0], done.stderr


def test_a_harness_that_fails_ends_the_launch_with_e_run_033(at: Harnessed) -> None:
    at.capsule()
    failure = {"turn_failed": {"kind": "auth", "message": "signed out"}}
    check_failed(_run(at, ["say", failure]), "E-RUN-033", "auth", "signed out")


def test_a_turn_beyond_max_turns_is_e_run_033_and_ends_the_run(at: Harnessed) -> None:
    at.capsule(inference={"max_turns": 1})
    done = _run(at, ["say", {"text": "one"}], ["say", {"text": "two"}], ["sleep", 30], ["end"])
    check_failed(done, "E-RUN-033", "max-turns", status="max_turns_reached")
    (ended,) = at.lines("harness_exit")
    assert (ended["cause"], ended["killed"]) == ("max_turns", True)
    assert [line["turn"] for line in at.lines("inference")] == [0]


def test_a_driver_that_crashes_ends_the_launch_with_e_run_034(at: Harnessed) -> None:
    at.capsule({"parse-crash": True})
    check_failed(_run(at), "E-RUN-034", DRIVER, "parse", "trapped")
    (failed,) = at.lines("inference")
    assert failed["error_code"] == "driver_failed"


def test_a_session_that_the_harness_lost_is_e_run_036_until_it_is_forgotten(
    at: Harnessed,
) -> None:
    at.capsule()
    here = ("--context", "ctx-kept")
    steps: list[Step] = [["request"], ["end"]]
    assert at.run(steps, *here).returncode == 0
    known = at.seen()[0]["session"]["id"]
    assert at.run(steps, "--resume").returncode == 0
    assert at.seen()[0]["session"] == {"id": known, "mode": "resume"}
    (at.login / "sessions").write_text("")
    check_failed(at.run(steps, *here), "E-RUN-036", "Stand-in", known, "ctx-kept")
    done = at.run(steps, *here, "--forget-session")
    assert done.returncode == 0, done.stderr
    (line,) = at.lines("harness_session_forgotten")
    assert (line["harness_session_id"], line["requested_by"]) == (known, "cli")
    refused = at.run(steps, "--resume", "--resume-mode", "compact")
    check_refused(Case("E-RUN-037", lambda _: refused, ("process",)), refused)


def test_what_is_untested_or_not_a_subscription_is_warned_of_and_traced(at: Harnessed) -> None:
    at.capsule()
    done = _run(at, STAND_IN_VERSION="2.5.0 (Stand-in)", STAND_IN_AUTH="api-key")
    for code, facts in (
        ("W-RUN-002", ("2.5.0", "1.0.0")),
        ("W-SEC-031", ("api-key",)),
        ("W-SEC-036", ("python3",)),
    ):
        check_warned(Case(code, lambda _: done, facts), done)
    warned = {line["code"]: line["message"] for line in at.lines("harness_warning")}
    assert set(warned) == {"W-RUN-002", "W-SEC-031"}
    assert all(message in done.stderr for message in warned.values())
    assert at.lines("harness_start")[0]["harness_version"] == "2.5.0"


def test_a_spend_ceiling_stops_the_turn_after_the_one_that_reached_it(at: Harnessed) -> None:
    at.capsule(inference={"max_session_tokens": 100})
    steps: list[Step] = [
        ["say", {"text": "much", "usage": {"input": 90, "output": 20}}],
        ["say", {"text": "more"}],
        ["end"],
    ]
    done = _run(at, *steps)
    assert done.returncode == 1 and done.stdout.endswith("status:  spend_ceiling_reached\n")
    (line,) = at.lines("spend_ceiling_reached")
    assert (line["limit"], line["used"], line["requested"], line["turn"]) == ("session", 110, 0, 1)
    assert [each["turn"] for each in at.lines("inference")] == [0]


def _old_command(at: Harnessed) -> None:
    """A capsule of the old kind, which names no driver."""
    manifest = at.capsule()
    del manifest["inference"]["driver"]
    manifest["artifacts"] = manifest["artifacts"][1:]
    write_manifest(at.project, manifest)


def _publish_default(at: Harnessed, version: str, **keys: str) -> None:
    """A release of the driver that such a capsule implies."""
    _publish(at, "driver-claude-code", driver(MUTE), version, **keys)
    store = at.place.home / ".murmur" / "artifacts"
    of = f"driver-claude-code/{version}"
    shutil.copytree(store / "local" / of, store / "murmur" / of)


def test_an_old_command_alone_finds_the_newest_installed_driver_and_pins_it(
    at: Harnessed,
) -> None:
    _old_command(at)
    refused = _run(at)
    assert "error[E-RUN-006]" in refused.stderr and "murmur/driver-claude-code" in refused.stderr
    _publish_default(at, "0.2.0")
    done = _run(at)
    assert "warning[W-MAN-001]" in done.stderr
    check_failed(done, "E-RUN-034", "murmur/driver-claude-code@0.2.0", "launch")
    assert "murmur/driver-claude-code" in (at.project / "murmur.lock").read_text()


def test_what_the_harness_of_an_implied_driver_needs_has_to_be_allowed_as_any_others(
    at: Harnessed,
) -> None:
    _old_command(at)
    _publish_default(at, "0.3.0", harness_needs="{paths: [{path: ~/.implied}]}")
    (at.project / "murmur.lock").unlink(missing_ok=True)
    foreseen = at.run([], "--explain-scope")
    assert foreseen.returncode == 0 and "E-CAP-021" in foreseen.stdout, foreseen.stderr
    refused = _run(at)
    facts = ("murmur/driver-claude-code@0.3.0", "~/.implied (read)")
    check_refused(Case("E-CAP-021", lambda _: refused, facts), refused)
    assert not (at.project / "murmur.lock").exists()
