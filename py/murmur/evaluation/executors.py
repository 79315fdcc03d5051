"""Where units run when they do not run here: a Dask cluster whose workers have `mur` installed.

An optional extra: `distributed` is imported when a cluster is named, and never shipped. Workers
must see the files that units name, under the same paths. The records of a session, blobs included,
come back with its run and are put where the records of a session that ran here would be, so that
every later command reads local paths.
"""

import importlib
import io
import os
import stat
import tarfile
from concurrent.futures import Executor, Future
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, cast

from murmur.core.diagnostics import MurmurError, error
from murmur.core.home import Home
from murmur.core.safefs import Root, UnsafePath, open_root
from murmur.evaluation.record import Run
from murmur.evaluation.unit import Unit, carry_out
from murmur.trace.writer import TRACE_FILE

_SCHEME: Final = "dask://"
_RETRIES: Final = 2


def cluster(url: str, home: Home) -> Executor:
    """An executor on the cluster.

    Raises E-IO-003 for another URL, without `distributed`, and for a scheduler that does not
    answer.
    """
    if not url.startswith(_SCHEME) or not url.removeprefix(_SCHEME):
        raise _refused(url, "an executor is dask://HOST:PORT")
    try:
        # By name: the package is no part of the zipapp, and no import that the build would check.
        distributed = importlib.import_module("distributed")
    except ImportError:
        raise _refused(url, "it needs the Python package distributed, which is missing") from None
    try:
        client = distributed.Client(f"tcp://{url.removeprefix(_SCHEME)}", timeout="10s")
    except (OSError, ValueError) as failure:
        raise _refused(url, f"the scheduler does not answer: {failure}") from None
    return ClusterExecutor(client, home)


def _refused(url: str, reason: str) -> MurmurError:
    return error("E-IO-003", what=f"--executor {url}", reason=reason, hint="")


class ClusterExecutor(Executor):
    """Sends units to a cluster; a unit whose worker dies is sent to another."""

    def __init__(self, client: Any, home: Home) -> None:
        self._client = client
        self._home = home
        # A future of Dask's that nobody holds is forgotten, and its work with it.
        self._sent: list[Any] = []

    def submit(self, function: Any, /, *arguments: Any, **named: Any) -> "Future[Any]":
        """A future of the unit's run. What is submitted is always a unit; who carries it out on the
        worker is `carry_out`."""
        (unit,) = arguments
        sent = self._client.submit(carry_out_and_pack, unit, retries=_RETRIES, pure=False)
        self._sent.append(sent)
        answered: Future[Run] = Future()
        answered.set_running_or_notify_cancel()

        def done(future: Any) -> None:
            try:
                run, packed = future.result()
                answered.set_result(unpack(run, packed, self._home, unit))
            except BaseException as failure:
                answered.set_exception(failure)

        sent.add_done_callback(done)
        return cast("Future[Any]", answered)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Leaves the cluster; what it still runs for us is cancelled with the connection."""
        self._client.close()


def carry_out_and_pack(unit: Unit) -> tuple[Run, bytes]:
    """On a worker: the unit's run, and its session's records as a tar."""
    run = carry_out(unit)
    return run, b"" if run.records_dir is None else pack(Path(run.records_dir))


def pack(records: Path) -> bytes:
    """Every directory and regular file below a records directory; links and the rest stay."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz", compresslevel=1) as archive:
        for folder, names, files in os.walk(records):
            below = Path(folder).relative_to(records)
            for name in sorted(names + files):
                place = Path(folder, name)
                mode = os.lstat(place).st_mode
                if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
                    archive.add(place, arcname=str(below / name), recursive=False)
    return buffer.getvalue()


def unpack(run: Run, packed: bytes, home: Home, unit: Unit) -> Run:
    """Puts the records below this machine's records group; the run as it is read from here.

    Records that are there already are left: worker and this machine share a home then.
    """
    if run.session_id is None or not packed:
        return run
    records = home.records_group(unit.manifest.parent / "workdir") / run.session_id
    if not records.exists():
        below = records.relative_to(home.root).as_posix()
        with open_root(home.root) as root, root.sub(below, create=True) as target:
            _extract(packed, target)
    return replace(run, records_dir=str(records), trace=str(records / TRACE_FILE))


def _extract(packed: bytes, target: Root) -> None:
    """Writes what the archive holds through the held directory. Raises OSError, UnsafePath."""
    with tarfile.open(fileobj=io.BytesIO(packed), mode="r:gz") as archive:
        for member in archive:
            if member.isdir():
                target.sub(member.name, create=True).close()
            elif member.isreg():
                content = archive.extractfile(member)
                assert content is not None
                target.write_atomic(member.name, content.read(), 0o600)
            else:
                raise UnsafePath(member.name, "it is neither a folder nor a regular file")
