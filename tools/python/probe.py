"""Prints the path and the version (x.y) of this interpreter, or one line why it is unfit.

Written for any Python 3, since it is what tells an unsupported one apart.
"""

import sys

SUPPORTED = ((3, 11), (3, 14))


def complaint() -> "str | None":
    """What is wrong with this interpreter, None if nothing is."""
    version = "{} {}.{}".format(sys.implementation.name, *sys.version_info[:2])
    if sys.implementation.name != "cpython":
        return version + " is not CPython"
    if not SUPPORTED[0] <= sys.version_info[:2] <= SUPPORTED[1]:
        return version + " is not supported"
    for module in ("ctypes", "pip", "ssl", "zlib"):
        try:
            __import__(module)
        except ImportError:
            return version + " has no module " + module
    return None


def main() -> None:
    """Answers on standard output."""
    wrong = complaint()
    if wrong is not None:
        print(wrong)
        sys.exit(1)
    print(sys.executable)
    print("{}.{}".format(*sys.version_info[:2]))


main()
