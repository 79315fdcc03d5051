"""The containment decision: floors, caps, shortfalls. spec/containment.md 4 and 5."""

import dataclasses
import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmur.core.diagnostics import MurmurError
from murmur.manifest.parse import load_capsule
from murmur.sandbox.probe import HostReading, Stage, unread_host, without_linux
from murmur.session.containment import Containment, Host, contain
from murmur.session.entrypoints import Search
from murmur.session.floors import CLASSES, CONFIG, FLAG, MANIFEST, Floor, class_named, strongest

_OK = Stage(True, number=7)
SEALED = HostReading(True, _OK, _OK, _OK, _OK, _OK, _OK, _OK, "apparmor_absent")
NO_LANDLOCK = dataclasses.replace(
    SEALED, landlock=Stage(False, call="landlock_create_ruleset", error=38)
)
NO_NETWORK = dataclasses.replace(SEALED, network=Stage(False, call="unshare", error=1))
AGENT = "name: a\nversion: '1'\ninference: {model: m, driver: {artifact: local/d}}\n"
NOWHERE = Search()
SHELL = AGENT + "capabilities: {shell: {allow: [ls]}}\n"


def decide(
    reading: HostReading,
    floor: Floor | None = None,
    text: str = AGENT,
    *,
    home_inside: bool = False,
    missing: str = "",
    search: Search = NOWHERE,
) -> Containment:
    capsule = load_capsule(text, "murmur.yaml").capsule
    host = Host(Path("/usr/bin/mur-sandbox"), reading, missing)
    return contain(
        host, capsule, floor or Floor(), capsule.lifecycle, home_inside=home_inside, search=search
    )


def codes(decided: Containment) -> list[str]:
    return [refused.code for refused in decided.refusals]


def test_the_floor_is_the_strongest_of_three_and_none_lowers_another() -> None:
    for manifest, config, flag in itertools.product((None, *CLASSES), repeat=3):
        floor = strongest({MANIFEST: manifest, CONFIG: config, FLAG: flag})
        given_classes = [each for each in (manifest, config, flag) if each is not None]
        for each in given_classes:
            assert CLASSES.index(floor.declared) >= CLASSES.index(each)
        assert floor.declared in (given_classes or ["advisory"])
        assert bool(floor.sources) is bool(given_classes)


@given(st.text())
def test_a_class_is_one_of_three(text: str) -> None:
    if text in CLASSES:
        assert class_named(text, "--containment") == text
        return
    with pytest.raises(MurmurError) as refusal:
        class_named(text, "--containment")
    assert refusal.value.code == "E-IO-003"
    assert "advisory, scoped, sealed" in refusal.value.message


def test_what_declares_nothing_is_never_refused_on_class_grounds() -> None:
    for reading in (SEALED, NO_LANDLOCK, without_linux(), unread_host()):
        decided = decide(reading)
        assert decided.shortfall is None and decided.refusals == ()


def test_scoped_on_a_host_that_could_be_sealed_achieves_scoped() -> None:
    decided = decide(SEALED, Floor("scoped", (FLAG,)))
    assert (decided.achieved, decided.host, decided.shortfall) == ("scoped", "sealed", None)


@pytest.mark.parametrize(
    ("reading", "reason", "remedy"),
    [
        pytest.param(without_linux(), "not Linux", "Linux host", id="system"),
        pytest.param(NO_LANDLOCK, "landlock_create_ruleset failed", "5.13", id="kernel"),
    ],
)
def test_a_floor_above_the_host_names_both_classes_the_reason_and_a_remedy(
    reading: HostReading, reason: str, remedy: str
) -> None:
    decided = decide(reading, Floor("scoped", (MANIFEST,)))
    assert codes(decided) == ["E-CAP-003"]
    refused = decided.refusals[0]
    assert "class scoped" in refused.message and "achieves advisory" in refused.message
    assert reason in refused.message and remedy in refused.hint
    for place in (MANIFEST, ".murmur/config.yaml", FLAG):
        assert place in refused.hint


@pytest.mark.parametrize(
    ("stage", "grant", "reason", "remedy"),
    [
        (Stage(False, call="unshare", error=1), "withheld", "AppArmor", "profile"),
        (Stage(False, call="unshare", error=1), "apparmor_absent", "refused", "SYS_ADMIN"),
        (Stage(False, call="unshare", error=28), "apparmor_absent", "no user namespaces", "sysctl"),
        (
            Stage(False, call="write", error=1, step="id map"),
            "apparmor_absent",
            "id map",
            "policy",
        ),
        (Stage(False, call="mount", error=1), "apparmor_absent", "mounted", "profile"),
        (Stage(False, call="pivot_root", error=1), "apparmor_absent", "root", "pivot_root"),
    ],
)
def test_why_a_host_is_not_sealed_tells_the_cases_apart(
    stage: Stage, grant: str, reason: str, remedy: str
) -> None:
    reading = dataclasses.replace(SEALED, sealed=stage, userns_grant=grant)  # type: ignore[arg-type]
    refused = decide(reading, Floor("sealed", (FLAG,))).refusals[0]
    assert reason in refused.message and remedy in refused.hint


def test_a_root_is_composed_only_where_the_floor_asks_for_it() -> None:
    for declared in CLASSES:
        tier = "Sealed" if declared == "sealed" else "Full"
        decided = decide(SEALED, Floor(declared, (FLAG,)), SHELL)
        assert (decided.tier, decided.host, decided.shortfall) == (tier, "sealed", None)
        assert decided.achieved == ("sealed" if declared == "sealed" else "scoped")


