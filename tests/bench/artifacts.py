"""What the default artifacts weigh and what compiling and copying them costs:
`bazel run //tests/bench:artifacts`.

One row an archive: the component's size and the archive's, processor seconds to compile it, the
compiled form's size, milliseconds to open that and to make a fresh copy of the guest, as each call
does. Nothing is asserted: the numbers are the machine's. Archives are the arguments; --times N says
how often what takes milliseconds is repeated.
"""

import argparse
import os
import statistics
import tempfile
import time
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from wasmtime import Engine, Store, WasiConfig
from wasmtime.component import Component, Linker

from murmur.guest.engine import new_engine
from murmur.guest.memory import MemoryAccount
from tests.bench.timing import repeat, timed

HEADINGS: Final = (
    "artifact",
    "component MB",
    "archive MB",
    "compiling CPU s",
    "compiled MB",
    "opening ms",
    "fresh copy ms",
)


def main() -> int:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("archives", nargs="+", type=Path, metavar="ARCHIVE")
    options = parser.parse_args()
    print(" | ".join(HEADINGS), f"({os.cpu_count()} processors)", flush=True)
    rows = []
    for archive in (each for each in options.archives if each.name.endswith(".mur.zip")):
        row = _row(archive, options.times)
        if row is not None:
            rows.append(row)
            _print(archive.name.removesuffix(".mur.zip"), row)
    _print("median", [statistics.median(column) for column in zip(*rows, strict=True)])
    return 0


def _row(archive: Path, times: int) -> list[float] | None:
    """The figures of one archive; None for one without a component."""
    with zipfile.ZipFile(archive) as opened:
        names = [name for name in opened.namelist() if name.endswith(".wasm") and "/" not in name]
        if not names:
            return None
        wasm = opened.read(names[0])
    begun = time.process_time()
    form = Component(new_engine(parallel=True), wasm).serialize()
    compiling = time.process_time() - begun
    account = MemoryAccount()
    engine = new_engine(account)
    with tempfile.NamedTemporaryFile(suffix=".cwasm") as file:
        file.write(form)
        file.flush()
        opening = repeat(
            "open", times, timed(lambda: Component.deserialize_file(engine, file.name))
        )
        component = Component.deserialize_file(engine, file.name)
        copying = repeat("copy", times, timed(lambda: _copy(engine, account, component)))
    sizes = len(wasm) / 1e6, archive.stat().st_size / 1e6
    return [*sizes, compiling, len(form) / 1e6, opening.median, copying.median]


def _copy(engine: Engine, account: MemoryAccount, component: Component) -> None:
    """A store with an instance of the component that is asked for nothing."""
    account.start(1 << 30)
    with Store(engine) as store, Linker(engine) as linker:
        wasi = WasiConfig()
        store.set_wasi(wasi)
        store.set_wasi_http()
        store.set_epoch_deadline(1 << 40)
        linker.add_wasip2()
        linker.add_wasi_http()
        linker.allow_shadowing = True
        linker.define_unknown_imports_as_traps(component)
        linker.instantiate(store, component)


def _print(name: str, figures: Sequence[float]) -> None:
    print(" | ".join([name, *(f"{figure:.2f}" for figure in figures)]), flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
