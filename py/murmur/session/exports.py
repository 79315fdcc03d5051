"""What a capsule exports to the door's file planes. spec/door.md 17 and 18."""

import os

from murmur.core.diagnostics import error
from murmur.core.exported import ExportedRoot, ExportRefused
from murmur.core.safefs import open_root
from murmur.manifest.capsule import Capsule
from murmur.session.directories import WorkPlace


def check_export_roots(capsule: Capsule, place: WorkPlace) -> None:
    """Refuses a root that leads out of the work folder: E-CAP-007. One that is missing is fine.

    A work folder that this session gets for itself is new, and nothing leads out of it.
    """
    if place.given is None:
        return
    exports = capsule.exports
    for field, export in (("files", exports.files), ("peer_files", exports.peer_files)):
        if export is not None:
            _check(f"exports.{field}.root", export.root, os.path.realpath(place.given))


def _check(field: str, value: str, workdir: str) -> None:
    with open_root(workdir) as work:
        try:
            ExportedRoot(work, workdir, value).close()
        except ExportRefused as refused:
            if refused.code != "outside_root":
                return  # Nothing is there yet: each request looks again.
            resolved = os.path.realpath(os.path.join(workdir, value))
            raise error(
                "E-CAP-007", field=field, value=value, resolved=resolved, workdir=workdir
            ) from None
