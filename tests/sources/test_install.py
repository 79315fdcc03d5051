"""`mur install` across a network: the rows of its tables in the CLI reference, as programs."""

import hashlib

from murmur.store.lock import Lock, Pin
from murmur.store.names import FullName
from murmur.store.platforms import host_platform
from murmur.store.stores import global_store, project_store

from .archives import STALE, native, skill, wasm
from .box import Box
from .github_server import GitHubServer, Handler

HOST = host_platform()
OTHER = "darwin-aarch64" if HOST != "darwin-aarch64" else "linux-x86_64"
DEFAULTS = "murmur-nexus/default-artifacts"


def sha256(asset: tuple[str, bytes]) -> str:
    return hashlib.sha256(asset[1]).hexdigest()


def test_without_arguments_every_declared_artifact_is_fetched_and_pinned(
    box: Box, github: GitHubServer
) -> None:
    one, two, three = wasm("tool-one"), skill("skill-two"), native("tool-three", "2.0.0", HOST)
    github.publish(DEFAULTS, "v1", one, two)
    github.publish("Ana/tools", "v7", three, native("tool-three", "2.0.0", OTHER), owner_id=7)
    box.serve("Ana/tools")
    box.declare("murmur/tool-one@1.0.0", "ana/tool-three@2.0.0", "murmur/skill-two@1.0.0")
    assert box.install() == [
        "Installed murmur/tool-one@1.0.0 (project store)",
        "Installed ana/tool-three@2.0.0 (project store)",
        "Installed murmur/skill-two@1.0.0 (project store)",
    ]
    assert box.lock() == Lock(
        (
            Pin(FullName("murmur/tool-one"), "1.0.0", any=sha256(one), owner_id=42),
            Pin(FullName("ana/tool-three"), "2.0.0", platforms={HOST: sha256(three)}, owner_id=7),
            Pin(FullName("murmur/skill-two"), "1.0.0", any=sha256(two), owner_id=42),
        )
    )
    found = project_store(box.cwd).find(FullName("ana/tool-three"), "2.0.0", HOST)
    assert found is not None and found.tag == HOST and found.open().sha256 == sha256(three)
    record = found.record()
    assert record is not None and record.owner_id == 7
    # A second install asks nobody and changes nothing.
    before, asked = box.files(), len(github.asked)
    assert box.install()[0] == "Already installed murmur/tool-one@1.0.0 (project store)"
    assert (box.files(), len(github.asked)) == (before, asked)


def test_a_scoped_name_with_a_version_comes_from_the_global_store_first(
    box: Box, github: GitHubServer
) -> None:
    github.publish(DEFAULTS, "v1", wasm("tool-git", "0.6.0"))
    box.declare()
    assert box.install("-g", "murmur/tool-git@0.6.0") == [
        "Installed murmur/tool-git@0.6.0 (global store)"
    ]
    assert not (box.cwd / "murmur.lock").exists() and not (box.cwd / ".murmur").exists()
    asked = len(github.asked)
    assert box.install("murmur/tool-git@0.6.0") == [
        "Installed murmur/tool-git@0.6.0 (project store)"
    ]
    assert len(github.asked) == asked
    assert box.lock().pins[0].owner_id == 42


def test_an_older_version_comes_from_the_release_that_its_index_records(
    box: Box, github: GitHubServer
) -> None:
    github.publish(DEFAULTS, "release/1", wasm("tool-git", "0.5.0"))
    github.publish(DEFAULTS, "v2", wasm("tool-git", "0.6.0"))
    box.declare()
    box.install("murmur/tool-git@0.5.0")
    assert any(path.endswith("/releases/tags/release%2F1") for path in github.paths("api"))


def test_a_version_that_does_not_fit_is_refused_before_anything_is_fetched(
    box: Box, github: GitHubServer
) -> None:
    github.publish(DEFAULTS, "v1", wasm("good"), wasm("stale", interface=STALE))
    box.declare("murmur/good@1.0.0", "murmur/absent@1.0.0", "murmur/stale@1.0.0")
    for arguments in ((), ("murmur/stale@1.0.0",), ("-g", "murmur/stale@1.0.0")):
        message = box.refused("E-WIT-LEVEL-001", *arguments)
        assert "murmur/stale@1.0.0" in message and STALE in message
    assert github.downloads() == 3  # the index alone, each time


