"""The artifacts of the scripted sessions: tests/probes/hook_probe.py as hooks, once a contract, and
what scenarios/installing.py installs with and from.
"""

from pathlib import Path
from typing import Final

from murmur.store.tests.components import manifest, native_zip, raw_zip
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


def publish_installables(place: Place, folder: Path) -> None:
    """Publishes the tool that installs, compiled, and a skill and a native tool to be installed."""
    archives = {
        "managing-probe": raw_zip(
            ("murmur.yaml", manifest("managing-probe")),
            ("capsule.wasm", probe("managing_probe").read_bytes()),
        ),
        "probe-manners": raw_zip(
            ("murmur.yaml", manifest("probe-manners", runtime="skill")),
            ("skill.md", b"Be kind.\n"),
        ),
        "probe-program": native_zip("probe-program"),
    }
    for name, data in archives.items():
        archive = folder / f"{name}-0.1.0.mur.zip"
        archive.write_bytes(data)
        done = place.mur("publish", str(archive), cwd=folder)
        assert done.returncode == 0, done.stderr
    tool = str(folder / "managing-probe-0.1.0.mur.zip")
    done = place.mur("precompile", tool, cwd=folder, seconds=COMPILE_SECONDS)
    assert done.returncode == 0, done.stdout + done.stderr
