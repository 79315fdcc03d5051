"""A project as doctor reads it: everything once, and nothing that it needs but the manifest.

What cannot be had (a home, a readable `.env`, a valid configuration) is kept as the reason why.
"""

import dataclasses
from collections.abc import Mapping
from pathlib import Path

from murmur.core.config import Config, read_config
from murmur.core.diagnostics import MurmurError, error
from murmur.core.dotenv import with_dotenv
from murmur.core.home import Home, find_home
from murmur.manifest.capsule import Capsule, LoadedCapsule
from murmur.manifest.parse import load_capsule
from murmur.session.launch import Flags, Launch, read_manifest
from murmur.store.lock import Lock, lock_path, read_lock

MANIFEST = "murmur.yaml"
# Where there is no home, no path below it is one: the reports say so, and nothing is read there.
NO_HOME = Home(Path("/nonexistent/.murmur"))


@dataclasses.dataclass(frozen=True, slots=True)
class Project:
    """`launch` is what `mur run` would start from; `problems` are refusals met on the way."""

    launch: Launch
    loaded: LoadedCapsule
    lock: Lock | None
    config: Config
    home: Home | None
    home_problem: str
    dotenv_problem: MurmurError | None
    problems: tuple[MurmurError, ...]

    @property
    def capsule(self) -> Capsule:
        return self.loaded.capsule

    @property
    def directory(self) -> Path:
        return self.launch.directory


def find_project(start: Path) -> Path:
    """The nearest manifest at or above `start`. Raises E-IO-001."""
    for folder in (start, *start.parents):
        if (folder / MANIFEST).is_file():
            return folder / MANIFEST
    raise error(
        "E-IO-001",
        what=MANIFEST,
        path=start / MANIFEST,
        hint="run it in a project, or in a formation directory with its roster.yaml",
    )


def read_project(manifest: Path, flags: Flags, environ: Mapping[str, str]) -> Project:
    """Reads a project. Raises only setup failures: E-IO-*, E-MAN-*, E-CAP-018 and E-RUN-003."""
    text = read_manifest(manifest)
    loaded = load_capsule(text, str(manifest))
    lock = read_lock(lock_path(manifest.parent))
    home: Home | None = None
    home_problem = ""
    dotenv_problem: MurmurError | None = None
    problems: list[MurmurError] = []
    try:
        home = find_home(environ)
    except MurmurError as refused:
        home_problem = refused.message
        problems.append(refused)
    variables: Mapping[str, str] = environ
    try:
        variables = with_dotenv(environ, manifest.parent)
    except MurmurError as refused:
        dotenv_problem = refused
    config = Config()
    if home is not None:
        try:
            config = read_config(home, manifest.parent)
        except MurmurError as refused:
            problems.append(refused)
    return Project(
        launch=Launch(
            flags=flags,
            manifest=manifest,
            manifest_text=text,
            environ=variables,
            home=home or NO_HOME,
            started=0.0,
        ),
        loaded=loaded,
        lock=lock,
        config=config,
        home=home,
        home_problem=home_problem,
        dotenv_problem=dotenv_problem,
        problems=tuple(problems),
    )
