"""driver-anthropic: the Messages API behind the driver contract (spec/artifacts.md 11, 16.1)."""
