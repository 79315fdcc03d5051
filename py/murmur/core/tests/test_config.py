"""Two files, one effective configuration: spec/registry.md 21."""

import os
from pathlib import Path

import pytest

from murmur.core.config import Config, HostPath, Source, merge, read_config, read_file
from murmur.core.diagnostics import MurmurError
from murmur.core.home import Home

GLOBAL = """
registry:
  sources:
    - {name: a, type: github, repo: ana/tools, token: ghp_x}
    - {name: b, type: github, repo: bo/x}
  index_url: https://one.example/index.json
  default: ignored
inference: {provider: anthropic, model: m1, api_key: sk-mine}
credentials: {KEY: secret}
containment: scoped
spend: {machine_tokens_per_day: 1000}
beta: {enabled: [one, two]}
sandbox: {cgroup: optional}
host_paths: [{path: /data, access: read-write}, {path: /usr/share/x}]
something_newer: {kept: true}
"""
PROJECT = """
registry:
  sources: [{name: b, repo: bo/y}, {name: c, repo: cy/z}]
inference: {model: m2, endpoint: https://two.example}
containment: sealed
spend: {machine_tokens_per_day: 500}
beta: {enabled: [two, three]}
sandbox: {cgroup: optional}
host_paths: [{path: /etc}]
"""


@pytest.fixture
def places(tmp_path: Path) -> tuple[Home, Path]:
    home, project = tmp_path / "home" / ".murmur", tmp_path / "project"
    home.mkdir(parents=True)
    (project / ".murmur").mkdir(parents=True)
    return Home(home), project


def write(places: tuple[Home, Path], mine: str | None, project: str | None) -> None:
    if mine is not None:
        places[0].config.write_text(mine)
    if project is not None:
        (places[1] / ".murmur" / "config.yaml").write_text(project)


def test_without_files_everything_has_its_default(places: tuple[Home, Path]) -> None:
    assert read_config(*places) == Config()


def test_sources_join_by_name_and_a_projects_entry_replaces_in_place(
    places: tuple[Home, Path],
) -> None:
    write(places, GLOBAL, PROJECT)
    assert read_config(*places).sources == (
        Source("a", "ana/tools", "ghp_x"),
        Source("b", "bo/y"),
        Source("c", "cy/z"),
    )


def test_a_projects_text_wins_unless_it_is_empty(places: tuple[Home, Path]) -> None:
    write(places, GLOBAL, PROJECT + "\n")
    found = read_config(*places)
    assert (found.provider, found.model, found.endpoint) == (
        "anthropic",
        "m2",
        "https://two.example",
    )
    write(places, None, "inference: {model: ''}\nregistry: {index_url: }\n")
    found = read_config(*places)
    assert (found.model, found.index_url) == ("m1", "https://one.example/index.json")


@pytest.mark.parametrize(
    ("mine", "project", "expected"),
    [
        ("scoped", "advisory", "scoped"),
        ("scoped", "sealed", "sealed"),
        (None, "scoped", "scoped"),
        ("advisory", None, "advisory"),
        (None, None, None),
    ],
)
def test_the_strongest_containment_wins(
    mine: str | None, project: str | None, expected: str | None
) -> None:
    merged = merge(Config(containment=mine), Config(containment=project))
    assert merged.containment == expected


@pytest.mark.parametrize(
    ("mine", "project", "expected"),
    [(1000, 500, 500), (500, 1000, 500), (None, 7, 7), (7, None, 7), (None, None, None)],
)
def test_the_lowest_daily_ceiling_wins(
    mine: int | None, project: int | None, expected: int | None
) -> None:
    merged = merge(Config(machine_tokens_per_day=mine), Config(machine_tokens_per_day=project))
    assert merged.machine_tokens_per_day == expected


def test_beta_features_join_the_global_ones_first(places: tuple[Home, Path]) -> None:
    write(places, GLOBAL, PROJECT)
    assert read_config(*places).beta == ("one", "two", "three")


def test_no_project_file_reaches_the_sandbox_or_the_host_paths(places: tuple[Home, Path]) -> None:
    write(places, None, PROJECT)
    found = read_config(*places)
    assert found.cgroup_optional is False
    assert found.host_paths == ()
    write(places, GLOBAL, PROJECT)
    found = read_config(*places)
    assert found.cgroup_optional is True
    assert found.host_paths == (HostPath("/data", "read-write"), HostPath("/usr/share/x"))


