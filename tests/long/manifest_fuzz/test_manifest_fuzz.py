"""No text makes a reader crash or take longer than a second.

Runs ten minutes; `FUZZ_SECONDS` and `FUZZ_SEED` change length and start.
"""

import os
import time
from pathlib import Path

from tests.long.manifest_fuzz.guided import run
from tests.long.manifest_fuzz.targets import check, seeds, words

EXAMPLES = Path("py/murmur/manifest/tests/examples").resolve()


def test_no_input_crashes_a_reader_or_takes_a_second() -> None:
    seconds = float(os.environ.get("FUZZ_SECONDS", "600"))
    seed = int(os.environ.get("FUZZ_SEED", str(time.time_ns())))
    report = run(
        check,
        seeds(EXAMPLES),
        words(),
        ("murmur/manifest", "murmur/read_only"),
        seconds=seconds,
        seed=seed,
    )
    print(
        f"\nseed {seed}: {report.executions} inputs, {report.corpus} kept, {report.edges} edges, "
        f"slowest {report.slowest_seconds:.3f} s under tracing"
    )
    assert report.crashes == []
    assert report.executions > 100 and report.edges > 1000
