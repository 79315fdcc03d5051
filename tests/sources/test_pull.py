"""A pull of a running capsule that a source answers: `capabilities.install.from: [sources]`.

spec/registry.md 18, *Source pulls*: fetched and checked as an install is, and written to no store.
"""

import pytest

from murmur.core.config import Source
from murmur.manifest.grants import InstallGrant
from murmur.store.lock import Lock, Pin, lock_path, write_lock
from murmur.store.names import FullName
from murmur.store.platforms import host_platform
from murmur.store.pulling import NotGranted, Origins, Pull, decide, pin_pull
from murmur.store.sources import Sources
from murmur.store.stores import global_store, project_store

from .archives import STALE, skill, wasm
from .box import Box
from .github_server import GitHubServer

EVERYTHING = InstallGrant(skill=("*",), tool=("*",), sources=("stores", "sources"))


def pull(
    box: Box,
    github: GitHubServer,
    name: str,
    version: str = "1.0.0",
    *,
    lock: Lock | None = None,
    grant: InstallGrant = EVERYTHING,
) -> Pull:
    sources = Sources(
        (Source("ana", "Ana/tools", None),), {"MUR_GITHUB_API_BASE": github.base + "/"}
    )
    stores = (project_store(box.cwd), global_store(box.home / ".murmur" / "artifacts"))
    origins = Origins(stores, lambda: sources, host_platform(), {})
    return decide(grant, name, version, origins, lock, ())


def test_a_source_answers_what_no_store_has_and_no_store_is_written(
    box: Box, github: GitHubServer
) -> None:
    github.publish("Ana/tools", "v7", wasm("tool-one"), skill("style"), owner_id=7)
    before = box.files()
    found = pull(box, github, "ana/tool-one")
    assert (found.tier, found.owner_id, found.reference) == ("tool", 7, "ana/tool-one@1.0.0")
    assert pull(box, github, "ana/style").tier == "skill"
    assert box.files() == before
    pin = pin_pull(box.cwd, found, "ses_1")
    assert (pin.origin, pin.session, pin.owner_id) == ("runtime", "ses_1", 7)


def test_without_sources_in_the_grant_nobody_is_asked(box: Box, github: GitHubServer) -> None:
    github.publish("Ana/tools", "v7", wasm("tool-one"))
    with pytest.raises(NotGranted, match="in no store"):
        pull(box, github, "ana/tool-one", grant=InstallGrant(tool=("*",)))
    with pytest.raises(NotGranted, match=r"no capabilities\.install entry matches"):
        pull(box, github, "ana/tool-one", grant=InstallGrant(tool=("bob/*",)))
    assert list(github.asked) == []


@pytest.mark.parametrize(
    ("name", "version", "said"),
    [
        ("ana/tool-none", "1.0.0", "E-REG-001"),
        ("ana/tool-one", "9.9.9", "E-REG-001"),
        ("bob/tool-one", "1.0.0", "E-REG-001"),
        ("local/tool-one", "1.0.0", "E-REG-001"),
        ("ana/tool-old", "1.0.0", "E-WIT-LEVEL-001"),
    ],
)
def test_what_a_source_does_not_have_or_does_not_fit_is_refused_in_its_words(
    box: Box, github: GitHubServer, name: str, version: str, said: str
) -> None:
    github.publish("Ana/tools", "v7", wasm("tool-one"), wasm("tool-old", interface=STALE))
    before = box.files()
    with pytest.raises(NotGranted, match=rf"not-granted: {said}"):
        pull(box, github, name, version)
    assert box.files() == before


def test_a_scope_that_changed_hands_is_refused(box: Box, github: GitHubServer) -> None:
    github.publish("Ana/tools", "v7", wasm("tool-one"), owner_id=8)
    held = Lock((Pin(FullName("ana/other"), "1.0.0", any="0" * 64, owner_id=7),))
    write_lock(lock_path(box.cwd), held)
    with pytest.raises(NotGranted, match="E-REG-005"):
        pull(box, github, "ana/tool-one", lock=held)