def test_keys_and_credentials_are_the_operators_and_a_projects_are_warned_about(
    places: tuple[Home, Path],
) -> None:
    write(places, GLOBAL, "inference: {api_key: sk-theirs}\ncredentials: {KEY: theirs}\n")
    found = read_config(*places)
    assert found.api_key == "sk-mine"
    assert len(found.warnings) == 2
    assert all(line.startswith("warning: ./.murmur/config.yaml") for line in found.warnings)
    assert "theirs" not in "".join(found.warnings) + repr(found)
    assert "sk-mine" not in repr(found) and "ghp_x" not in repr(found)


def test_a_reference_in_a_projects_api_key_is_not_warned_about(places: tuple[Home, Path]) -> None:
    write(places, None, "inference: {api_key: '${MY_KEY}'}\n")
    found = read_config(*places)
    assert (found.api_key, found.warnings) == ("", ())


def test_in_the_home_directory_itself_the_one_file_is_the_global_one(
    places: tuple[Home, Path],
) -> None:
    write(places, GLOBAL, None)
    found = read_config(places[0], places[0].root.parent)
    assert found.cgroup_optional is True
    assert found.warnings == ()


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("containment: hermetic", "containment"),
        ("containment: [sealed]", "containment"),
        ("spend: {machine_tokens_per_day: 0}", "spend.machine_tokens_per_day"),
        ("spend: {machine_tokens_per_day: -1}", "spend.machine_tokens_per_day"),
        ("spend: {machine_tokens_per_day: true}", "spend.machine_tokens_per_day"),
        ("spend: {machine_tokens_per_day: '9'}", "spend.machine_tokens_per_day"),
        ("spend: 3", "spend"),
        ("sandbox: {cgroup: off}", "sandbox.cgroup"),
        ("sandbox: {cgroup: maybe}", "sandbox.cgroup"),
        ("sandbox: optional", "sandbox"),
        ("inference: {model: 4}", "inference.model"),
        ("inference: {api_key: 12345678}", "inference.api_key"),
        ("registry: {index_url: [a]}", "registry.index_url"),
        ("registry: {sources: {name: a}}", "registry.sources"),
        ("registry: {sources: [a/b]}", "registry.sources[0]"),
        ("registry: {sources: [{repo: a/b}]}", "registry.sources[0].name"),
        ("registry: {sources: [{name: a, repo: ab}]}", "registry.sources[0].repo"),
        ("registry: {sources: [{name: a, repo: a/b, type: gitlab}]}", "registry.sources[0].type"),
        ("registry: {sources: [{name: a, repo: a/b, token: 1}]}", "registry.sources[0].token"),
        ("beta: {enabled: one}", "beta.enabled"),
        ("beta: {enabled: [1]}", "beta.enabled"),
        ("host_paths: [{path: data}]", "host_paths[0].path"),
        ("host_paths: [{path: /a, access: write}]", "host_paths[0].access"),
        ("host_paths: [/a]", "host_paths[0]"),
        ("- a", "not a mapping"),
        ("a: [", "not valid YAML"),
    ],
)
def test_a_value_of_the_wrong_kind_is_refused_by_its_field_and_never_quoted(
    places: tuple[Home, Path], text: str, field: str
) -> None:
    write(places, text + "\n", None)
    with pytest.raises(MurmurError) as refusal:
        read_config(*places)
    assert refusal.value.code == "E-IO-003"
    assert refusal.value.message.startswith(str(places[0].config))
    assert field in refusal.value.message
    assert "12345678" not in refusal.value.message


def test_a_pipe_in_the_files_place_is_refused_without_waiting(places: tuple[Home, Path]) -> None:
    os.mkfifo(places[1] / ".murmur" / "config.yaml")
    with pytest.raises(MurmurError, match="no regular file"):
        read_config(*places)


def test_a_file_that_is_too_large_or_not_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("#" * ((1 << 20) + 1))
    with pytest.raises(MurmurError, match="larger than"):
        read_file(path)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(MurmurError, match="not UTF-8"):
        read_file(path)
    path.unlink()
    path.mkdir()
    with pytest.raises(MurmurError):
        read_file(path)
