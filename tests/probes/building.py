"""Where the built probes are.

Bazel names each by an environment variable (COMPONENT_SCRIPT_PROBE, ...). Without it they are those
of tools/dev/build_probes.sh, below MURMUR_DEV.
"""

import os
import tempfile
from pathlib import Path


def probe(name: str) -> Path:
    """A built component. One that was not built fails the test: there is nothing to skip."""
    named = os.environ.get(f"COMPONENT_{name.upper()}")
    if named is not None:
        # Bazel lays inputs out as links, and a component is never opened through one.
        return Path(named).resolve()
    folder = os.environ.get("MURMUR_DEV", os.path.join(tempfile.gettempdir(), "murdev"))
    path = Path(folder, "probes", f"{name}.wasm")
    assert path.exists(), "run tools/dev/build_probes.sh first"
    return path
