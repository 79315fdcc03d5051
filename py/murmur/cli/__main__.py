"""`python -m murmur.cli`: the same program as `mur`."""

import sys

from murmur.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
