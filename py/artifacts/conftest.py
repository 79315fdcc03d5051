"""The artifacts' import roots, for pytest without Bazel."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent

for root in ("guest", "driver-replay", "driver-anthropic", "driver-openai", "tool-editor"):
    sys.path.insert(0, str(HERE / root))
