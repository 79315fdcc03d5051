"""Lays WIT documents out the way that the WebAssembly tools read them."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable
from pathlib import Path


def lay_out(root: Path, own: Iterable[Path], deps: Iterable[Path]) -> None:
    """Fills `root` with the component's own documents and a folder under deps/ for each package.

    A package is a folder of documents: wit/tool/*.wit is one, wasi/io@0.2.0/*.wit another.
    """
    root.mkdir()
    for document in own:
        shutil.copy(document, root)
    for document in deps:
        folder = root / "deps" / re.sub(r"[^a-z0-9.@-]", "-", "-".join(document.parts[-3:-1]))
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(document, folder)
