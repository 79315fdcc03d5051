"""tool-code-coverage: which code failing tests ran and passing ones did not."""
