"""Who a sealed command is: the passwd and group of a composed root. spec/containment.md 13.3."""

PASSWD = "passwd"
GROUP = "group"
FOLDER = "sealed-etc"


def passwd_text(uid: int, gid: int, home: str) -> str:
    """The file's text. Raises ValueError for a home that a line of it cannot hold."""
    if ":" in home or "\n" in home:
        raise ValueError(f"the commands' home {home!r} holds a colon or a line break")
    if uid == 0:
        return f"root:x:0:0:root:{home}:/bin/sh\n"
    return f"root:x:0:0:root:/root:/bin/sh\ncapsule:x:{uid}:{gid}:Murmur capsule:{home}:/bin/sh\n"


def group_text(gid: int) -> str:
    """The file's text."""
    return f"root:x:0:\ncapsule:x:{gid}:\n"
