"""tool-corpus as the component that runs: its store, and none but a granted one (spec 16.3)."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest

from murmur.guest.client import Guests
from tests.artifacts.components import Artifact, Called, compile_artifact

CONFIG = json.dumps({"types": {"note": {}}})


@pytest.fixture(scope="module")
def corpus(guests: Guests, tmp_path_factory: pytest.TempPathFactory) -> Artifact:
    return compile_artifact("tool-corpus", guests, tmp_path_factory.mktemp("compiled"))


def _call(
    corpus: Artifact, value: object, folder: Path | None = None, state: Path | None = None
) -> Called:
    return corpus.call(value, folder, state=state, MURMUR_ARTIFACT_CONFIG=CONFIG)


def _append(text: str) -> dict[str, object]:
    return {"operation": "append", "type": "note", "record": {"text": text}}


def test_records_outlive_the_call_that_appended_them(corpus: Artifact, tmp_path: Path) -> None:
    work, store = tmp_path / "work", tmp_path / "store"
    work.mkdir()
    store.mkdir()
    for text in ("one é", "two"):
        assert _call(corpus, _append(text), work, state=store).data["ok"] is True
    found = _call(corpus, {"operation": "search", "query": "é"}, work, state=store)
    assert [entry["record"]["text"] for entry in found.data["entries"]] == ["one é"]
    (store / "corpus.jsonl").open("ab").write(b'{"torn')
    assert _call(corpus, _append("three"), work, state=store).data["seq"] == 3
    verified = _call(corpus, {"operation": "verify"}, work, state=store).data
    assert (verified["records"], verified["problem_count"]) == (3, 1)
    assert os.listdir(work) == [] and os.listdir(store) == ["corpus.jsonl"]


def test_calls_at_once_lose_no_record(corpus: Artifact, tmp_path: Path) -> None:
    def append(number: int) -> None:
        for each in range(5):
            text = f"{number} {each} " + "x" * 20_000  # more than WASI writes at once
            assert _call(corpus, _append(text), state=tmp_path).data["ok"] is True

    threads = [threading.Thread(target=append, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    verified = _call(corpus, {"operation": "verify"}, state=tmp_path).data
    assert (verified["sound"], verified["records"]) == (True, 15)


def test_without_a_grant_a_folder_of_that_name_is_not_used(
    corpus: Artifact, tmp_path: Path
) -> None:
    (tmp_path / "state").mkdir()
    for folder in (tmp_path, None):
        called = _call(corpus, _append("x"), folder)
        assert called.result.status == "failed"
        assert called.data["error_kind"] == "state_unavailable"
    assert os.listdir(tmp_path / "state") == []


def test_a_store_beside_a_folder_of_that_name_is_the_one_used(
    corpus: Artifact, tmp_path: Path
) -> None:
    work, store = tmp_path / "work", tmp_path / "store"
    (work / "state").mkdir(parents=True)
    store.mkdir()
    called = _call(corpus, _append("x"), work, state=store)
    assert called.data["ok"] is True
    assert (os.listdir(work / "state"), os.listdir(store)) == ([], ["corpus.jsonl"])
