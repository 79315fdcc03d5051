"""The version of this mur. A build from main is `X.Y.Z-dev`, the next release's number."""

from typing import Final

VERSION: Final = "0.1.0-dev"
