"""The component: one instance is one run of Codex."""

from murmur_harness.component import HarnessExport

from codex_driver.driver import Codex

RUN = Codex()


class Process(HarnessExport):
    """The export."""

    driver = RUN