def test_a_name_without_a_version_is_the_newest_that_fits_this_mur(
    box: Box, github: GitHubServer
) -> None:
    github.publish(DEFAULTS, "v1", wasm("tool-git", "0.9.0"), wasm("tool-git", "0.10.0"))
    github.publish(
        DEFAULTS,
        "v2",
        wasm("tool-git", "0.11.0", STALE),
        native("only-other", "1.0.0", OTHER),
        wasm("stale", "2.0.0", STALE),
    )
    box.declare()
    assert box.install("murmur/tool-git") == ["Installed murmur/tool-git@0.10.0 (project store)"]
    assert HOST in box.refused("E-REG-001", "murmur/only-other")
    assert STALE in box.refused("E-WIT-LEVEL-001", "murmur/stale")
    assert "index of github:" in box.refused("E-REG-001", "murmur/absent")


def test_the_newest_version_is_the_indexs_own_even_when_the_store_holds_other_bytes(
    box: Box, github: GitHubServer
) -> None:
    github.publish(DEFAULTS, "v1", wasm("tool-git", padding=b"old"))
    box.declare()
    box.install("-g", "murmur/tool-git@1.0.0")
    rebuilt = wasm("tool-git", padding=b"new")
    github.publish(DEFAULTS, "v1", rebuilt)
    box.install("murmur/tool-git")
    assert box.lock().pins[0].any == sha256(rebuilt)
    downloads = github.downloads()
    box.install("-g", "murmur/tool-git")
    box.install("murmur/tool-git")
    # The rebuilt one was fetched into the global store once, and copied from there then.
    assert github.downloads() == downloads + 3


def test_a_github_reference_fetches_every_asset_under_the_repositorys_scope(
    box: Box, github: GitHubServer
) -> None:
    mine, other = native("fast", "1.0.0", HOST), native("fast", "1.0.0", OTHER)
    assets = [wasm("tool-a"), wasm("tool-b", "2.0.0"), wasm("tool-b", "10.0.0"), mine, other]
    github.publish("Ana/Tools", "v1.0", *assets, ("README.md", b"hello"), owner_id=9)
    box.declare()
    assert box.install("github:Ana/Tools@v1.0") == [
        "Installed ana/tool-a@1.0.0 (project store)",
        "Installed ana/tool-b@2.0.0 (project store)",
        "Installed ana/tool-b@10.0.0 (project store)",
        f"Installed ana/fast@1.0.0 (project store, {HOST})",
        f"Installed ana/fast@1.0.0 (project store, {OTHER})",
    ]
    assert box.lock() == Lock(
        (
            Pin(FullName("ana/tool-a"), "1.0.0", any=sha256(assets[0]), owner_id=9),
            Pin(FullName("ana/tool-b"), "10.0.0", any=sha256(assets[2]), owner_id=9),
            Pin(FullName("ana/fast"), "1.0.0", platforms={HOST: sha256(mine)}, owner_id=9),
        )
    )
    store = project_store(box.cwd)
    assert store.holds(FullName("ana/fast"), "1.0.0", OTHER)
    assert "v2" in box.refused("E-REG-001", "github:ana/tools@v2")
    assert "github:ana/nothing@v1" in box.refused("E-REG-001", "github:ana/nothing@v1")


def test_a_github_release_without_an_index_is_taken_by_its_file_names(
    box: Box, github: GitHubServer
) -> None:
    held = github.publish("ana/tools", "v1", wasm("tool-a"), ("b-1.0.0.mur.zip", wasm("tool-b")[1]))
    del held.releases["v1"]["artifacts-index.json"]
    box.declare()
    message = box.refused("E-REG-006", "github:ana/tools@v1")
    assert "github:ana/tools: b-1.0.0.mur.zip packs tool-b@1.0.0" in message
    del held.releases["v1"]["b-1.0.0.mur.zip"]
    held.releases["v1"]["stale-1.0.0.mur.zip"] = wasm("stale", interface=STALE)[1]
    box.refused("E-WIT-LEVEL-001", "github:ana/tools@v1")
    del held.releases["v1"]["stale-1.0.0.mur.zip"]
    assert box.install("github:ana/tools@v1") == ["Installed ana/tool-a@1.0.0 (project store)"]


def test_a_release_without_an_index_is_held_to_githubs_own_digests(
    box: Box, github: GitHubServer
) -> None:
    held = github.publish("ana/tools", "v1", wasm("tool-a"))
    del held.releases["v1"]["artifacts-index.json"]
    box.declare()

    def other(handler: Handler) -> bool:
        handler.send(200, wasm("tool-a", padding=b"x")[1])
        return True

    github.digests = True
    github.trouble("/blob/", other)
    assert "github:ana/tools recorded" in box.refused("E-REG-002", "github:ana/tools@v1")


