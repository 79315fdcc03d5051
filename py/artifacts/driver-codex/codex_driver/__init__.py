"""Codex as a harness: how to start it, and what `codex exec --json` says."""
