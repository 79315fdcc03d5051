"""`mur index` as a program. CLI reference, the chapter's rows one by one; spec/registry.md 14."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from murmur.cli.tests.box import Box
from murmur.store.archive import Entry, archive_bytes, build_record
from murmur.store.tests.components import CORE_MODULE, component, manifest, native_zip, wasm_zip

REPO = ("--repo", "ana/my-artifacts", "--release", "v1.1.0")
RUN = ("murmur:tool/run@0.2.0",)


class Release(Box):
    """A box with a folder of assets."""

    @property
    def folder(self) -> Path:
        path = self.cwd / "release"
        path.mkdir(exist_ok=True)
        return path

    def put(self, name: str, data: bytes) -> str:
        (self.folder / name).write_bytes(data)
        return hashlib.sha256(data).hexdigest()

    def index(self, *more: str) -> dict[str, Any]:
        self.ok("index", "release", *REPO, *more)
        return self.read()

    def read(self, name: str = "artifacts-index.json") -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.cwd / name).read_text())
        return found


@pytest.fixture
def box(tmp_path: Path) -> Release:
    return Release(tmp_path)


def leveled(level: int, name: str = "my-tool", version: str = "0.1.0") -> bytes:
    return archive_bytes(
        [
            Entry("murmur.yaml", manifest(name, version)),
            Entry("capsule.wasm", component(RUN)),
            build_record(level),
        ]
    )


def test_every_archive_directly_in_the_folder_is_indexed_and_nothing_else(box: Release) -> None:
    sha256 = box.put(
        "my-tool-0.1.0.mur.zip",
        wasm_zip(imports=("murmur:shell/execute@0.1.0", "wasi:io/poll@0.2.0"), description="Does."),
    )
    native = box.put("my-native-0.2.0-linux-x86_64.mur.zip", native_zip(version="0.2.0"))
    other = box.put(
        "my-native-0.2.0-darwin-aarch64.mur.zip", native_zip(version="0.2.0", binary=b"other")
    )
    box.put("notes.txt", b"x")
    (box.folder / "folder.mur.zip").mkdir()
    (box.folder / "deeper").mkdir()
    (box.folder / "deeper" / "x-1.0.0.mur.zip").write_bytes(b"x")
    assert box.ok("index", "release", *REPO) == [
        "Indexed 2 artifacts (2 versions) for scope ana into artifacts-index.json"
    ]
    index = box.read()
    assert index.pop("updated_at").endswith("Z")
    assert index == {
        "schema_version": "2",
        "scope": "ana",
        "artifacts": [
            {
                "name": "my-native",
                "runtime": "tool",
                "tags": ["tool", "my", "native"],
                "versions": [
                    {
                        "version": "0.2.0",
                        "release": "v1.1.0",
                        "built_at_level": 3,
                        "interfaces": {"exports": [], "imports": []},
                        "files": [
                            {
                                "name": "my-native-0.2.0-darwin-aarch64.mur.zip",
                                "sha256": other,
                                "platform": "darwin-aarch64",
                            },
                            {
                                "name": "my-native-0.2.0-linux-x86_64.mur.zip",
                                "sha256": native,
                                "platform": "linux-x86_64",
                            },
                        ],
                    }
                ],
            },
            {
                "name": "my-tool",
                "runtime": "tool",
                "description": "Does.",
                "tags": ["tool", "my"],
                "versions": [
                    {
                        "version": "0.1.0",
                        "release": "v1.1.0",
                        "built_at_level": 3,
                        "interfaces": {
                            "exports": ["murmur:tool/run@0.2.0"],
                            "imports": ["murmur:shell/execute@0.1.0"],
                        },
                        "files": [{"name": "my-tool-0.1.0.mur.zip", "sha256": sha256}],
                    }
                ],
            },
        ],
    }


@pytest.mark.parametrize(
    ("repo", "scope"),
    [
        ("ana/my-artifacts", "ana"),
        ("Ana-Corp/Things.v2", "ana-corp"),
        ("murmur-nexus/default-artifacts", "murmur"),
        ("Murmur-Nexus/Default-Artifacts", "murmur"),
        ("murmur-nexus/other", "murmur-nexus"),
    ],
)
def test_the_scope_is_the_owner_lowercased_and_murmur_for_the_default_artifacts(
    box: Release, repo: str, scope: str
) -> None:
    box.put("my-tool-0.1.0.mur.zip", wasm_zip())
    lines = box.ok("index", "release", "--repo", repo, "--release", "v1")
    assert f"(1 version) for scope {scope} into" in lines[0]
    assert box.read()["scope"] == scope


@pytest.mark.parametrize(
    "repo",
    ["ana", "ana/", "/x", "ana/x/y", "a na/x", "https://github.com/ana/x", "local/x", "murmur/x",
     "-ana/x", "ana/.."],
)  # fmt: skip
def test_an_unusable_repo_is_e_idx_003_naming_it(box: Release, repo: str) -> None:
    box.put("my-tool-0.1.0.mur.zip", wasm_zip())
    assert repo in box.refused("E-IDX-003", "index", "release", "--repo", repo, "--release", "v1")
    assert not (box.cwd / "artifacts-index.json").exists()


@pytest.mark.parametrize("tag", ["", " ", "v 1", "v1\n"])
def test_a_release_tag_is_not_empty_and_holds_no_white_space(box: Release, tag: str) -> None:
    box.put("my-tool-0.1.0.mur.zip", wasm_zip())
    box.refused("E-IDX-003", "index", "release", "--repo", "a/b", "--release", tag)


def test_repo_release_and_the_folder_are_required(box: Release) -> None:
    assert "--repo" in box.usage("index", "release", "--release", "v1")
    assert "--release" in box.usage("index", "release", "--repo", "a/b")
    assert "DIR" in box.usage("index", *REPO)


BAD: dict[str, tuple[str, bytes, str]] = {
    "no-zip": ("x-1.0.0.mur.zip", b"no zip", "not a zip archive"),
    "no-manifest": ("x-1.0.0.mur.zip", archive_bytes([Entry("a", b"a")]), "no murmur.yaml"),
    "bad-manifest": ("x-1.0.0.mur.zip", archive_bytes([Entry("murmur.yaml", b"a: [")]), "YAML"),
    "other-name": ("y-0.1.0.mur.zip", wasm_zip("x"), "its name should be x-0.1.0.mur.zip"),
    "other-version": ("x-0.2.0.mur.zip", wasm_zip("x"), "its name should be x-0.1.0.mur.zip"),
    "bad-name": ("X-0.1.0.mur.zip", wasm_zip("X"), "no artifact name"),
    "native-without-platform": ("n-0.1.0.mur.zip", native_zip("n"), "carries no platform"),
    "native-for-nothing": ("n-0.1.0-windows-x86_64.mur.zip", native_zip("n"), "n-0.1.0-<platform>"),
    "wasm-with-platform": ("x-0.1.0-linux-x86_64.mur.zip", wasm_zip("x"), "carries the platform"),
    "static-with-platform": (
        "s-0.1.0-linux-x86_64.mur.zip",
        archive_bytes(
            [Entry("murmur.yaml", manifest("s", execution="static")), Entry("skill.md", b"x")]
        ),
        "carries the platform",
    ),
    "no-component": (
        "x-0.1.0.mur.zip",
        archive_bytes([Entry("murmur.yaml", manifest("x"))]),
        "missing root .wasm",
    ),
    "two-components": (
        "x-0.1.0.mur.zip",
        archive_bytes(
            [
                Entry("murmur.yaml", manifest("x")),
                Entry("a.wasm", component()),
                Entry("b.wasm", component()),
            ]
        ),
        "a.wasm, b.wasm",
    ),
    "core-module": (
        "x-0.1.0.mur.zip",
        archive_bytes([Entry("murmur.yaml", manifest("x")), Entry("x.wasm", CORE_MODULE)]),
        "no component",
    ),
    "bad-level": (
        "x-0.1.0.mur.zip",
        archive_bytes(
            [
                Entry("murmur.yaml", manifest("x")),
                Entry("x.wasm", component()),
                Entry("murmur-build.json", b"nonsense"),
            ]
        ),
        "malformed",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_a_file_that_cannot_be_indexed_is_e_idx_001_with_the_reason_and_no_output_is_touched(
    box: Release, case: str
) -> None:
    name, data, reason = BAD[case]
    box.put("my-tool-0.1.0.mur.zip", wasm_zip())
    box.put(name, data)
    (box.cwd / "artifacts-index.json").write_text("as it was")
    refusal = box.refused("E-IDX-001", "index", "release", *REPO)
    assert name in refusal and reason in refusal
    assert (box.cwd / "artifacts-index.json").read_text() == "as it was"
    assert sorted(path.name for path in box.cwd.iterdir()) == ["artifacts-index.json", "release"]


def test_a_folder_without_an_archive_is_e_idx_001_and_a_missing_one_e_io_003(box: Release) -> None:
    box.put("readme.txt", b"x")
    assert "release" in box.refused("E-IDX-001", "index", "release", *REPO)
    assert "gone" in box.refused("E-IO-003", "index", "gone", *REPO)


def test_the_level_is_the_recorded_one_else_the_newest_that_fits_else_absent(box: Release) -> None:
    box.put("recorded-0.1.0.mur.zip", leveled(2, "recorded"))
    box.put("derived-0.1.0.mur.zip", wasm_zip("derived"))
    box.put("older-0.1.0.mur.zip", wasm_zip("older", exports=("murmur:tool/run@0.1.0",)))
    box.put("unfit-0.1.0.mur.zip", wasm_zip("unfit", exports=("murmur:tool/run@9.0.0",)))
    levels = {
        each["name"]: each["versions"][0].get("built_at_level") for each in box.index()["artifacts"]
    }
    assert levels == {"recorded": 2, "derived": 3, "older": 2, "unfit": None}
    assert "built_at_level" not in box.read()["artifacts"][-1]["versions"][0]


def test_files_of_one_version_that_record_different_levels_are_e_idx_001(box: Release) -> None:
    for tag, level in (("linux-x86_64", 2), ("darwin-aarch64", 3)):
        data = archive_bytes(
            [
                Entry("murmur.yaml", manifest("n", implementation="native")),
                Entry("bin/n", b"x"),
                build_record(level),
            ]
        )
        box.put(f"n-0.1.0-{tag}.mur.zip", data)
    refusal = box.refused("E-IDX-001", "index", "release", *REPO)
    assert "2, 3" in refusal and "n-0.1.0-linux-x86_64.mur.zip" in refusal


def test_output_is_o_and_replaced_whole(box: Release) -> None:
    box.put("my-tool-0.1.0.mur.zip", wasm_zip())
    for flag in ("-o", "--output"):
        assert box.ok("index", "release", *REPO, flag, "release/artifacts-index.json") == [
            "Indexed 1 artifact (1 version) for scope ana into release/artifacts-index.json"
        ]
    names = {path.name for path in box.folder.iterdir()}
    assert names == {"my-tool-0.1.0.mur.zip", "artifacts-index.json"}
    assert "gone/x.json" in box.refused("E-IO-003", "index", "release", *REPO, "-o", "gone/x.json")


def test_merge_keeps_what_the_folder_lacks_and_counts_kept_and_replaced(box: Release) -> None:
    box.put("my-tool-0.1.0.mur.zip", leveled(2))
    box.put("gone-0.1.0.mur.zip", wasm_zip("gone", description="Gone. Really."))
    box.put("same-0.1.0.mur.zip", wasm_zip("same"))
    box.index()
    previous = box.cwd / "artifacts-index.json"
    text = json.loads(previous.read_text())
    gone = next(each for each in text["artifacts"] if each["name"] == "gone")
    del gone["versions"][0]["built_at_level"]
    previous.write_text(json.dumps(text))
    (box.folder / "gone-0.1.0.mur.zip").unlink()
    box.put("my-tool-0.1.0.mur.zip", wasm_zip(padding=b"changed"))
    box.put("my-tool-0.2.0.mur.zip", wasm_zip(version="0.2.0", description="New."))
    release = ("--repo", "ana/my-artifacts", "--release", "v1.2.0")
    done = box.ok("index", "release", *release, "--merge", "artifacts-index.json")
    assert done == [
        "Indexed 3 artifacts (4 versions) for scope ana into artifacts-index.json; "
        "1 version kept from artifacts-index.json, 1 replaced"
    ]
    found = {each["name"]: each for each in box.read()["artifacts"]}
    assert list(found) == ["gone", "my-tool", "same"]
    kept = found["gone"]["versions"][0]
    assert (kept["release"], kept["built_at_level"]) == ("v1.1.0", 3)
    assert found["gone"]["description"] == "Gone."
    newest, replaced = found["my-tool"]["versions"]
    assert (newest["version"], newest["release"]) == ("0.2.0", "v1.2.0")
    assert (replaced["version"], replaced["release"]) == ("0.1.0", "v1.2.0")
    assert replaced["built_at_level"] == 2  # the earlier index's, although the files are new
    assert found["my-tool"]["description"] == "New."


def test_merge_takes_only_a_schema_2_index_of_the_same_scope(box: Release) -> None:
    box.put("my-tool-0.1.0.mur.zip", wasm_zip())
    old = box.cwd / "old.json"
    merge = ("--merge", "old.json", "-o", "new.json")
    assert "old.json" in box.refused("E-IO-003", "index", "release", *REPO, *merge)
    old.write_text('{"schema_version": "1", "artifacts": []}')
    assert "old.json" in box.refused("E-IDX-002", "index", "release", *REPO, *merge)
    old.write_text('{"schema_version": "2", "scope": "bea", "artifacts": []}')
    refusal = box.refused("E-IDX-003", "index", "release", *REPO, *merge)
    assert "bea" in refusal and "ana" in refusal
    assert not (box.cwd / "new.json").exists()


def test_what_index_writes_search_reads(box: Release) -> None:
    box.put("my-tool-0.1.0.mur.zip", wasm_zip(description="Does things. And more."))
    box.index()
    assert box.ok("search", "my-tool", "--index", "artifacts-index.json") == [
        "NAME         VERSION  RUNTIME  DESCRIPTION",
        "ana/my-tool  0.1.0    tool     Does things.",
    ]


def test_the_same_release_gives_the_same_bytes_when_the_build_tells_its_moment(
    box: Release,
) -> None:
    box.environment["SOURCE_DATE_EPOCH"] = "315532800"
    box.put("my-tool-0.1.0.mur.zip", wasm_zip())
    box.put("a-tool-0.1.0.mur.zip", wasm_zip("a-tool"))
    assert box.index()["updated_at"] == "1980-01-01T00:00:00Z"
    first = (box.cwd / "artifacts-index.json").read_bytes()
    box.index("--merge", "artifacts-index.json")
    assert (box.cwd / "artifacts-index.json").read_bytes() == first
