"""A place to run `mur` in."""

from pathlib import Path

import pytest

from murmur.cli.tests.box import Box


@pytest.fixture
def box(tmp_path: Path) -> Box:
    return Box(tmp_path)
