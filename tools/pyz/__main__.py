"""What a built `mur` runs first: checks the interpreter, has the payload unpacked, hands over.

Kept small, since Python compiles it at every start, and within what Python 3.6 can parse, so that
an unsupported interpreter is told so in one line. Everything else is in unpacking.py, read only
when the payload is not unpacked yet. Design decisions 13.
"""

import os
import sys

# Written by the build (build.py): what this zipapp holds and where it runs.
from zipapp_facts import ENTRY, MACHINE, PAYLOAD, VERSIONS


def complaint() -> str:
    """What is wrong with this interpreter or machine, empty if nothing is."""
    version = tuple(sys.version_info[:2])
    machine = os.uname().machine if sys.platform != "win32" else "?"
    right_machine = sys.platform == "linux" and machine == MACHINE
    if sys.implementation.name == "cpython" and version in VERSIONS and right_machine:
        return ""
    return "mur: this build needs CPython {} on linux {}, and this is {} {}.{} on {} {}".format(
        " or ".join("{}.{}".format(*supported) for supported in VERSIONS),
        MACHINE,
        sys.implementation.name,
        version[0],
        version[1],
        sys.platform,
        machine,
    )


def ready(home: str, owner: int) -> "str | None":
    """The folder of the unpacked payload below `home`, None when missing or not to be trusted.

    Looked at through held descriptors: the three folders belong to the owner, and nobody else can
    write to them.
    """
    if not os.path.isabs(home):
        return None
    held = []
    try:
        held.append(os.open(os.path.join(home, ".murmur"), os.O_RDONLY | os.O_DIRECTORY))
        for name in ("bin", PAYLOAD):
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
            held.append(os.open(name, flags, dir_fd=held[-1]))
        states = [os.fstat(descriptor) for descriptor in held]
    except OSError:
        return None
    finally:
        for descriptor in held:
            os.close(descriptor)
    if all(state.st_uid == owner and not state.st_mode & 0o022 for state in states):
        return os.path.join(home, ".murmur", "bin", PAYLOAD)
    return None


def start() -> None:
    """Runs the program's entry function out of the unpacked payload."""
    wrong = complaint()
    if wrong:
        sys.stderr.write(wrong + "\n")
        sys.exit(1)
    archive = os.path.abspath(sys.argv[0])
    folder = ready(os.environ.get("HOME", ""), os.geteuid())
    if folder is None:
        import unpacking

        folder = unpacking.unpack(archive, PAYLOAD, compile_sources=len(VERSIONS) > 1)
        del sys.modules["unpacking"]
    # The payload and the standard library, nothing that happens to be installed beside the
    # interpreter.
    installed = ("site-packages", "dist-packages")
    kept = [entry for entry in sys.path if os.path.basename(entry) not in installed]
    sys.path[:] = [folder] + [entry for entry in kept if os.path.abspath(entry) != archive]
    module, _, function = ENTRY.partition(":")
    sys.exit(getattr(__import__(module, fromlist=[function]), function)())


if __name__ == "__main__":
    start()
