"""driver-replay: a driver that answers from a script (design/decisions.md 6)."""
