"""driver-moonshotai: Moonshot's Chat Completions as a driver (spec/artifacts.md 11, 16.1)."""
