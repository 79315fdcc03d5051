"""`mur list` and `mur search` as programs. CLI reference, both chapters, row by row."""

import json
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import takewhile
from pathlib import Path

import pytest

from murmur.cli.tests.box import Box
from murmur.store.component import Contracts
from murmur.store.index import Index, IndexArtifact, IndexFile, IndexVersion, render_index
from murmur.store.names import FullName
from murmur.store.payload import open_payload
from murmur.store.platforms import host_platform
from murmur.store.stores import Store, global_store, project_store
from murmur.store.tests.components import native_zip, wasm_zip

HOST = host_platform()
OTHER = "darwin-x86_64" if HOST != "darwin-x86_64" else "linux-x86_64"
SHA256 = "0" * 64


class Machine(Box):
    """A box with both stores at hand, and a project when asked for."""

    @property
    def machine(self) -> Store:
        return global_store(self.home / ".murmur" / "artifacts")

    def project(self) -> Store:
        (self.cwd / "murmur.yaml").write_text("name: c\nversion: 0.1.0\nruntime: capsule\n")
        return project_store(self.cwd)


@pytest.fixture
def box(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def put(store: Store, name: str, data: bytes, tag: str | None = None) -> Path:
    return store.put(FullName(name), open_payload(data, name, {}), tag).path


def driver(version: str = "0.19.0") -> bytes:
    return wasm_zip(
        "driver-anthropic",
        version,
        exports=(),
        imports=("murmur:tool-registry/invoke@0.2.0", "wasi:http/types@0.2.0"),
        runtime="driver",
    )


# --- mur list ------------------------------------------------------------------------------


def test_list_in_a_project_shows_the_project_store_as_in_the_reference(box: Machine) -> None:
    project = box.project()
    put(project, "murmur/driver-anthropic", driver())
    put(project, "murmur/tool-git", native_zip("tool-git", "0.6.0"), "darwin-aarch64")
    put(box.machine, "ana/elsewhere", wasm_zip("elsewhere"))
    assert box.ok("list") == [
        "NAME                     VERSION  RUNTIME  PLATFORMS",
        "murmur/driver-anthropic  0.19.0   driver   —",
        "murmur/tool-git          0.6.0    tool     darwin-aarch64",
    ]
    (box.cwd / "deeper").mkdir()
    box.cwd = box.cwd / "deeper"
    assert len(box.ok("list")) == 3


def test_g_and_every_folder_outside_a_project_show_the_global_store(box: Machine) -> None:
    put(box.machine, "ana/x", wasm_zip("x"))
    expected = ["NAME   VERSION  RUNTIME  PLATFORMS", "ana/x  0.1.0    tool     —"]
    assert box.ok("list") == expected
    put(box.project(), "ana/y", wasm_zip("y"))
    assert box.ok("list", "-g") == expected


def test_all_leads_with_the_store_and_is_sorted_by_name(box: Machine) -> None:
    put(box.project(), "murmur/driver-anthropic", driver())
    put(box.machine, "murmur/tool-git", native_zip("tool-git", "0.6.0"), "darwin-aarch64")
    put(box.machine, "murmur/driver-anthropic", driver())
    assert box.ok("list", "--all") == [
        "STORE    NAME                     VERSION  RUNTIME  PLATFORMS",
        "project  murmur/driver-anthropic  0.19.0   driver   —",
        "global   murmur/driver-anthropic  0.19.0   driver   —",
        "global   murmur/tool-git          0.6.0    tool     darwin-aarch64",
    ]


def test_contract_keeps_what_imports_or_exports_an_interface_of_that_prefix(box: Machine) -> None:
    put(box.machine, "murmur/driver-anthropic", driver())
    put(box.machine, "murmur/tool-git", wasm_zip("tool-git", "0.6.0"))
    put(box.machine, "murmur/skill", wasm_zip("skill", exports=()))
    assert box.ok("list", "-g", "--contract", "murmur:tool") == [
        "NAME                     VERSION  RUNTIME  PLATFORMS  CONTRACTS",
        "murmur/driver-anthropic  0.19.0   driver   —          murmur:tool-registry/invoke@0.2.0",
        "murmur/tool-git          0.6.0    tool     —          murmur:tool/run@0.2.0",
    ]
    assert len(box.ok("list", "--all", "--contract", "murmur:tool/")) == 2
    assert box.ok("list", "-g", "--contract", "murmur:hook") == ["No artifacts installed."]


def test_an_empty_store_prints_one_line_and_makes_nothing(box: Machine) -> None:
    for flags in ((), ("-g",), ("--all",)):
        assert box.ok("list", *flags) == ["No artifacts installed."]
    assert list(box.home.iterdir()) == []


def test_versions_of_one_name_are_in_order_and_platforms_share_a_row(box: Machine) -> None:
    for version in ("0.10.0", "0.9.0", "0.10.0-rc.1", "odd"):
        put(box.machine, "ana/x", wasm_zip("x", version))
    for tag in ("linux-x86_64", "darwin-aarch64"):
        put(box.machine, "ana/n", native_zip("n"), tag)
    rows = [line.split(maxsplit=3) for line in box.ok("list")[1:]]
    assert [(row[0], row[1]) for row in rows] == [
        ("ana/n", "0.1.0"),
        ("ana/x", "odd"),
        ("ana/x", "0.9.0"),
        ("ana/x", "0.10.0-rc.1"),
        ("ana/x", "0.10.0"),
    ]
    assert rows[0][3] == "darwin-aarch64, linux-x86_64"


def test_what_lost_its_record_is_listed_by_what_it_holds(box: Machine) -> None:
    path = put(box.machine, "ana/x", wasm_zip("x"))
    path.with_name("x-0.1.0.meta.json").unlink()
    assert box.ok("list", "--contract", "murmur:tool/run")[1:] == [
        "ana/x  0.1.0    tool     —          murmur:tool/run@0.2.0"
    ]
    path.write_bytes(b"broken")
    assert box.ok("list")[1:] == ["ana/x  0.1.0    —        —"]
    path.with_name("x-0.1.0.sha256").unlink()
    assert box.ok("list") == ["No artifacts installed."]


def test_what_is_no_artifact_in_a_store_is_not_listed(box: Machine) -> None:
    put(box.machine, "ana/x", wasm_zip("x"))
    root = box.machine.root
    (root / "stray").write_text("x")
    (root / "old-name" / "1.0.0").mkdir(parents=True)
    (root / "old-name" / "1.0.0" / "old-name-1.0.0.mur.zip").write_bytes(b"x")
    (root / "ana" / "Bad_Name" / "1.0.0").mkdir(parents=True)
    (root / "ana" / "x" / ".0.2.0.00.tmp").mkdir()
    assert len(box.ok("list")) == 2


def test_list_refuses_what_it_does_not_know(box: Machine) -> None:
    box.usage("list", "--registry")
    box.usage("list", "extra")
    box.environment["HOME"] = "relative"
    box.refused("E-IO-004", "list", "-g")


# --- mur search ----------------------------------------------------------------------------

TOOL_EXPORTS = Contracts(("murmur:tool/run@0.2.0",), ())


def version(
    number: str, contracts: Contracts = TOOL_EXPORTS, platforms: tuple[str | None, ...] = (None,)
) -> IndexVersion:
    return IndexVersion(
        number,
        "v1",
        tuple(IndexFile(f"x-{number}-{tag}.mur.zip", SHA256, tag) for tag in platforms),
        contracts,
    )


def tool_interfaces(*names: str) -> Contracts:
    return Contracts(names, ())


INDEX = Index(
    "murmur",
    (
        IndexArtifact(
            "tool-git",
            "tool",
            (version("0.3.0", platforms=(OTHER,)), version("0.2.0", platforms=(OTHER, HOST))),
            "Structured git interface.",
            ("tool", "vcs"),
        ),
        IndexArtifact(
            "tool-editor",
            "tool",
            (version("0.8.0", tool_interfaces("murmur:tool/run@0.3.0")), version("0.7.0")),
            "Read, write and patch files in the workdir.",
        ),
        IndexArtifact(
            "hook-old",
            "hook",
            (version("1.0.0", tool_interfaces("murmur:hook/lifecycle@0.8.0")),),
        ),
        IndexArtifact("driver-plain", "driver", (version("1.0.0"),), "Talks."),
    ),
)
TABLE = [
    "NAME                VERSION  RUNTIME  DESCRIPTION",
    "murmur/hook-old     —        hook     —",
    "murmur/tool-editor  0.7.0    tool     Read, write and patch files in the workdir.",
    "murmur/tool-git     0.2.0    tool     Structured git interface.",
    "",
    "murmur/hook-old: 1.0.0 needs murmur:hook/lifecycle@0.8.0, this mur serves murmur:hook@0.9.0",
    "murmur/tool-editor: 0.8.0 needs murmur:tool/run@0.3.0, this mur serves murmur:tool@0.2.0",
    f"murmur/tool-git: 0.3.0 has no payload for {HOST}",
]


def write_index(box: Machine, index: Index = INDEX, name: str = "artifacts-index.json") -> None:
    (box.cwd / name).write_bytes(render_index(index))


def found(lines: list[str]) -> list[str]:
    """The names in a table."""
    return [line.split()[0] for line in takewhile(bool, lines[1:])]


def test_search_prints_the_reference_table_and_a_line_for_each_newest_that_does_not_fit(
    box: Machine,
) -> None:
    write_index(box, Index("murmur", INDEX.artifacts[:3]))
    assert box.ok("search", "", "--index", "./artifacts-index.json") == TABLE
    assert box.ok("search", "", "--index", "artifacts-index.json") == TABLE
    assert box.ok("search", "", "--index", str(box.cwd / "artifacts-index.json")) == TABLE


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("GIT", ["murmur/tool-git"]),
        ("murmur/tool-", ["murmur/tool-editor", "murmur/tool-git"]),
        ("patch FILES", ["murmur/tool-editor"]),
        ("vcs", ["murmur/tool-git"]),
        ("", ["murmur/driver-plain", "murmur/hook-old", "murmur/tool-editor", "murmur/tool-git"]),
    ],
)
def test_a_keyword_is_looked_for_in_full_name_description_and_tags(
    box: Machine, query: str, names: list[str]
) -> None:
    write_index(box)
    assert found(box.ok("search", query, "--index", "artifacts-index.json")) == names