def test_the_default_repository_by_reference_has_the_scope_murmur_and_reserved_owners_none(
    box: Box, github: GitHubServer
) -> None:
    github.publish(DEFAULTS, "v1", wasm("tool-git"))
    github.publish("local/tools", "v1", wasm("tool-git"))
    box.declare()
    assert box.install(f"github:{DEFAULTS}@v1") == [
        "Installed murmur/tool-git@1.0.0 (project store)"
    ]
    for owner in ("local", "Murmur"):
        assert "reserved" in box.refused("E-REG-006", f"github:{owner}/tools@v1")


def test_a_path_is_installed_as_local_and_asks_nobody(box: Box, github: GitHubServer) -> None:
    name, data = wasm("tool-git")
    (box.cwd / name).write_bytes(data)
    box.declare()
    assert box.install(f"./{name}") == ["Installed local/tool-git@1.0.0 (project store)"]
    assert box.lock() == Lock(
        (Pin(FullName("local/tool-git"), "1.0.0", any=hashlib.sha256(data).hexdigest()),)
    )
    assert "'local' scope" in box.refused("E-REG-001", "local/other@1.0.0")
    assert github.asked == []


def test_all_platforms_are_filed_each_under_its_own_tag_in_the_global_store(
    box: Box, github: GitHubServer
) -> None:
    github.publish("ana/tools", "v1", native("fast", "1.0.0", HOST), native("fast", "1.0.0", OTHER))
    box.serve("ana/tools")
    assert sorted(box.install("--all-platforms", "ana/fast@1.0.0")) == sorted(
        f"Installed ana/fast@1.0.0 (global store, {tag})" for tag in (HOST, OTHER)
    )
    machine = global_store(box.home / ".murmur" / "artifacts")
    for tag in (HOST, OTHER):
        assert machine.holds(FullName("ana/fast"), "1.0.0", tag)
    assert not (box.cwd / "murmur.lock").exists()


def test_a_platform_that_fails_is_a_warning_unless_every_one_does(
    box: Box, github: GitHubServer
) -> None:
    mine, other = native("fast", "1.0.0", HOST), native("fast", "1.0.0", OTHER)
    held = github.publish("ana/tools", "v1", mine, other)
    held.releases["v1"][other[0]] = b"tampered"
    box.serve("ana/tools")
    done = box.run("install", "--no-precompile", "--all-platforms", "ana/fast@1.0.0")
    assert done.returncode == 0
    assert done.stdout == f"Installed ana/fast@1.0.0 (global store, {HOST})\n"
    assert done.stderr.startswith(
        f"warning: ana/fast@1.0.0 for {OTHER} is not installed: E-REG-002"
    )
    held.releases["v1"][mine[0]] = b"tampered"
    box.refused("E-REG-002", "--all-platforms", "ana/fast@1.0.0")


def test_registry_is_refused_with_exit_status_2_and_a_hint_naming_the_order(box: Box) -> None:
    done = box.run("install", "--registry", "x")
    assert done.returncode == 2 and done.stdout == ""
    assert "global store, then the source of the artifact's scope" in done.stderr


def test_no_precompile_writes_nothing_under_the_home(box: Box, github: GitHubServer) -> None:
    github.publish(DEFAULTS, "v1", wasm("tool-git"))
    box.declare("murmur/tool-git@1.0.0")
    box.install()
    assert list(box.home.iterdir()) == []


def test_an_artifact_without_a_payload_for_this_host_is_refused(
    box: Box, github: GitHubServer
) -> None:
    github.publish("ana/tools", "v1", native("fast", "1.0.0", OTHER))
    box.serve("ana/tools")
    box.declare("ana/fast@1.0.0")
    message = box.refused("E-REG-001")
    assert f"no payload for {HOST}" in message and OTHER in message


def test_a_source_that_has_not_got_it_is_e_reg_001(box: Box, github: GitHubServer) -> None:
    github.publish(DEFAULTS, "v1", wasm("tool-git"))
    box.serve("ana/tools")
    box.declare()
    assert "not in the index of github:" in box.refused("E-REG-001", "murmur/tool-git@9.9.9")
    assert "has no release" in box.refused("E-REG-001", "ana/x@1.0.0")
    assert "'eve' scope" in box.refused("E-REG-001", "eve/x@1.0.0")
    held = github.repositories[DEFAULTS]
    del held.releases["v1"]["tool-git-1.0.0.mur.zip"]
    assert "tool-git-1.0.0.mur.zip" in box.refused("E-REG-001", "murmur/tool-git@1.0.0")


