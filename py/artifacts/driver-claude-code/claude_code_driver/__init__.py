"""Claude Code as a harness: how to start it, what its output says (spec/artifacts.md 13.6)."""
