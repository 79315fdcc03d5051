"""A private folder for compiled forms that the cache cannot keep. spec/registry.md 16."""

from pathlib import Path

from murmur.core.diagnostics import error


class Scratch:
    """A private folder for compiled forms that the cache cannot keep, made when one is needed."""

    def __init__(self) -> None:
        self._folder: Path | None = None

    def folder(self) -> Path:
        """Raises E-IO-003 when no temporary folder can be had."""
        if self._folder is None:
            import tempfile

            try:
                self._folder = Path(tempfile.mkdtemp(prefix="mur-compiled-"))
            except OSError as failure:
                raise error(
                    "E-IO-003",
                    what="a temporary folder for compiled artifacts",
                    reason=str(failure.strerror),
                    hint="point TMPDIR at a folder that can be written",
                ) from None
        return self._folder

    def remove(self) -> None:
        """Doing it again does nothing."""
        folder, self._folder = self._folder, None
        if folder is not None:
            import shutil

            shutil.rmtree(folder, ignore_errors=True)
