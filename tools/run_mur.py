"""`bazel run //:mur -- ...`: the command line out of the source tree, with the helper built."""

import os
import sys
from pathlib import Path

from murmur.cli.main import main

HELPER = Path(__file__).absolute().parent.parent / "c" / "sandbox" / "mur-sandbox"

if __name__ == "__main__":
    if HELPER.exists():
        os.environ.setdefault("MURMUR_SANDBOX_HELPER", str(HELPER))
    # `bazel run` starts a program among its runfiles; a path means where it was typed.
    os.chdir(os.environ.get("BUILD_WORKING_DIRECTORY", "."))
    sys.exit(main())