def test_a_host_that_cannot_seal_says_what_is_missing() -> None:
    stuck = dataclasses.replace(SEALED, sealed=Stage(False, call="pivot_root", error=1))
    decided = decide(stuck, Floor("sealed", (FLAG,)))
    assert (decided.achieved, codes(decided)) == ("scoped", ["E-CAP-003"])
    assert "pivot_root" in (decided.shortfall or "")
    assert codes(decide(stuck, Floor("scoped", (FLAG,)))) == []


def test_what_is_in_force_is_said_for_each_tier() -> None:
    def shown(reading: HostReading, floor: Floor | None = None, text: str = SHELL) -> list[str]:
        return [each.code for each in decide(reading, floor, text).warnings]

    no_kernel = dataclasses.replace(SEALED, seccomp=Stage(False, call="prctl", error=22))
    assert "W-SEC-001" in shown(no_kernel)
    assert "W-SEC-002" in shown(NO_LANDLOCK)
    assert "W-SEC-005" in shown(SEALED)
    sealed = decide(SEALED, Floor("sealed", (FLAG,)), SHELL)
    told = [each.message for each in sealed.warnings if each.code == "W-SEC-005"]
    assert "a root of their own" in told[0] and "names and sizes" not in told[0]
    assert "file system of their own" in " ".join(sealed.notes)


def test_bash_without_a_kernel_that_keeps_it_from_hosts_is_warned_of() -> None:
    text = AGENT + "capabilities: {network: {allow: [example.com]}, shell: {allow: [%s]}}\n"
    assert "W-SEC-003" in [
        each.code for each in decide(without_linux(), text=text % "bash").warnings
    ]
    for reading, binary in ((without_linux(), "sh"), (NO_LANDLOCK, "bash"), (SEALED, "bash")):
        found = decide(reading, text=text % binary).warnings
        assert "W-SEC-003" not in [each.code for each in found]
    assert "W-SEC-003" not in [
        each.code for each in decide(without_linux(), text=SHELL.replace("ls", "bash")).warnings
    ]


def test_workdir_exec_caps_the_class_and_is_the_reason_whatever_the_host() -> None:
    text = AGENT + "capabilities: {filesystem: {workdir_exec: true}}\n"
    for reading in (SEALED, NO_LANDLOCK, unread_host()):
        decided = decide(reading, Floor("scoped", (FLAG,)), text)
        assert decided.achieved == "advisory"
        assert "capabilities.filesystem.workdir_exec" in decided.refusals[0].message


def test_a_home_in_the_workdir_caps_the_class_and_leaves_the_tier() -> None:
    decided = decide(SEALED, home_inside=True)
    assert (decided.achieved, decided.tier) == ("advisory", "Full")
    refused = decide(SEALED, Floor("scoped", (FLAG,)), home_inside=True).refusals[0]
    assert "~/.murmur lies in the work folder" in refused.message


def test_commands_need_a_network_namespace_at_every_class() -> None:
    for floor in (Floor(), Floor("advisory", (FLAG,)), Floor("scoped", (FLAG,))):
        decided = decide(NO_NETWORK, floor, SHELL)
        assert codes(decided) == ["E-CAP-005"]
        assert "unshare failed with EPERM" in decided.refusals[0].message
    assert codes(decide(NO_NETWORK)) == []
    assert codes(decide(without_linux(), text=SHELL)) == []


def test_every_source_of_subprocesses_needs_it() -> None:
    for more in ("spawn: {allow: [local/x]}", "shell: {allow: [ls]}"):
        assert codes(decide(NO_NETWORK, text=AGENT + f"capabilities: {{{more}}}\n"))
    process = AGENT.replace("{model", "{transport: process, model")
    assert codes(decide(NO_NETWORK, text=process)) == ["E-CAP-005"]


def test_a_staged_runtime_needs_the_floor_sealed() -> None:
    text = AGENT + (
        "capabilities: {shell: {allow: [node, go], staged_runtime: ["
        "{binary: node, source_path: /n, pin: a}, {binary: go, source_path: /g, pin: b}]}}\n"
    )
    refused = decide(SEALED, Floor("scoped", (FLAG,)), text).refusals
    assert [each.code for each in refused] == ["E-CAP-004"]
    assert "node, go" in refused[0].message and "scoped" in refused[0].message
    assert codes(decide(SEALED, Floor("sealed", (FLAG,)), text)) == []


def test_the_floor_is_checked_before_the_network() -> None:
    reading = dataclasses.replace(NO_LANDLOCK, network=NO_NETWORK.network)
    assert codes(decide(reading, Floor("scoped", (FLAG,)), SHELL)) == ["E-CAP-003", "E-CAP-005"]


def test_a_host_that_nobody_could_ask_says_what_was_missing() -> None:
    decided = decide(unread_host(), text=SHELL, missing="no mur-sandbox beside mur")
    assert "no mur-sandbox beside mur" in decided.refusals[0].message
    assert "MURMUR_SANDBOX_HELPER" in decided.refusals[0].hint
    floor = decide(unread_host(), Floor("scoped", (FLAG,)), missing="no mur-sandbox").refusals[0]
    assert "no mur-sandbox" in floor.message and "MURMUR_SANDBOX_HELPER" in floor.hint