def test_no_match_says_so_and_exits_0(box: Machine) -> None:
    write_index(box)
    line = ["No results found."]
    assert box.ok("search", "nothing-like-it", "--index", "artifacts-index.json") == line


def test_limit_cuts_the_rows_and_is_10_by_default(box: Machine) -> None:
    many = tuple(IndexArtifact(f"tool-{n:02}", "tool", (version("1.0.0"),)) for n in range(14))
    write_index(box, Index("murmur", many))
    index = ("--index", "artifacts-index.json")
    assert found(box.ok("search", "tool", *index)) == [f"murmur/tool-{n:02}" for n in range(10)]
    assert len(box.ok("search", "tool", "--limit", "3", *index)) == 4
    box.usage("search", "tool", "--limit", "0", *index)


def test_more_interfaces_and_packages_that_are_not_served_are_told(box: Machine) -> None:
    odd = tool_interfaces("murmur:gone/x@1.0.0", "murmur:tool/run@0.9.0")
    write_index(box, Index("ana", (IndexArtifact("odd", "tool", (version("2.0.0", odd),)),)))
    assert box.ok("search", "odd", "--index", "artifacts-index.json")[-1] == (
        "ana/odd: 2.0.0 needs murmur:gone/x@1.0.0, "
        "this mur serves no version of murmur:gone (+1 more)"
    )