def test_bytes_other_than_the_indexed_ones_are_e_reg_002(box: Box, github: GitHubServer) -> None:
    name, data = wasm("tool-git")
    held = github.publish(DEFAULTS, "v1", (name, data))
    changed = wasm("tool-git", padding=b"x")[1]
    held.releases["v1"][name] = changed
    box.declare("murmur/tool-git@1.0.0")
    message = box.refused("E-REG-002")
    for fact in (hashlib.sha256(data).hexdigest(), hashlib.sha256(changed).hexdigest()):
        assert fact in message


def test_an_archive_that_packs_another_name_or_version_than_indexed_is_refused(
    box: Box, github: GitHubServer
) -> None:
    github.publish(DEFAULTS, "v1", wasm("tool-git"))
    held = github.repositories[DEFAULTS]
    data = wasm("tool-bad")[1]
    text = held.releases["v1"]["artifacts-index.json"].decode()
    was = hashlib.sha256(held.releases["v1"]["tool-git-1.0.0.mur.zip"]).hexdigest()
    text = text.replace(was, hashlib.sha256(data).hexdigest())
    held.releases["v1"]["artifacts-index.json"] = text.encode()
    held.releases["v1"]["tool-git-1.0.0.mur.zip"] = data
    box.declare("murmur/tool-git@1.0.0")
    assert "packs tool-bad@1.0.0" in box.refused("E-REG-006")


def test_an_index_that_is_not_schema_2_or_of_another_scope_is_e_idx_002(
    box: Box, github: GitHubServer
) -> None:
    held = github.publish(DEFAULTS, "v1", wasm("tool-git"))
    box.declare("murmur/tool-git@1.0.0")
    for text in (
        b'{"schema_version": "1", "artifacts": []}',
        b"not json",
        b'{"schema_version": "2", "scope": "ana", "artifacts": []}',
    ):
        held.releases["v1"]["artifacts-index.json"] = text
        assert "github:murmur-nexus/default-artifacts" in box.refused("E-IDX-002")


def test_the_same_version_with_other_bytes_than_pinned_is_e_reg_005(
    box: Box, github: GitHubServer
) -> None:
    github.publish(DEFAULTS, "v1", wasm("tool-git"))
    box.declare("murmur/tool-git@1.0.0")
    box.install()
    (box.cwd / ".murmur").rename(box.cwd / "aside")
    github.publish(DEFAULTS, "v1", wasm("tool-git", padding=b"rebuilt"))
    assert "murmur.lock" in box.refused("E-REG-005")
    # Another version is pinned in its place.
    github.publish(DEFAULTS, "v2", wasm("tool-git", "1.0.1"))
    box.declare("murmur/tool-git@1.0.1")
    box.install()
    assert box.lock().pins[0].resolved_version == "1.0.1"


def test_a_scope_that_changed_hands_is_e_reg_005_naming_both_owners(
    box: Box, github: GitHubServer
) -> None:
    held = github.publish("ana/tools", "v1", wasm("tool-a"), wasm("tool-b"), owner_id=42)
    box.serve("ana/tools")
    box.declare()
    box.install("ana/tool-a@1.0.0")
    held.owner_id = 666
    for reference in ("ana/tool-b@1.0.0", "ana/tool-b", "github:ana/tools@v1"):
        before = github.downloads()
        message = box.refused("E-REG-005", reference)
        assert "42" in message and "666" in message
        assert github.downloads() <= before + 1  # the index at most


def test_an_old_copy_in_the_global_store_keeps_its_owner(box: Box, github: GitHubServer) -> None:
    held = github.publish("ana/tools", "v1", wasm("tool-a"), wasm("tool-b"), owner_id=42)
    box.serve("ana/tools")
    box.declare("ana/tool-a@1.0.0", "ana/tool-b@1.0.0")
    box.install("-g", "ana/tool-a@1.0.0")
    held.owner_id = 666
    message = box.refused("E-REG-005")
    assert "42" in message and "666" in message


