"""The scope report: keys, values and blocks of spec/containment.md 6."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import fastjsonschema
import pytest

from murmur.core.config import Config
from murmur.core.home import Home
from murmur.manifest.parse import load_capsule
from murmur.sandbox.policy import Foreseen
from murmur.sandbox.probe import HostReading, Stage, without_linux
from murmur.session.containment import CLASS_OF, Containment
from murmur.session.directories import work_place
from murmur.session.floors import CONFIG, FLAG, MANIFEST, Floor, strongest
from murmur.session.grants import declared_scopes
from murmur.session.scope.model import CgroupScope, IoMax, ScopeReport
from murmur.session.scope.report import Bounds, Subject, scope_report
from murmur.session.scope.routes import GUEST_ROOT, Guests
from murmur.session.scope.schema import scope_schema
from murmur.session.scope.text import report_lines
from murmur.session.scope.unestablished import UNESTABLISHED
from murmur.session.tests.manifests import EVERY_BLOCK, MINIMAL

# spec/containment.md 6, JSON keys of the report; `shortfall_reason` is omitted when there is none.
# fmt: off
KEYS = [
    "declared_containment", "achieved_containment", "host_containment", "floor_met",
    "shortfall_reason", "enforcement_tier", "routes", "userns_grant", "landlock_abi",
    "filesystem_scope", "workdir_exec", "read_only_paths", "read_only_advisory_for", "preopens",
    "network_allow", "unix_sockets", "shell_allow", "spawn_allow", "spawn_workdir_snapshot",
    "parent_workdir", "images", "env_allow", "plan_submit", "install_skill", "install_tool",
    "install_from", "interpreter_runtime_grants", "derived_interpreter_runtime", "trust_store",
    "declared_needs", "pinned_programs", "name_resolution", "host_paths", "exports_files",
    "peer_files", "peer_tasks", "peer_fetch_allow", "state_stores", "configured_artifacts",
    "staged_runtime_grants", "runtime_writes", "io_max", "cgroup_scope", "filesystem_boundary",
    "runtime_dir", "records_dir", "temp_dir",
]
# fmt: on

_OK = Stage(True, number=7)
_NO = Stage(False, call="unshare", error=1, step="namespaces")
FULL = HostReading(True, _OK, _OK, _OK, _OK, _OK, _OK, _OK, "apparmor_absent")
NO_LANDLOCK = dataclasses.replace(FULL, landlock=_NO)
CONTAINED = Guests(True)
SEEN = Foreseen("Full", {}, {}, (), True, True, True, ("/etc/ssl",), ("/etc/hosts",), (), (), ())


def containment(reading: HostReading = FULL, **more: Any) -> Containment:
    facts: dict[str, Any] = {
        "helper": Path("/usr/bin/mur-sandbox"),
        "reading": reading,
        "missing": "",
        "floor": Floor(),
        "achieved": CLASS_OF["Full" if reading.tier == "Sealed" else reading.tier],
        "shortfall": None,
        "home_inside": False,
        "refusals": (),
        "warnings": (),
        "notes": (),
    }
    return Containment(**{**facts, **more})


def report_of(
    text: str,
    decided: Containment | None = None,
    *,
    seen: Foreseen | None = SEEN,
    guests: Guests = CONTAINED,
    workdir: Path | None = None,
) -> ScopeReport:
    capsule = load_capsule(text, "murmur.yaml").capsule
    subject = Subject(
        capsule=capsule,
        place=work_place(workdir, Path("/project")),
        home=Home(Path("/home/u/.murmur")),
        containment=decided or containment(),
        config=Config(),
        scopes=declared_scopes(capsule),
        environ={},
    )
    bounds = Bounds(CgroupScope("delegated", hierarchy="v2"), IoMax(1, "enforced"))
    return scope_report(subject, seen, guests, bounds)


def lines_of(report: ScopeReport, floor: Floor | None = None, missing: str = "") -> list[str]:
    return report_lines(report, floor or Floor(), missing)


def test_the_keys_are_the_documented_ones_in_their_order() -> None:
    unmet = containment(shortfall="why")
    assert list(report_of(MINIMAL, unmet).as_json()) == KEYS
    met = report_of(MINIMAL).as_json()
    assert list(met) == [key for key in KEYS if key != "shortfall_reason"]


def test_what_is_not_declared_is_empty_null_or_false_and_never_missing() -> None:
    report = report_of(MINIMAL, seen=None).as_json()
    for key in KEYS:
        if key in ("shortfall_reason", "runtime_writes", "routes"):
            continue
        value = report[key]
        plain = key.endswith(("containment", "tier", "grant", "abi", "dir", "scope", "max"))
        if not plain and key not in ("floor_met", "images", "filesystem_boundary"):
            assert value in ([], None, False), key
    assert report["filesystem_scope"] is None


@pytest.mark.parametrize("text", [MINIMAL, EVERY_BLOCK], ids=["minimal", "every block"])
def test_the_report_validates_against_the_schema_of_its_model(text: str) -> None:
    validate = fastjsonschema.compile(scope_schema())
    for decided in (containment(), containment(NO_LANDLOCK, shortfall="no Landlock")):
        validate(json.loads(json.dumps(report_of(text, decided).as_json())))


def test_the_schema_refuses_a_report_with_a_key_more_or_less() -> None:
    validate = fastjsonschema.compile(scope_schema())
    report = report_of(MINIMAL).as_json()
    for wrong in (
        {**report, "further": 1},
        {key: value for key, value in report.items() if key != "images"},
        {**report, "achieved_containment": "tight"},
        {**report, "io_max": {"declared_bytes_per_sec": "1", "status": "enforced"}},
    ):
        with pytest.raises(fastjsonschema.JsonSchemaException):
            validate(wrong)


def test_every_declared_block_is_in_the_report() -> None:
    report = report_of(EVERY_BLOCK).as_json()
    expected = {
        "filesystem_scope": "sub",
        "workdir_exec": True,
        "read_only_paths": ["tests", "bench/fixtures"],
        "read_only_advisory_for": ["bash", "python3", "node"],
        "network_allow": ["https://api.example.com", "example.org:8080"],
        "unix_sockets": True,
        "shell_allow": ["bash", "python3", "node"],
        "spawn_allow": ["local/child"],
        "images": {"keep": 2, "max_bytes": 1048576, "max_per_turn": 3, "keep_applies": True},
        "env_allow": ["EDITOR"],
        "plan_submit": True,
        "install_skill": ["ana/*"],
        "install_tool": ["ana/t"],
        "install_from": ["stores", "sources"],
        "interpreter_runtime_grants": [
            {
                "binary": "python3",
                "dirs": [
                    {"path": "/opt/py", "list_dir": True},
                    {"path": "/opt/data", "list_dir": False},
                ],
            }
        ],
        "staged_runtime_grants": [{"binary": "node", "source_path": "/opt/node", "pin": "v20"}],
        "exports_files": {"root": "out", "mode": "read-only", "max_bytes": 10485760},
        "peer_files": {"root": "out/handoff", "max_ttl": 600, "max_bytes": 10485760},
        "peer_tasks": True,
        "peer_fetch_allow": ["https://peer.example.com"],
        "state_stores": [{"artifact": "local/t", "store": "kept"}],
        "configured_artifacts": ["local/d"],
    }
    assert {key: report[key] for key in expected} == expected


def test_a_store_without_a_name_is_named_after_the_capsule() -> None:
    text = MINIMAL + "artifacts: [{name: local/t, version: '1', capabilities: {state: {}}}]\n"
    assert [each.store for each in report_of(text).state_stores] == ["small"]


def test_an_entry_works_below_the_scope_of_its_capsule_and_a_hook_nowhere_by_default() -> None:
    found = {each.artifact: each.path for each in report_of(EVERY_BLOCK).preopens}
    work = "/project/workdir/<session-id>"
    assert found == {
        "local/d": f"{work}/sub",
        "local/t": f"{work}/sub/part",
        "local/h": "/home/u/.murmur/records/project/workdir/<session-id>/hooks",
    }
    hook = MINIMAL + "artifacts: [{name: local/h, version: '1', runtime: hook}]\n"
    assert report_of(hook).preopens == ()


def test_the_routes_stand_in_one_order_present_or_not() -> None:
    report = report_of(EVERY_BLOCK)
    assert [(each.route, each.present) for each in report.routes] == [
        ("shell", True),
        ("plan-shell-steps", True),
        ("wasm-tools", True),
        ("drivers", True),
        ("hooks", True),
        ("process-harness", False),
        ("harness-tools", False),
    ]
    assert report.routes[3].artifacts == ("local/d",)
    assert {each.mechanism for each in report.routes} == {"Full"}


def test_guests_that_are_not_contained_are_outside_the_class_and_say_why() -> None:
    report = report_of(EVERY_BLOCK, guests=Guests(False, "no namespace"))
    drivers = report.routes[3]
    assert (drivers.under_class, drivers.mechanism, drivers.note) == (
        False,
        "host process",
        "no namespace",
    )
    assert report.routes[0].under_class and report.routes[0].mechanism == "Full"


@pytest.mark.parametrize(
    ("reading", "mechanism", "host", "restriction", "abi"),
    [
        pytest.param(FULL, "landlock+seccomp", "sealed", "enforced", 3, id="full"),
        pytest.param(NO_LANDLOCK, "seccomp-only", "advisory", "advisory", 0, id="seccomp"),
        pytest.param(without_linux(), "none", "advisory", "advisory", 0, id="environment"),
    ],
)
def test_the_tier_decides_mechanism_boundary_and_directories(
    reading: HostReading, mechanism: str, host: str, restriction: str, abi: int
) -> None:
    report = report_of(EVERY_BLOCK, containment(reading))
    assert report.enforcement_tier == mechanism
    assert report.host_containment == host
    assert report.landlock_abi == abi
    assert report.filesystem_boundary.restriction == restriction
    assert report.filesystem_boundary.not_protected
    held = restriction == "enforced"
    for kept in (report.runtime_dir, report.records_dir):
        assert kept.read_only_to_commands is held
        assert (kept.enforced_by == "landlock") is held
        assert (kept.not_protected_because is None) is held


def test_paths_end_in_a_literal_session_id() -> None:
    report = report_of(MINIMAL)
    assert report.runtime_dir.path == "/home/u/.murmur/sessions/<session-id>"
    assert report.records_dir.path == "/home/u/.murmur/records/project/workdir/<session-id>"
    assert report.temp_dir.path == f"{report.records_dir.path}/tmp"
    assert report.temp_dir.tmpdir == "/tmp"
    unmapped = report_of(MINIMAL, seen=dataclasses.replace(SEEN, maps_tmp=False)).temp_dir
    assert (unmapped.tmpdir, unmapped.maps_tmp) == (unmapped.path, False)


def test_a_home_in_the_work_folder_leaves_no_directory_protected() -> None:
    report = report_of(MINIMAL, containment(home_inside=True))
    assert report.runtime_dir.enforced_by is None
    assert "work folder" in (report.runtime_dir.not_protected_because or "")
    assert "work folder" in report.filesystem_boundary.not_protected[0]


def test_the_blocks_stand_in_their_order() -> None:
    titles = [line for line in lines_of(report_of(EVERY_BLOCK)) if line and line[0] != " "]
    assert titles == [
        "Containment",
        "Not protected here",
        "Runtime directory",
        "Records directory",
        "Temporary folder",
        "Effective grants",
        "Resource plane",
        "Images",
        "Runtime writes",
    ]


def test_the_runtime_writes_are_said_in_these_words() -> None:
    assert lines_of(report_of(MINIMAL))[-4:] == [
        "Runtime writes",
        "  paths are relative to the work folder",
        "  - peer-in (directory, peer-fetch)",
        "  - out (directory, script-session)",
    ]


def test_the_images_block_says_what_a_harness_changes() -> None:
    http = lines_of(report_of(MINIMAL))
    at = http.index("Images")
    assert http[at : at + 4] == [
        "Images",
        "  max_bytes:     5242880",
        "  keep:          5",
        "  max_per_turn:  5",
    ]
    process = report_of(MINIMAL.replace("{model", "{transport: process, model"))
    assert process.images.keep_applies is False
    shown = lines_of(process)
    at = shown.index("Images")
    assert shown[at + 2 : at + 4] == [
        "  keep:          5 (does nothing here: the harness holds the conversation)",
        "  max_per_turn:  5 (counts the images of one tool call here)",
    ]


def test_grants_are_listed_one_a_line_and_an_empty_one_says_none() -> None:
    shown = lines_of(report_of(EVERY_BLOCK))
    for line in (
        "  filesystem scope: sub",
        "    - python3: /opt/py (list_dir)",
        "    - python3: /opt/data",
        "    - node: /opt/node (pin: v20)",
        "    - /etc/ssl (list_dir)",
        "    - local/t: kept",
        "  plan submit: yes",
    ):
        assert line in shown
    at = shown.index("  artifact config:")
    assert shown[at + 1] == "    - local/d"
    empty = lines_of(report_of(MINIMAL, seen=None))
    for name in ("filesystem scope", "shell allow", "artifact config", "install skill"):
        assert f"  {name}: <none>" in empty


def test_a_floor_that_is_not_met_says_who_asked_and_why_not() -> None:
    floor = strongest({MANIFEST: "advisory", CONFIG: "sealed", FLAG: "sealed"})
    decided = containment(floor=floor, shortfall="because")
    shown = lines_of(report_of(MINIMAL, decided), floor)
    assert "  declared: sealed (containment in config.yaml, --containment)" in shown
    assert "  floor met: no — because" in shown
    assert "  declared: advisory (nothing declared)" in lines_of(report_of(MINIMAL))


def test_in_a_composed_root_it_is_said_that_guests_have_none() -> None:
    sealed = containment(floor=Floor("sealed"), achieved="sealed")
    rows = {each.route: each for each in report_of(EVERY_BLOCK, sealed).routes}
    assert rows["shell"].note is None and rows["shell"].mechanism == "Sealed"
    for name in ("wasm-tools", "drivers", "hooks"):
        assert rows[name].under_class and rows[name].note == GUEST_ROOT
    assert {each.note for each in report_of(EVERY_BLOCK).routes} == {None}
    shown = lines_of(report_of(EVERY_BLOCK, sealed))
    assert any("- drivers: Sealed" in line and GUEST_ROOT in line for line in shown)


def test_a_composed_root_leaves_nothing_to_say_but_a_home_in_the_work_folder() -> None:
    sealed = containment(floor=Floor("sealed"), achieved="sealed")
    report = report_of(MINIMAL, sealed)
    assert report.filesystem_boundary.restriction == "absent"
    assert not report.filesystem_boundary.not_protected
    assert report.runtime_dir.enforced_by == "mountns+landlock"
    assert "Not protected here" not in lines_of(report)
    inside = containment(floor=Floor("sealed"), achieved="advisory", home_inside=True)
    assert len(report_of(MINIMAL, inside).filesystem_boundary.not_protected) == 1


def test_what_a_manifest_quotes_stays_on_its_line() -> None:
    text = MINIMAL + 'capabilities: {env: {allow: ["A\\e[2JB"]}}\n'
    shown = lines_of(report_of(text))
    assert all(line.isprintable() for line in shown)
    assert any("\\x1b[2J" in line for line in shown)


def test_the_blocks_that_this_build_does_not_establish_are_these() -> None:
    assert set(UNESTABLISHED) == {"roster"}
    for line in UNESTABLISHED.values():
        assert line.startswith("this build does not establish ")
