"""Each code that a composed root brings up, and what bash may reach where nothing contains it."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.endtoend.capsule import Place, replay, shell_turn
from tests.endtoend.ground import Case, Done, Ground, check_refused, check_warned

SEARCH = "/usr/bin:/bin"
SEALED = ("--containment", "sealed")
NO_SECCOMP = "failed prctl 22 seccomp"


@pytest.fixture(scope="module")
def ground(place: Place, tmp_path_factory: pytest.TempPathFactory) -> Ground:
    return Ground(place, tmp_path_factory.mktemp("sealed-codes"))


def allowing(ground: Ground, *names: str, **shell: Any) -> None:
    turns = [shell_turn(names[0], "--version"), {"text": "done"}]
    ground.capsule(
        artifacts=replay(turns)["artifacts"],
        capabilities={"shell": {"allow": list(names), **shell}},
    )


def sealed(ground: Ground, path: str = SEARCH) -> Done:
    done = ground.run(*SEALED, PATH=path)
    if "[E-CAP-003]" in done.stderr:
        pytest.skip(f"INCONCLUSIVE: {done.stderr.splitlines()[-2]}")
    return done


def program(ground: Ground, name: str, content: str) -> Path:
    path = ground.write(f"bin/{name}", content)
    path.chmod(0o755)
    return path.parent


def test_e_cap_006_names_every_script_that_a_composed_root_cannot_start(ground: Ground) -> None:
    folder = program(ground, "first", "#!/usr/bin/env -S A=1 python3 -x\n")
    program(ground, "second", "#!/bin/sh\n")
    allowing(ground, "first", "second", "cat")
    done = sealed(ground, f"{folder}:{SEARCH}")
    facts = (f"first ({folder}/first", "python3", f"second ({folder}/second", "a script for sh")
    check_refused(Case("E-CAP-006", lambda _: done, facts), done)
    assert "cat" not in done.stderr.partition("hint")[0]


def test_a_script_in_a_granted_directory_or_named_by_a_grant_is_none_of_them(
    ground: Ground,
) -> None:
    folder = program(ground, "first", "#!/bin/sh\n")
    directory = {"path": str(folder), "list_dir": True}
    allowing(ground, "first", interpreter_runtime=[{"binary": "first", "dirs": [directory]}])
    assert sealed(ground, f"{folder}:{SEARCH}").returncode == 0


def test_below_sealed_no_script_is_asked_about(ground: Ground) -> None:
    folder = program(ground, "first", "#!/bin/sh\n")
    allowing(ground, "first")
    assert ground.run(PATH=f"{folder}:{SEARCH}").returncode == 0


def test_e_run_014_ends_a_session_whose_root_cannot_be_composed(ground: Ground) -> None:
    staged = [{"binary": "cat", "source_path": "/opt/no/such/tree", "pin": "1"}]
    allowing(ground, "cat", staged_runtime=staged)
    done = sealed(ground)
    assert done.returncode == 1, (done.stdout, done.stderr)
    head = next(each for each in done.stderr.splitlines() if each.startswith("error["))
    assert head.startswith("error[E-RUN-014]: ")
    for fact in ("/opt/no/such/tree", "openat2", "No such file", "errno 2"):
        assert fact in head


def test_w_sec_012_names_each_helper_that_a_compiler_may_not_execute(ground: Ground) -> None:
    if shutil.which("gcc", path=SEARCH) is None:
        pytest.skip("no gcc to ask")
    allowing(ground, "gcc", "as")
    done = sealed(ground)
    check_warned(Case("W-SEC-012", lambda _: done, ("gcc", "cc1 (/", "collect2 (/")), done)
    told = [each for each in done.stderr.splitlines() if "W-SEC-012" in each]
    assert not [each for each in told if "helper as (" in each]
    assert "W-SEC-012" not in ground.run(PATH=SEARCH).stderr
    ground.capsule(capabilities={"shell": {"allow": ["gcc"]}, "containment": "sealed"})
    assert "W-SEC-012" in ground.mur("doctor", PATH=SEARCH).stderr


def test_w_sec_029_says_which_driver_could_not_be_asked(ground: Ground) -> None:
    folder = program(ground, "cc", "neither a program nor a script")
    allowing(ground, "cc", "cat")
    done = sealed(ground, f"{folder}:{SEARCH}")
    facts = ("cc", "Exec format error", "cc1, cc1plus, as, ld, collect2")
    check_warned(Case("W-SEC-029", lambda _: done, facts), done)


def test_w_sec_003_says_what_keeps_bash_from_no_host(ground: Ground) -> None:
    ground.capsule(
        capabilities={"shell": {"allow": ["bash"]}, "network": {"allow": ["example.com"]}}
    )
    done = ground.run(**ground.host(seccomp=NO_SECCOMP))
    check_warned(Case("W-SEC-003", lambda _: done, ("bash", "network.allow")), done)


def test_a_grant_to_execute_that_holds_the_work_folder_is_refused_and_reported(
    ground: Ground,
) -> None:
    directory = {"path": str(ground.folder), "list_dir": True}
    allowing(ground, "cat", interpreter_runtime=[{"binary": "cat", "dirs": [directory]}])
    done = ground.run(PATH=SEARCH)
    facts = ("shell.interpreter_runtime", str(ground.folder), "which commands write")
    check_refused(Case("E-IO-003", lambda _: done, facts), done)
    shown = ground.mur("run", "--explain-scope", PATH=SEARCH)
    assert shown.returncode == 0
    assert "  - E-IO-003: murmur.yaml: capabilities.shell.interpreter_runtime" in shown.stdout
