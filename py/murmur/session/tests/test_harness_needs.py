"""What a harness is granted of what its driver needs. spec/artifacts.md 13.7."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmur.core.config import HostPath
from murmur.core.home import Home
from murmur.manifest.capsule import Capsule
from murmur.manifest.grants import Capabilities, HarnessGrant, HarnessPath, NetworkGrant
from murmur.manifest.harness_needs import HarnessNeeds
from murmur.manifest.network import parse_rules
from murmur.session.harness.needs import HarnessGrants, harness_grants

READ, BOTH = "read", "read-write"


def _decided(
    home: Path,
    allowed: list[HarnessPath],
    needed: list[HarnessPath] | None,
    network: tuple[str, ...] = (),
    hosts: tuple[str, ...] = (),
) -> HarnessGrants:
    granted = Capabilities(
        network=NetworkGrant(allow=network), harness=HarnessGrant(paths=tuple(allowed))
    )
    capsule = Capsule(name="a", version="1", capabilities=granted)
    needs = None if needed is None else HarnessNeeds(tuple(needed), parse_rules(hosts))
    return harness_grants(capsule, needs, Home(home / ".murmur"))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path.resolve()


def test_a_driver_that_does_not_say_gets_what_the_manifest_names(home: Path) -> None:
    found = _decided(home, [HarnessPath("~/.x", "read-write")], None, ("a.example",))
    assert found == HarnessGrants((HostPath(f"{home}/.x", "read-write"),), ("a.example",))


def test_a_driver_that_needs_nothing_gets_nothing(home: Path) -> None:
    assert _decided(home, [HarnessPath("~/.x")], [], ("a.example",)) == HarnessGrants()


@pytest.mark.parametrize(
    ("allowed", "needed"),
    [
        (HarnessPath("~/.x", "read"), HarnessPath("~/.x", "read")),
        (HarnessPath("~/.x", "read-write"), HarnessPath("~/.x", "read")),
        (HarnessPath("~/", "read-write"), HarnessPath("~/.x/y", "read")),
        (HarnessPath("/", "read-write"), HarnessPath("~/.x", "read-write")),
    ],
)
def test_the_grant_is_the_drivers_own_path_and_access_never_the_wider_entry(
    home: Path, allowed: HarnessPath, needed: HarnessPath
) -> None:
    found = _decided(home, [allowed], [needed])
    own = HostPath(f"{home}/{needed.path[2:]}", needed.access)
    assert found == HarnessGrants((own,))


@pytest.mark.parametrize(
    ("allowed", "needed"),
    [
        (HarnessPath("~/.x", "read"), HarnessPath("~/.x", "read-write")),
        (HarnessPath("~/.x/y", "read-write"), HarnessPath("~/.x", "read")),
        (HarnessPath("~/.x", "read-write"), HarnessPath("~/.xy", "read")),
    ],
)
def test_a_path_that_no_entry_covers_is_missing(
    home: Path, allowed: HarnessPath, needed: HarnessPath
) -> None:
    found = _decided(home, [allowed], [needed])
    need = f"the path {needed.path} ({needed.access})"
    assert found == HarnessGrants(missing=((need, "capabilities.harness.paths"),))


def test_a_link_out_of_an_allowed_folder_is_not_allowed_by_it(home: Path) -> None:
    (home / "allowed").mkdir()
    (home / "secret").mkdir()
    (home / "allowed" / "x").symlink_to(home / "secret")
    needed = [HarnessPath("~/allowed/x")]
    assert _decided(home, [HarnessPath("~/allowed")], needed).paths == ()
    by_name = _decided(home, [HarnessPath("~/allowed/x")], needed)
    assert by_name.paths == (HostPath(f"{home}/secret", "read"),)


@pytest.mark.parametrize(
    ("allow", "host", "granted"),
    [
        ("a.example", "https://a.example", True),
        ("a.example:443", "https://a.example", True),
        ("https://a.example", "https://a.example", True),
        ("a.example:8443", "https://a.example", False),
        ("https://a.example", "a.example", False),
        ("b.example", "https://a.example", False),
    ],
)
def test_a_host_is_granted_as_the_driver_names_it_where_an_entry_covers_it(
    home: Path, allow: str, host: str, granted: bool
) -> None:
    found = _decided(home, [], [], (allow, "c.example"), (host,))
    missing = ((f"the host {host}", "capabilities.network.allow"),)
    assert found == (HarnessGrants(hosts=(host,)) if granted else HarnessGrants(missing=missing))


def test_a_refusal_names_every_need_and_each_field_once(home: Path) -> None:
    found = _decided(home, [], [HarnessPath("~/.x"), HarnessPath("/y")], (), ("a.example",))
    refused = found.refusal("local/d@1")
    assert refused is not None and refused.code == "E-CAP-021"
    text = f"{refused.message} {refused.hint}"
    for fact in ("local/d@1", "~/.x (read)", "/y (read)", "the host a.example"):
        assert fact in text
    assert text.count("capabilities.harness.paths") == 1 == text.count("capabilities.network.allow")
    assert HarnessGrants().refusal("local/d@1") is None


_PATHS = st.builds(
    HarnessPath,
    st.sampled_from(["~/a", "~/a/b", "~/ab", "/a", "/", "~/", "/a/b"]),
    st.sampled_from(["read", "read-write"]),
)


@given(st.lists(_PATHS, max_size=4), st.lists(_PATHS, max_size=4))
def test_each_need_is_granted_as_it_is_or_missing(
    allowed: list[HarnessPath], needed: list[HarnessPath]
) -> None:
    home = Path("/no-such-home")
    found = _decided(home, allowed, needed)
    assert len(found.paths) + len(found.missing) == len(needed)
    own = {(each.path.replace("~/", f"{home}/").rstrip("/") or "/", each.access) for each in needed}
    assert {(each.path, each.access) for each in found.paths} <= own
