"""Whether contained commands have any power over a work folder. design/decisions.md, prototype
lessons: root with a one-line id map is nobody to another user's files.
"""

import os


class UnusableFolder(Exception):
    """A folder that contained commands could not use; the message names its owner."""


def check_owner(workdir: str) -> None:
    """Raises UnusableFolder where a root runtime has a work folder of another owner."""
    status = os.stat(workdir)
    if os.geteuid() == 0 and status.st_uid != 0 and not status.st_mode & 0o002:
        raise UnusableFolder(
            f"the work folder {workdir} belongs to {_user(status.st_uid)}, and mur runs as root: "
            f"contained commands have no power over another user's files; run mur as "
            f"{_user(status.st_uid)}, or change the folder's owner"
        )


def _user(uid: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid {uid}"
