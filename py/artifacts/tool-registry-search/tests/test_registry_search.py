"""tool-registry-search: what an index holds, from a file or a URL (spec 16.3)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from murmur_guest.exchange import NoAnswer
from murmur_guest.provider import Response
from registry_search.fetching import DEFAULT
from registry_search.searching import search

from murmur.store.index import SIZE_LIMIT


def version(number: str, **more: object) -> dict[str, object]:
    files = [{"name": f"x-{number}.mur.zip", "sha256": "0" * 64}]
    return {"version": number, "release": "v1", "files": files, **more}


INDEX = {
    "schema_version": "2",
    "scope": "acme",
    "artifacts": [
        {
            "name": "tool-wiki",
            "runtime": "tool",
            "description": "Reads Wikipedia.",
            "tags": ["encyclopedia"],
            "versions": [
                version("1.9.0"),
                version(
                    "1.10.0",
                    built_at_level=3,
                    interfaces={"exports": ["murmur:tool/run@0.2.0"], "imports": []},
                ),
            ],
        },
        {"name": "driver-x", "runtime": "driver", "versions": [version("0.1.0")]},
    ],
}


class Web:
    """URLs and what each answers: (status, body or location)."""

    def __init__(self, **answers: tuple[int, str]) -> None:
        self.answers = answers
        self.asked: list[str] = []

    def __call__(self, url: str, headers: Mapping[str, str]) -> Response:
        self.asked.append(url)
        if url not in self.answers:
            raise NoAnswer("http request denied")
        status, text = self.answers[url]
        moved = 300 <= status < 400
        body = iter((b"",)) if moved else iter((text.encode(),))
        return Response(status, body, {"location": text} if moved else {})


def call(folder: Path, web: Web | None = None, **members: object) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(search(json.dumps(members), folder, web or Web()).data)
    return data


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "artifacts-index.json").write_text(json.dumps(INDEX))
    return tmp_path


def test_an_artifact_is_shown_at_its_newest_version(folder: Path) -> None:
    data = call(folder, query="WIKI", index="artifacts-index.json")

    assert data["results"] == [
        {
            "name": "acme/tool-wiki",
            "version": "1.10.0",
            "runtime": "tool",
            "description": "Reads Wikipedia.",
            "tags": ["encyclopedia"],
            "platforms": [],
            "interfaces": ["murmur:tool/run@0.2.0"],
            "built_at_level": 3,
            "older_versions": ["1.9.0"],
        }
    ]
    assert data["matches"] == 1


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("", ["acme/driver-x", "acme/tool-wiki"]),
        ("encyclo", ["acme/tool-wiki"]),
        ("acme/driver", ["acme/driver-x"]),
        ("nothing", []),
    ],
)
def test_names_descriptions_and_tags_are_searched(
    folder: Path, query: str, names: list[str]
) -> None:
    data = call(folder, query=query, registry="./artifacts-index.json")

    assert [each["name"] for each in data["results"]] == names


def test_a_limit_bounds_the_results(folder: Path) -> None:
    given = {"query": "", "index": "artifacts-index.json", "limit": 1}
    outcome = search(json.dumps(given), folder, Web())

    data = json.loads(outcome.data)
    assert (len(data["results"]), data["matches"], outcome.truncated) == (1, 2, True)
    assert outcome.metadata[1] == ("resource_id", "index:artifacts-index.json")


def test_without_an_index_murmurs_own_is_read_through_its_redirects(tmp_path: Path) -> None:
    web = Web(
        **{
            DEFAULT: (302, "/elsewhere"),
            "https://github.com/elsewhere": (302, "https://assets.example/x?token=1"),
            "https://assets.example/x?token=1": (200, json.dumps(INDEX)),
        }
    )

    assert call(tmp_path, web, query="wiki")["matches"] == 1
    assert web.asked == list(web.answers)


@pytest.mark.parametrize(
    ("answer", "kind", "says"),
    [
        (None, "unreachable", "is https://h in capabilities.network.allow?"),
        ((404, ""), "http_error", "HTTP 404"),
        ((302, "http://h/x"), "http_error", "redirects to http://h/x"),
        ((302, ""), "http_error", "redirects"),
        ((302, "ftp://h/x"), "invalid_input", "https://host/"),
        ((200, "{}"), "bad_index", "schema_version"),
        ((200, '{"schema_version": "1"}'), "bad_index", "schema_version is 1"),
        ((200, "not json"), "bad_index", "not JSON"),
        ((200, " " * (SIZE_LIMIT + 1)), "bad_index", "larger than"),
    ],
)
def test_what_a_url_cannot_give_is_told(
    tmp_path: Path, answer: tuple[int, str] | None, kind: str, says: str
) -> None:
    web = Web() if answer is None else Web(**{"https://h/i": answer})

    data = call(tmp_path, web, query="", index="https://h/i")

    assert (data["ok"], data["error_kind"]) == (False, kind), data
    assert says in data["message"]


def test_redirects_end(tmp_path: Path) -> None:
    web = Web(**{f"https://h/{n}": (302, f"https://h/{n + 1}") for n in range(20)})

    assert "more than 5 redirects" in call(tmp_path, web, query="", index="https://h/0")["message"]


@pytest.mark.parametrize(
    ("members", "kind"),
    [
        ({}, "invalid_input"),
        ({"query": 1}, "invalid_input"),
        ({"query": "", "limit": 101}, "invalid_input"),
        ({"query": "", "index": "a", "registry": "b"}, "invalid_input"),
        ({"query": "", "index": "local"}, "invalid_input"),
        ({"query": "", "registry": "local"}, "invalid_input"),
        ({"query": "", "index": "ftp://h/x"}, "invalid_input"),
        ({"query": "", "index": "https://u:p@h/x"}, "invalid_input"),
        ({"query": "", "index": "https://"}, "invalid_input"),
        ({"query": "", "index": "none.json"}, "not_found"),
        ({"query": "", "index": "."}, "is_directory"),
        ({"query": "", "index": "/etc/passwd"}, "absolute_path"),
        ({"query": "", "index": "../x"}, "outside_workdir"),
    ],
)
def test_input_that_makes_no_sense_is_refused(
    folder: Path, members: dict[str, object], kind: str
) -> None:
    web = Web()
    data = call(folder, web, **members)

    assert (data["ok"], data["error_kind"], web.asked) == (False, kind, [])
