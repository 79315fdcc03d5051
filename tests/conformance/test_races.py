"""A component of a path that becomes a link between staging and use is never followed.

Swaps for `MURMUR_RACE_SECONDS` each (3; tests/long sets a minute), by one atomic exchange of names.
"""

import ctypes
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from murmur.sandbox.mur_sandbox import find_helper
from murmur.sandbox.policy import Demands, Folders, derive
from murmur.sandbox.probe import HostReading, read_host
from murmur.sandbox.session import CommandSession
from tests.conformance.prison import PATH, Prison, unreachable

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the helper's home")

SECONDS = float(os.environ.get("MURMUR_RACE_SECONDS", "3"))
_EXCHANGE = 2
_CWD = -100


@pytest.fixture(scope="module")
def reading() -> HostReading:
    found = read_host(find_helper())
    why = unreachable(found, "scoped")
    if why is not None:
        pytest.skip(f"INCONCLUSIVE: {why}")
    return found


@pytest.fixture
def base() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(dir="/var/tmp", prefix="murmur-race-"))
    yield made
    shutil.rmtree(made)


@contextmanager
def swapping(name: Path, link: Path) -> Iterator[list[int]]:
    """Exchanges what two names stand for until it is left; yields how often, as it grows."""
    libc = ctypes.CDLL(None, use_errno=True)
    count, stop = [0], threading.Event()

    def swap() -> None:
        left, right = os.fsencode(name), os.fsencode(link)
        while not stop.is_set():
            assert libc.renameat2(_CWD, left, _CWD, right, _EXCHANGE) == 0
            count[0] += 1

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        yield count
    finally:
        stop.set()
        thread.join()
        if name.is_symlink():
            libc.renameat2(_CWD, os.fsencode(name), _CWD, os.fsencode(link), _EXCHANGE)


def test_a_current_folder_that_becomes_a_link_leads_nowhere(
    base: Path, reading: HostReading
) -> None:
    """`cwd` is opened below the held work folder; whoever swaps it wins nothing but a refusal."""
    prison = Prison(base / "one", "scoped", find_helper(), reading, ("sh",))
    (prison.base / "other" / "inside").mkdir(parents=True)
    (prison.work / "here").mkdir()
    (prison.work / "link").symlink_to(prison.base / "other")
    (prison.work / "below").symlink_to(".")
    right = refused = 0
    with swapping(prison.work / "here", prison.work / "link") as swaps:
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            result = prison.session.run(("sh", "-c", "pwd -P"), prison.env, "here")
            if result.set_up_failure is None:
                assert result.stdout.decode().strip() in (
                    f"{prison.work}/here", f"{prison.work}/link"
                )  # fmt: skip
                right += 1
            else:
                assert "work folder" in result.set_up_failure
                refused += 1
    assert prison.close()
    assert right and refused and swaps[0] > 100, (right, refused, swaps)


def test_a_work_folder_that_is_exchanged_before_the_first_command_is_not_followed(
    base: Path, reading: HostReading
) -> None:
    """Staging holds the folder; a component above it then leads to a decoy of the same shape."""
    names = ("work", "runtime", "records", "records/tmp", "records/home")
    for place in ("parent", "decoy"):
        for name in names:
            (base / place / name).mkdir(parents=True)
    (base / "link").symlink_to("decoy")
    folders = Folders(*(str(base / "parent" / name) for name in names))
    policy = derive(reading, folders, Demands(("sh",)), PATH)
    env = {"PATH": PATH, "HOME": folders.home, "TMPDIR": policy.tmpdir}
    attack = "echo x > proof; echo x > $HOME/proof; echo x > /tmp/proof"
    right = refused = 0
    with swapping(base / "parent", base / "link") as swaps:
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            session = CommandSession(policy, None, find_helper())
            result = session.run(("sh", "-c", attack), env, timeout=30)
            assert session.close()
            if result.set_up_failure is None:
                right += 1
            else:
                assert result.set_up_failure.startswith("sandbox setup failed before exec: ")
                refused += 1
    decoys = [name for name in names if (base / "decoy" / name / "proof").exists()]
    assert not decoys, "a write landed where a link led"
    assert refused and swaps[0] > 100, (right, refused, swaps)
    assert right == 0 or (base / "parent" / "work" / "proof").exists()