def test_local_lists_the_global_store_under_full_names(box: Machine) -> None:
    put(box.machine, "murmur/tool-editor", wasm_zip("tool-editor", "0.7.0", description="Edits."))
    new = put(
        box.machine,
        "murmur/tool-editor",
        wasm_zip("tool-editor", "0.8.0", exports=("murmur:tool/run@0.3.0",), description="Edits."),
    )
    new.with_name("tool-editor-0.8.0.meta.json").unlink()
    put(box.machine, "ana/editor", native_zip("editor"), OTHER)
    assert box.ok("search", "editor", "--index", "local") == [
        "NAME                VERSION  RUNTIME  DESCRIPTION",
        "ana/editor          —        tool     —",
        "murmur/tool-editor  0.7.0    tool     Edits.",
        "",
        f"ana/editor: 0.1.0 has no payload for {HOST}",
        "murmur/tool-editor: 0.8.0 needs murmur:tool/run@0.3.0, this mur serves murmur:tool@0.2.0",
    ]
    write_index(box, name="local")
    assert len(box.ok("search", "", "--index", "local")) == 6


def test_registry_is_refused_with_exit_status_2_and_a_hint_naming_index(box: Machine) -> None:
    assert "--index" in box.usage("search", "x", "--registry", "y")
    assert "QUERY" in box.usage("search")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"not json", "not JSON"),
        (b"[]", "not a JSON object"),
        (b'{"schema_version": "1", "artifacts": []}', "schema_version is 1"),
        (b'{"schema_version": "3", "scope": "a", "artifacts": []}', "schema_version is 3"),
        (b'{"schema_version": "2", "artifacts": []}', "scope"),
        (b'{"schema_version": "2", "scope": "a", "artifacts": {}}', "artifacts"),
    ],
)
def test_what_is_no_index_of_schema_2_is_e_idx_002_naming_the_path(
    box: Machine, content: bytes, reason: str
) -> None:
    (box.cwd / "old.json").write_bytes(content)
    refusal = box.refused("E-IDX-002", "search", "x", "--index", "old.json")
    assert "old.json" in refusal and reason in refusal


