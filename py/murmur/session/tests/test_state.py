"""Durable state stores. spec/sessions.md 19."""

import stat
from pathlib import Path

import pytest

from murmur.core.diagnostics import MurmurError
from murmur.core.home import Home
from murmur.manifest.capsule import Capsule
from murmur.manifest.parse import load_capsule
from murmur.session.state import close_state_stores, open_state_stores, state_openings

MANIFEST = """
name: demo
version: 0.1.0
artifacts:
- {name: a/tool, version: 0.1.0, capabilities: {state: {}}}
- {name: a/other, version: 0.1.0, capabilities: {state: {store: shared}}}
- {name: a/driver, version: 0.1.0, runtime: driver, capabilities: {state: {store: shared}}}
- {name: a/hook, version: 0.1.0, runtime: hook, capabilities: {state: {}}}
- {name: a/none, version: 0.1.0}
inference: {model: m, driver: {artifact: a/driver}}
"""


@pytest.fixture
def capsule() -> Capsule:
    return load_capsule(MANIFEST, "murmur.yaml").capsule


@pytest.fixture
def home(tmp_path: Path) -> Home:
    root = tmp_path / ".murmur"
    root.mkdir()
    return Home(root)


def test_each_grant_opens_the_store_that_it_names_or_the_capsule_s(
    home: Home, capsule: Capsule
) -> None:
    folders = open_state_stores(home, capsule)
    assert {name: folder.path.name for name, folder in folders.items()} == {
        "a/tool": "demo",
        "a/other": "shared",
        "a/driver": "shared",
        "a/hook": "demo",
    }
    assert sorted(each.name for each in home.state.iterdir()) == ["demo", "shared"]
    openings = state_openings(folders, capsule)
    paths = {host: [path for path, _ in found] for host, found in openings.items()}
    demo, shared = str(home.state / "demo"), str(home.state / "shared")
    assert paths.pop("tools") == [demo, shared]
    assert paths.pop("drivers") == [shared]
    assert list(paths.values()) == [[demo]]
    close_state_stores(folders)
    close_state_stores(folders)


def test_modes_are_set_anew_at_every_launch_and_content_stays(home: Home, capsule: Capsule) -> None:
    close_state_stores(open_state_stores(home, capsule))
    (home.state / "demo" / "kept").write_text("x")
    home.state.chmod(0o755)
    (home.state / "demo").chmod(0o777)
    close_state_stores(open_state_stores(home, capsule))
    for path in (home.state, home.state / "demo"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
    assert (home.state / "demo" / "kept").read_text() == "x"


@pytest.mark.parametrize("where", ["demo", ""])
def test_a_store_that_cannot_be_a_directory_is_e_cap_009(
    home: Home, capsule: Capsule, tmp_path: Path, where: str
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o755)
    if where:
        home.state.mkdir()
    (home.state / where).symlink_to(outside)
    with pytest.raises(MurmurError) as refused:
        open_state_stores(home, capsule)
    assert refused.value.code == "E-CAP-009" and "demo" in refused.value.message
    assert stat.S_IMODE(outside.stat().st_mode) == 0o755 and not list(outside.iterdir())