def test_an_entry_that_a_session_pulled_is_adopted_in_one_line(
    box: Box, github: GitHubServer
) -> None:
    from murmur.store.lock import write_lock

    asset = wasm("some-tool", "1.2.3")
    github.publish("ana/tools", "v1", asset)
    box.serve("ana/tools")
    box.declare()
    pin = Pin(
        FullName("ana/some-tool"), "1.2.3", any=sha256(asset), origin="runtime", session="ses_01"
    )
    write_lock(box.cwd / "murmur.lock", Lock((pin,)))
    assert box.install("ana/some-tool@1.2.3") == [
        "Installed ana/some-tool@1.2.3 (project store)",
        "Adopted ana/some-tool@1.2.3 as operator-declared "
        "(it was pulled at runtime by session ses_01)",
    ]


def test_a_lock_that_cannot_be_read_is_refused_before_a_source_is_asked(
    box: Box, github: GitHubServer
) -> None:
    github.publish(DEFAULTS, "v1", wasm("tool-git"))
    box.declare("murmur/tool-git@1.0.0")
    (box.cwd / "murmur.lock").write_text("lock_version: 2\n")
    box.refused("E-RUN-003")
    assert github.asked == []


def test_a_source_entry_is_neither_fetched_nor_pinned(box: Box, github: GitHubServer) -> None:
    github.publish(DEFAULTS, "v1", wasm("tool-git"))
    box.declare("murmur/tool-git@1.0.0")
    with (box.cwd / "murmur.yaml").open("a") as manifest:
        manifest.write(
            "  - {name: local/mine, version: 0.1.0, source: ./mine, local_source: true}\n"
        )
    assert box.install() == ["Installed murmur/tool-git@1.0.0 (project store)"]
    assert len(box.lock().pins) == 1


def test_of_two_sources_of_one_scope_the_first_is_asked_and_the_other_is_named(
    box: Box, github: GitHubServer
) -> None:
    github.publish("ana/first", "v1", wasm("tool-a"))
    github.publish("ana/second", "v1", wasm("tool-b"))
    box.serve("ana/first", "ana/second")
    box.declare()
    done = box.run("install", "--no-precompile", "ana/tool-a@1.0.0")
    assert (done.returncode, done.stdout) == (0, "Installed ana/tool-a@1.0.0 (project store)\n")
    assert done.stderr == (
        "warning: the source ana/second is never asked: ana/first serves its scope\n"
    )


def test_a_source_of_an_owner_with_a_reserved_scope_is_a_config_error(box: Box) -> None:
    box.declare()
    for owner in ("murmur", "Local"):
        box.serve(f"{owner}/tools")
        assert "registry.sources[0].repo" in box.refused("E-IO-003", "ana/x@1.0.0")


def test_a_projects_config_adds_sources_and_replaces_them_by_name(
    box: Box, github: GitHubServer
) -> None:
    github.publish("ana/mine", "v1", wasm("tool-a"))
    github.publish("bo/tools", "v1", wasm("tool-b"))
    box.serve("ana/other", "bo/tools")
    folder = box.cwd / ".murmur"
    folder.mkdir()
    (folder / "config.yaml").write_text(
        "registry: {sources: [{name: s0, type: github, repo: ana/mine}]}\n"
    )
    box.declare("ana/tool-a@1.0.0", "bo/tool-b@1.0.0")
    assert len(box.install()) == 2
    assert not any("/ana/other" in path for path in github.paths("api"))


def test_the_default_repository_may_be_listed_to_give_it_a_token(
    box: Box, github: GitHubServer
) -> None:
    github.publish(DEFAULTS, "v1", wasm("tool-git")).token = "t0ken"
    box.declare("murmur/tool-git@1.0.0")
    box.refused("E-REG-001")
    box.serve(DEFAULTS, token="${SECRET}")
    box.environment["SECRET"] = "t0ken"
    box.install()


def test_g_without_a_reference_installs_the_manifests_artifacts_for_the_machine(
    box: Box, github: GitHubServer
) -> None:
    github.publish(DEFAULTS, "v1", wasm("tool-a"), skill("skill-b"))
    box.declare("murmur/tool-a@1.0.0", "murmur/skill-b@1.0.0")
    assert box.install("-g") == [
        "Installed murmur/tool-a@1.0.0 (global store)",
        "Installed murmur/skill-b@1.0.0 (global store)",
    ]
    assert sorted(path.name for path in box.cwd.iterdir()) == ["murmur.yaml"]
    asked = len(github.asked)
    assert box.install()[0] == "Installed murmur/tool-a@1.0.0 (project store)"
    assert len(github.asked) == asked
    assert {pin.owner_id for pin in box.lock().pins} == {42}