def test_a_missing_or_unreadable_file_is_e_io_003_naming_it(box: Machine) -> None:
    assert "gone.json" in box.refused("E-IO-003", "search", "x", "--index", "gone.json")
    (box.cwd / "folder").mkdir()
    assert "folder" in box.refused("E-IO-003", "search", "x", "--index", "folder")


def test_what_an_index_says_cannot_steer_the_terminal(box: Machine) -> None:
    evil = IndexArtifact("evil", "tool", (version("1.0.0"),), "a\x1b[2Jb\nc")
    write_index(box, Index("ana", (evil,)))
    assert box.ok("search", "evil", "--index", "artifacts-index.json")[1].endswith("a\\x1b[2Jb c")


class _Answers(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path == "/moved":
            self.send_response(302)
            self.send_header("Location", "/index")
            self.end_headers()
            return
        status = {"/index": 200, "/broken": 500, "/schema1": 200}.get(self.path, 404)
        body = render_index(INDEX) if self.path == "/index" else b'{"schema_version": "1"}'
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Answers) as listening:
        thread = threading.Thread(target=listening.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.server_port}"
        finally:
            listening.shutdown()
            thread.join()


def test_a_url_is_fetched_and_redirects_are_followed(box: Machine, server: str) -> None:
    for path in ("/index", "/moved"):
        lines = box.ok("search", "editor", "--index", server + path)
        assert found(lines) == ["murmur/tool-editor"]


def test_the_default_index_is_registry_index_url_of_the_project_else_of_the_operator(
    box: Machine, server: str
) -> None:
    for folder in (box.home, box.cwd):
        (folder / ".murmur").mkdir()
    config = box.home / ".murmur" / "config.yaml"
    config.write_text(f"registry:\n  index_url: {server}/index\n")
    assert found(box.ok("search", "git")) == ["murmur/tool-git"]
    write_index(box, Index("ana", ()), "empty.json")
    (box.cwd / ".murmur" / "config.yaml").write_text("registry:\n  index_url: ./empty.json\n")
    assert box.ok("search", "git") == ["No results found."]


def test_an_answer_that_is_none_is_e_io_003_and_a_schema_1_index_e_idx_002_naming_the_url(
    box: Machine, server: str
) -> None:
    for path, code in (("/gone", "E-IO-003"), ("/broken", "E-IO-003"), ("/schema1", "E-IDX-002")):
        assert server + path in box.refused(code, "search", "x", "--index", server + path)
    url = "http://127.0.0.1:9/index.json"
    assert url in box.refused("E-IO-003", "search", "x", "--index", url)


def test_searching_and_listing_write_nothing(box: Machine) -> None:
    put(box.machine, "ana/x", wasm_zip("x"))
    before = {path: os.stat(path).st_mtime_ns for path in box.home.rglob("*")}
    box.ok("search", "x", "--index", "local")
    box.ok("list", "--all")
    assert {path: os.stat(path).st_mtime_ns for path in box.home.rglob("*")} == before
    assert json.loads(box.run("version", "--json").stdout)["commands"].get("list") is None
