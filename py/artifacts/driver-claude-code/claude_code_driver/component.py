"""The component: one instance is one run of Claude Code."""

from murmur_harness.component import HarnessExport

from claude_code_driver.driver import ClaudeCode

RUN = ClaudeCode()


class Process(HarnessExport):
    """The export."""

    driver = RUN
