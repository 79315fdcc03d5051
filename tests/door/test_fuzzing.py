"""Seconds of what //tests/long/door does for ten minutes: no request and no client harms a door."""

from pathlib import Path

from tests.door.fuzzing.running import seed, throw_bytes, throw_requests


def test_requests_made_from_its_description_are_answered_as_the_protocol_allows(
    tmp_path: Path,
) -> None:
    print(throw_requests(tmp_path, 3, seed()))


def test_clients_that_speak_no_proper_http_harm_nobody(tmp_path: Path) -> None:
    print(throw_bytes(tmp_path, 3, seed()))
