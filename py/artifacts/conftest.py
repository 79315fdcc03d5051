"""The artifacts' import roots, for pytest without Bazel."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent

for root in HERE.iterdir():
    if root.is_dir() and root.name != "wit":
        sys.path.insert(0, str(root))
