"""The hooks of the scripted sessions as artifacts: tests/probes/hook_probe.py, once a contract."""

from pathlib import Path
from typing import Final

from murmur.store.tests.components import manifest, raw_zip
from tests.endtoend.capsule import Place
from tests.endtoend.scenarios.hooks import CONTRACTS
from tests.probes.building import probe

COMPILE_SECONDS: Final = 600


def publish_probes(place: Place, folder: Path) -> None:
    """Publishes and compiles the probe hooks: one artifact a contract, of one component."""
    component = probe("hook_probe").read_bytes()
    for name, contract in CONTRACTS.items():
        archive = folder / f"{name}-0.1.0.mur.zip"
        text = manifest(name, "0.1.0", runtime="hook", **contract)
        archive.write_bytes(raw_zip(("murmur.yaml", text), ("capsule.wasm", component)))
        done = place.mur("publish", str(archive), cwd=folder)
        assert done.returncode == 0, done.stderr
    done = place.mur("precompile", str(archive), cwd=folder, seconds=COMPILE_SECONDS)
    assert done.returncode == 0, done.stdout + done.stderr
