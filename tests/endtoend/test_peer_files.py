"""One capsule hands a file to another, by handle. spec/door.md 18; spec/sessions.md 15.3."""

import json
import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx

from tests.endtoend.capsule import Place, Running, replay, write_manifest
from tests.providers import openai_server
from tests.providers.scripted import SeenRequest, Server

SLEEPS = {"task_acceptance": "queue", "after_task": "sleep", "queue_depth": 8}
_HANDLE = re.compile(r"mh1\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")


def _capsule(folder: Path, name: str, server: Server, **more: Any) -> None:
    manifest = replay([], name=name, lifecycle=SLEEPS, trace={"capture": "content"}, **more)
    manifest["artifacts"][0] = {
        "name": "local/driver-openai",
        "version": "0.1.0",
        "runtime": "driver",
        "gateway": {"endpoint": server.url, "api_key": "k"},
    }
    manifest["inference"] = {
        "model": "m", "max_tokens": 512, "driver": {"artifact": "local/driver-openai"},
    }  # fmt: skip
    manifest["context"] = {"max_tokens": 100000, "record": "off"}
    write_manifest(folder, manifest)


def _calls(name: str, **arguments: Any) -> dict[str, Any]:
    return {"tool_calls": [{"name": name, "input": arguments}]}


def _handle_in(request: SeenRequest) -> str:
    found = _HANDLE.findall(json.dumps(request.body["messages"]))
    return str(found[-1])


def _line(running: Running, kind: str) -> Mapping[str, Any]:
    return running.wait_for(kind)


def _until_idle(running: Running, tasks: int) -> None:
    end = time.monotonic() + 60
    while sum(line["event_type"] == "task_end" for line in running.trace()) < tasks:
        assert time.monotonic() < end and running.process.poll() is None
        time.sleep(0.05)


def test_a_file_goes_from_one_capsule_to_another_and_to_nobody_else(
    place: Place, tmp_path: Path
) -> None:
    giver: Running
    reads: Sequence[Any] = [
        lambda request: _calls("fetch-peer-file", peer=giver.ready["url"],
                               handle=_handle_in(request)),
        {"text": "I have it"},
    ]  # fmt: skip
    with openai_server.start(reads) as reader_model:
        _capsule(
            tmp_path / "reader", "reader", reader_model,
            capabilities={"peer_fetch": {"allow": ["localhost"]}},
        )  # fmt: skip
        reader = place.start(cwd=tmp_path / "reader")
        gives: Sequence[Any] = [
            _calls("tool-editor", operation="write_file", dest_path="out/report.txt",
                   content="the report"),
            _calls("share-file", path="report.txt", peer=reader.ready["url"], ttl="30s"),
            {"text": "shared"},
        ]  # fmt: skip
        with openai_server.start(gives) as giver_model:
            _capsule(
                tmp_path / "giver", "giver", giver_model,
                capabilities={"network": {"allow": ["localhost"]}},
                exports={"peer_files": {"root": "out", "max_ttl": "10m"}},
            )  # fmt: skip
            giver = place.start("--task", "go", cwd=tmp_path / "giver")
            _until_idle(giver, 1)
            handle = _handle_in(giver_model.requests[2])
            mint = _line(giver, "peer_handle_mint")
            assert (mint["outcome"], mint["path"]) == ("ok", "report.txt")
            assert mint["audience"] == f"reader@{reader.ready['url']}"
            _send(reader, f"fetch it: {handle}")
            _until_idle(reader, 1)
            fetch = _line(reader, "peer_file_fetch")
            assert (fetch["outcome"], fetch["bytes"]) == ("ok", len("the report"))
            stored = Path(reader.ready["workdir"]) / fetch["stored_path"]
            assert stored.read_text() == "the report"
            assert fetch["stored_path"] == f"peer-in/{mint['handle_id']}-report.txt"
            redeem = _line(giver, "peer_handle_redeem")
            assert (redeem["outcome"], redeem["handle_id"]) == ("ok", mint["handle_id"])
            stranger = httpx.get(
                f"{giver.url}/resources/peer/{handle}",
                headers={"x-murmur-audience": "stranger@localhost:1"},
                timeout=20,
            )
            assert stranger.status_code == 403
            for running in (giver, reader):
                assert running.end()[0] == 0
                text = (running.records / "trace.jsonl").read_text()
                assert handle not in text and f"<handle:{mint['handle_id']}>" in text


def _send(running: Running, text: str) -> None:
    message = {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": text}]}
    answer = httpx.post(
        running.url,
        json={"jsonrpc": "2.0", "id": 1, "method": "SendMessage",
              "params": {"message": message, "configuration": {"returnImmediately": True}}},
        headers={"A2A-Version": "1.0"},
        timeout=60,
    ).json()  # fmt: skip
    assert "result" in answer, answer


def test_a_tool_without_its_grant_names_what_is_not_declared(place: Place, project: Path) -> None:
    turns = [_calls("share-file", path="a", peer="localhost:1"), {"text": "done"}]
    write_manifest(project, replay(turns, trace={"capture": "content"}))
    running = place.start("--task", "go", cwd=project)
    call = running.wait_for("tool_call")
    running.end()
    assert call["status"] == "error" and "exports.peer_files" in call["output"]
