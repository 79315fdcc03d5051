"""Datasets, start folders and their digests."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmur.core.diagnostics import MurmurError
from murmur.core.safefs import UnsafePath, open_root
from murmur.evaluation.dataset import Case, CaseCheck, read_dataset
from murmur.evaluation.start import BadTree, copy_tree, digest


def dataset(tmp_path: Path, *cases: Any) -> tuple[Case, ...]:
    path = tmp_path / "eval.jsonl"
    path.write_text("\n".join(c if isinstance(c, str) else json.dumps(c) for c in cases))
    return read_dataset(path, tmp_path)


def test_cases_are_read_with_their_paths_and_defaults(tmp_path: Path) -> None:
    (tmp_path / "repo").mkdir()
    check = {"command": "grep -q 'a b' f", "files": "repo", "timeout_secs": 9}
    first, second = dataset(
        tmp_path,
        {"case_id": "a", "task_path": "/t.md", "check": "make test", "expected": [1]},
        "",
        {"case_id": "b", "task_path": "t.md", "start": "repo", "check": check},
    )
    assert first == Case("a", Path("/t.md"), None, CaseCheck("make test"))
    assert first.check is not None and first.check.timeout_secs == 600
    assert second.start == tmp_path / "repo"
    assert second.check is not None and second.check.words == ["grep", "-q", "a b", "f"]


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        ("nope", ":1: it is not JSON"),
        ([], ":1: a case is a JSON object"),
        ({"task_path": "t"}, ":1: case_id is missing"),
        ({"case_id": "", "task_path": "t"}, ":1: case_id is ''"),
        ({"case_id": "a"}, ":1: task_path is missing"),
        ({"case_id": "a", "task_path": "t", "cheque": "x"}, ":1: cheque is none of case_id"),
        ({"case_id": "a", "task_path": "t", "check": 3}, ":1: check is neither"),
        ({"case_id": "a", "task_path": "t", "check": {}}, ":1: check.command is missing"),
        (
            {"case_id": "a", "task_path": "t", "check": {"command": "x", "timeout_secs": -1}},
            ":1: check.timeout_secs is -1",
        ),
    ],
)
def test_a_line_that_is_no_case_is_named(tmp_path: Path, case: Any, reason: str) -> None:
    with pytest.raises(MurmurError) as refused:
        dataset(tmp_path, case)
    assert refused.value.code == "E-EVAL-001"
    assert reason in refused.value.diagnostic.message


def test_a_case_given_twice_and_an_empty_dataset_are_refused(tmp_path: Path) -> None:
    case = {"case_id": "a", "task_path": "t"}
    for cases in ((case, case), ()):
        with pytest.raises(MurmurError) as refused:
            dataset(tmp_path, *cases)
        assert refused.value.code == "E-EVAL-001"
    with pytest.raises(MurmurError) as refused:
        read_dataset(tmp_path / "none", tmp_path)
    assert refused.value.code == "E-IO-001"


@pytest.mark.parametrize(
    ("extra", "field"),
    [
        ({"start": "missing"}, "start: "),
        ({"start": "file"}, "start: "),
        ({"start": "linked"}, "start: "),
        ({"start": "holds"}, "start: "),
        ({"check": {"command": "x", "files": "pipe"}}, "check.files: "),
        ({"check": "  "}, "check.command: it has no words"),
        ({"check": {"command": "x", "timeout_secs": 0}}, "check.timeout_secs: "),
    ],
)
def test_what_no_run_could_use_is_refused(
    tmp_path: Path, extra: dict[str, Any], field: str
) -> None:
    (tmp_path / "file").touch()
    for name in ("real", "holds", "pipe"):
        (tmp_path / name).mkdir()
    (tmp_path / "linked").symlink_to(tmp_path / "real")
    (tmp_path / "holds" / "link").symlink_to("/etc/passwd")
    os.mkfifo(tmp_path / "pipe" / "fifo")
    with pytest.raises(MurmurError) as refused:
        dataset(tmp_path, {"case_id": "a", "task_path": "t", **extra})
    assert refused.value.code == "E-EVAL-003"
    assert refused.value.diagnostic.message.startswith(f"case a: {field}")


def tree(folder: Path) -> Path:
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "deep" / "run.sh").write_text("#!/bin/sh\n")
    (folder / "deep" / "run.sh").chmod(0o750)
    (folder / "deep" / "er" / "x").write_bytes(b"\0\1")
    (folder / "deep" / "er").chmod(0o500)
    return folder


def test_a_copy_has_the_digest_of_its_source(tmp_path: Path) -> None:
    source, target = tree(tmp_path / "source"), tmp_path / "target"
    target.mkdir()
    with open_root(target) as root:
        copy_tree(source, root)
    assert digest(target) == digest(source)
    assert (target / "deep" / "run.sh").stat().st_mode & 0o777 == 0o750
    (target / "deep" / "run.sh").chmod(0o751)
    assert digest(target) != digest(source)


def test_a_copy_overwrites_files_and_follows_no_link(tmp_path: Path) -> None:
    source, target, outside = tmp_path / "s", tmp_path / "t", tmp_path / "outside"
    for folder in (source, target, outside):
        folder.mkdir()
    (source / "check.sh").write_text("new")
    (target / "check.sh").write_text("an older and longer one")
    with open_root(target) as root:
        copy_tree(source, root)
        assert (target / "check.sh").read_text() == "new"
        (target / "check.sh").unlink()
        (target / "check.sh").symlink_to(outside / "victim")
        with pytest.raises(UnsafePath):
            copy_tree(source, root)
        assert not (outside / "victim").exists()
        (source / "sub").mkdir()
        (source / "sub" / "f").touch()
        (target / "check.sh").unlink()
        (target / "sub").symlink_to(outside)
        with pytest.raises(OSError):
            copy_tree(source, root)
    assert not any(outside.iterdir())


def test_a_folder_that_is_none_has_no_digest(tmp_path: Path) -> None:
    with pytest.raises(BadTree):
        digest(tmp_path / "none")


@given(st.dictionaries(st.text("abc", min_size=1, max_size=3), st.binary(max_size=8), max_size=4))
def test_different_contents_have_different_digests(
    tmp_path_factory: pytest.TempPathFactory, files: dict[str, bytes]
) -> None:
    folder = tmp_path_factory.mktemp("d")
    for name, data in files.items():
        (folder / name).write_bytes(data)
    first = digest(folder)
    assert digest(folder) == first
    (folder / "more").write_bytes(b"")
    assert digest(folder) != first
