"""What each entry may reach. seeds/manifest-schema.md, Hook, and Tool and driver capabilities."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from murmur.core.diagnostics import MurmurError
from murmur.manifest.capsule import Capsule
from murmur.manifest.network import allows
from murmur.manifest.parse import load_capsule
from murmur.session.grants import (
    EntryGrants,
    capsule_rules,
    check_shapes,
    entry_grants,
    state_stores,
)

CEILING = (
    "capabilities: {network: {allow: ['https://a.example', b.example]}, env: {allow: [REGION]}}\n"
)
_LISTS = st.lists(
    st.sampled_from(["a.example", "https://a.example", "b.example:80", "http://b.example"])
)


def _capsule(body: str) -> Capsule:
    return load_capsule("name: demo\nversion: '1'\n" + body, "murmur.yaml").capsule


def _entry(role: str, capabilities: str = "") -> str:
    declared = f", capabilities: {{{capabilities}}}" if capabilities else ""
    return f"artifacts: [{{name: a/x, version: '1', runtime: {role}{declared}}}]\n"


def _granted(body: str) -> tuple[EntryGrants, list[str]]:
    grants, warnings = entry_grants(_capsule(body))
    assert all(warning.code == "W-SEC-007" for warning in warnings)
    return grants["a/x"], [warning.message for warning in warnings]


def _texts(grants: EntryGrants) -> list[str]:
    return [rule.text for rule in grants.network]


@pytest.mark.parametrize("role", ["tool", "driver"])
def test_an_entry_without_a_block_runs_on_the_ceiling(role: str) -> None:
    grants, dropped = _granted(CEILING + _entry(role))
    assert _texts(grants) == ["https://a.example", "b.example"] and dropped == []
    assert grants.scope is None and grants.env == ("REGION",) and grants.config is None


@pytest.mark.parametrize(
    ("allow", "kept", "dropped"),
    [
        ("[]", [], []),
        ("['https://a.example']", ["https://a.example"], []),
        ("['https://b.example:8443', b.example]", ["https://b.example:8443", "b.example"], []),
        ("[c.example]", [], ["c.example"]),
        # A bare host spans both schemes, and the ceiling has one.
        ("[a.example]", [], ["a.example"]),
        ("['http://a.example']", [], ["http://a.example"]),
    ],
)
def test_narrowing_only_ever_subtracts(allow: str, kept: list[str], dropped: list[str]) -> None:
    grants, warned = _granted(CEILING + _entry("tool", f"network: {{allow: {allow}}}"))
    assert _texts(grants) == kept
    assert len(warned) == len(dropped)
    for line, entry in zip(warned, dropped, strict=True):
        assert "a/x" in line and entry in line


def test_a_hook_gets_its_own_grants_and_nothing_of_the_capsule_s() -> None:
    silent, _ = _granted(CEILING + _entry("hook"))
    assert silent.network == () and silent.scope is None
    granted, dropped = _granted(
        CEILING + _entry("hook", "network: {allow: [c.example]}, filesystem: {scope: mine}")
    )
    assert _texts(granted) == ["c.example"] and granted.scope == "mine" and dropped == []


def test_an_entry_s_env_is_inert() -> None:
    grants, _ = _granted(CEILING + _entry("tool", "env: {allow: []}"))
    assert grants.env == ("REGION",)


@pytest.mark.parametrize(
    ("ceiling", "own", "role", "scope"),
    [
        ("repo", "cache", "tool", "repo/cache"),
        ("repo", ".", "tool", "repo"),
        ("./repo/", "a/../b", "driver", "repo/b"),
        (".", "cache", "tool", "cache"),
        ("repo", "cache", "hook", "cache"),
    ],
)
def test_an_entry_s_scope_lies_below_the_capsule_s_and_a_hook_s_below_the_work_folder(
    ceiling: str, own: str, role: str, scope: str
) -> None:
    body = f"capabilities: {{filesystem: {{scope: {ceiling}}}}}\n"
    grants, _ = _granted(body + _entry(role, f"filesystem: {{scope: {own}}}"))
    assert grants.scope == scope


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(_LISTS, _LISTS)
def test_nothing_outside_the_ceiling_is_reached(ceiling: list[str], own: list[str]) -> None:
    body = f"capabilities: {{network: {{allow: {ceiling}}}}}\n"
    grants, dropped = _granted(body + _entry("tool", f"network: {{allow: {own}}}"))
    above = entry_grants(_capsule(body + _entry("tool")))[0]["a/x"].network
    for scheme in ("http", "https"):
        for host in ("a.example", "b.example"):
            for port in (80, 443, 8443):
                if allows(grants.network, scheme, host, port):
                    assert allows(above, scheme, host, port)
    assert len(grants.network) + len(dropped) == len(own)


SEVENTEEN = ", ".join(f"a.example.com:{9000 + number}" for number in range(17))


def test_a_list_for_commands_names_at_most_sixteen_ports() -> None:
    body = f"capabilities: {{shell: {{allow: [sh]}}, network: {{allow: [{SEVENTEEN}]}}}}\n"
    with pytest.raises(MurmurError) as refused:
        capsule_rules(_capsule(body))
    assert refused.value.diagnostic.code == "E-CAP-001"
    assert "'a.example.com:9016'" in str(refused.value)
    assert "17 ports" in str(refused.value)


def test_a_list_for_guests_alone_names_as_many_ports_as_it_likes() -> None:
    capsule = _capsule(f"capabilities: {{network: {{allow: [{SEVENTEEN}]}}}}\n")
    assert len(capsule_rules(capsule)) == 17
    with pytest.raises(MurmurError, match="at most 16"):
        entry_grants(capsule, native=True)


def test_a_store_is_named_after_the_capsule_unless_the_entry_names_it() -> None:
    assert state_stores(_capsule(_entry("tool", "state: {}"))) == {"a/x": "demo"}
    assert state_stores(_capsule(_entry("hook", "state: {store: s}"))) == {"a/x": "s"}
    assert state_stores(_capsule(_entry("tool", "network: {}"))) == {}


# One fault of each code, in the order of spec/diagnostics.md 6.3.
FAULTS = {
    "E-CAP-001": ("network: {allow: ['ftp://x']}", ""),
    "E-CAP-002": ("filesystem: {scope: ../x}", ""),
    "E-CAP-009": ("", "state: {store: a/b}"),
    "E-CAP-011": ("", ""),
    "E-CAP-016": ("env: {allow: [AWS_X]}", ""),
    "E-CAP-010": ("", ""),
}


@pytest.mark.parametrize("first", FAULTS)
def test_of_several_faults_the_first_check_s_is_reported(first: str) -> None:
    present = list(FAULTS)[list(FAULTS).index(first) :]
    wide = ", ".join(FAULTS[code][0] for code in present if FAULTS[code][0])
    own = ", ".join(FAULTS[code][1] for code in present if FAULTS[code][1])
    own = ", ".join(part for part in (own, "filesystem: {scope: /x}") if part)
    body = f"capabilities: {{{wide}}}\n"
    body += f"artifacts: [{{name: a/x, version: '1', config: [], capabilities: {{{own}}}}}]\n"
    if "E-CAP-011" in present:
        body += "context: {record_store: a/b}\n"
    with pytest.raises(MurmurError) as refusal:
        entry_grants(_capsule(body))
    assert refusal.value.code == first


def test_the_scope_report_does_not_judge_the_record_s_store() -> None:
    check_shapes(_capsule("context: {record_store: a/b}\n"))
