"""The real Claude Code and Codex, offline: their provider is a server of the test."""
